//! Sizes computed without overflow.

use crate::error::Error;

/// The product of the dimensions.
///
/// # Errors
///
/// [`ErrorKind::TooLarge`](breakeven_types::ErrorKind::TooLarge), which names the shape.
pub fn product(what: &str, dims: &[usize]) -> Result<usize, Error> {
    dims.iter()
        .try_fold(1_usize, |all, &dim| all.checked_mul(dim))
        // Slices and device buffers count bytes in `isize` and `u64`.
        .filter(|&elements| elements <= isize::MAX as usize / 8)
        .ok_or_else(|| {
            Error::too_large(format!(
                "{what} of shape {} has more elements than memory has addresses",
                text(dims)
            ))
        })
}

/// A shape as people write it: `2×256×256`.
pub fn text(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    dims.join("×")
}

/// Bytes of a tensor of that shape; saturates.
pub fn bytes(dims: &[usize]) -> u64 {
    elements(dims).saturating_mul(4)
}

/// Elements of a tensor of that shape; saturates.
pub fn elements(dims: &[usize]) -> u64 {
    dims.iter()
        .fold(1, |all: u64, &dim| all.saturating_mul(dim as u64))
}

/// Fails if `found` elements were given for a shape with another number.
///
/// # Errors
///
/// [`ErrorKind::Shape`](breakeven_types::ErrorKind::Shape), and as [`product`].
pub fn check_len(what: &str, found: usize, dims: &[usize]) -> Result<(), Error> {
    let expected = product(what, dims)?;
    if found == expected {
        return Ok(());
    }
    Err(Error::shape(format!(
        "{what} has {found} elements, but its shape {} holds {expected}",
        text(dims)
    )))
}
