//! Tasks that stand alone, and how several of one shape become one batch.

use std::borrow::Cow;

use super::{check_len, shape};
use crate::error::Error;

/// A grey image with values in [0, 1), row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct GreyImage {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// height × width values; an 8-bit value v is v / 256.
    pub pixels: Vec<f32>,
}

/// A matrix, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// rows × columns values.
    pub values: Vec<f32>,
}

/// The values of one task's input, and the shape that they should have.
pub(super) type Part<'t> = (&'t [f32], [usize; 2]);

impl GreyImage {
    pub(super) fn part(&self) -> Part<'_> {
        (&self.pixels, [self.height, self.width])
    }
}

impl Matrix {
    pub(super) fn part(&self) -> Part<'_> {
        (&self.values, [self.rows, self.columns])
    }
}

/// The tasks' values one after the other, and the shape that all of them have;
/// 0×0 of no task. One task's are borrowed.
pub(super) fn joined<'t>(
    what: &str,
    parts: impl Iterator<Item = Part<'t>> + Clone,
) -> Result<(Cow<'t, [f32]>, [usize; 2]), Error> {
    let Some((first, dims)) = parts.clone().next() else {
        return Ok((Cow::Borrowed(&[]), [0, 0]));
    };
    let text = shape::text(&dims);
    let each = shape::product(what, &dims)?;
    let mut count = 0;
    for (index, (values, found)) in parts.clone().enumerate() {
        if found != dims {
            return Err(Error::shape(format!(
                "{what} {index} of the batch is {}, the first one {text}; a batch has one shape",
                shape::text(&found)
            )));
        }
        check_len(
            &format!("{what} {index} of the batch"),
            values.len(),
            each,
            &text,
        )?;
        count += 1;
    }
    if count == 1 {
        return Ok((Cow::Borrowed(first), dims));
    }
    let mut all = Vec::with_capacity(shape::product(what, &[count, each])?);
    parts.for_each(|(values, _)| all.extend_from_slice(values));
    Ok((Cow::Owned(all), dims))
}

/// Two batches of vectors, for kernels that take them in pairs: `a` and `b` are as
/// long, and `batch` vectors of one length each.
pub(super) fn check_pairs(kernel: &str, a: &[f32], b: &[f32], batch: usize) -> Result<(), Error> {
    check_len(&format!("{kernel}: b"), b.len(), a.len(), "that of a,")?;
    if a.len().checked_rem(batch).unwrap_or(a.len()) != 0 {
        return Err(Error::shape(format!(
            "{kernel}: {} elements do not make {batch} vectors of one length",
            a.len()
        )));
    }
    Ok(())
}

/// The first and the second vectors of pairs that stand alone, joined.
pub(super) fn joined_pairs<'t>(
    kernel: &str,
    pairs: &'t [(Vec<f32>, Vec<f32>)],
) -> Result<[Cow<'t, [f32]>; 2], Error> {
    let firsts = pairs.iter().map(|(a, _)| (&a[..], [1, a.len()]));
    let seconds = pairs.iter().map(|(_, b)| (&b[..], [1, b.len()]));
    let (a, _) = joined(&format!("{kernel}: a"), firsts)?;
    let (b, _) = joined(&format!("{kernel}: b"), seconds)?;
    Ok([a, b])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(height: usize, width: usize, pixels: usize) -> GreyImage {
        let pixels = vec![0.5; pixels];
        GreyImage {
            height,
            width,
            pixels,
        }
    }

    fn join(images: &[GreyImage]) -> Result<(Cow<'_, [f32]>, [usize; 2]), Error> {
        joined("test: image", images.iter().map(GreyImage::part))
    }

    #[test]
    fn one_task_is_borrowed_and_several_are_joined() {
        let images = [image(2, 3, 6), image(2, 3, 6)];
        let (values, dims) = join(&images[..1]).expect("one image");
        assert!(matches!(values, Cow::Borrowed(values) if values.len() == 6));
        assert_eq!(dims, [2, 3]);
        let (values, dims) = join(&images).expect("two images of one shape");
        assert_eq!((values.len(), dims), (12, [2, 3]));
        assert_eq!(join(&[]).expect("no image").1, [0, 0]);
    }

    #[test]
    fn what_is_no_batch_is_named() {
        let said = |images: &[GreyImage]| join(images).expect_err("no batch").to_string();
        assert_eq!(
            said(&[image(2, 3, 6), image(3, 2, 6)]),
            "test: image 1 of the batch is 3×2, the first one 2×3; a batch has one shape"
        );
        assert_eq!(
            said(&[image(2, 3, 6), image(2, 3, 5)]),
            "test: image 1 of the batch has 5 elements, but its shape 2×3 holds 6"
        );
        assert!(join(&[image(usize::MAX, 2, 0)]).is_err());
    }
}
