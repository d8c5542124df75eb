//! Data apart from work: a shape, the batch first, and values on the host, on
//! devices, or on both.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::error::{DeviceError, Error};
#[cfg(feature = "gpu")]
use crate::large_pages::with_room;

#[cfg(feature = "ndarray")]
mod arrays;
mod element;
mod inputs;
#[cfg(feature = "gpu")]
mod replicas;
pub mod shape;

pub use element::Element;
pub use inputs::Inputs;

/// Values and their shape, of which the first dimension is the batch.
///
/// A clone and a view of some [items](Tensor::items) share the memory. The values
/// never change, so that a copy on a device stays right once it was made there with
/// `to`.
///
/// ```
/// use breakeven_gpu::Tensor;
///
/// let pairs = Tensor::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2])?;
/// let last = pairs.items(2..3)?;
/// assert_eq!((last.shape(), last.host()?), (&[1, 2][..], &[5.0, 6.0][..]));
/// # Ok::<(), breakeven_types::Error>(())
/// ```
pub struct Tensor<'a, E: Element = f32> {
    storage: Arc<Storage<'a>>,
    shape: Arc<[usize]>,
    /// Where in the storage it begins, in elements.
    first: usize,
    element: PhantomData<E>,
}

/// The words that elements are made of: what a device is sent.
struct Storage<'a> {
    host: Host<'a>,
    #[cfg(feature = "gpu")]
    replicas: replicas::Replicas,
}

/// Values on the host; none if they are on a device alone.
enum Host<'a> {
    Borrowed(&'a [u32]),
    Owned(OnceLock<Vec<u32>>),
    #[cfg(feature = "gpu")]
    PageLocked(crate::gpu::PageLockedWords),
}

impl<E: Element> Clone for Tensor<'_, E> {
    fn clone(&self) -> Self {
        self.cast()
    }
}

impl<E: Element> fmt::Debug for Tensor<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl<'a, E: Element> Tensor<'a, E> {
    /// A tensor of values in host memory: a `Vec`, or a slice that is borrowed
    /// without a copy.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](breakeven_types::ErrorKind::Shape) if the shape has no dimension or
    /// another number of values; [`ErrorKind::TooLarge`](breakeven_types::ErrorKind::TooLarge) if
    /// it has more elements than memory has addresses.
    pub fn new(values: impl Into<Cow<'a, [E]>>, shape: &[usize]) -> Result<Self, Error> {
        let values = values.into();
        check_has_batch(shape)?;
        shape::check_len("the tensor", values.len(), shape)?;
        Ok(Self::of(
            match values {
                Cow::Borrowed(values) => Host::Borrowed(bytemuck::cast_slice(values)),
                Cow::Owned(values) => Host::Owned(OnceLock::from(cast(values))),
            },
            shape,
        ))
    }

    fn of(host: Host<'a>, shape: &[usize]) -> Self {
        let storage = Storage {
            host,
            #[cfg(feature = "gpu")]
            replicas: replicas::Replicas::default(),
        };
        Self {
            storage: Arc::new(storage),
            shape: shape.into(),
            first: 0,
            element: PhantomData,
        }
    }

    /// The same memory, taken for elements of another kind.
    pub fn cast<F: Element>(&self) -> Tensor<'a, F> {
        Tensor {
            storage: Arc::clone(&self.storage),
            shape: Arc::clone(&self.shape),
            first: self.first,
            element: PhantomData,
        }
    }

    /// The length of each dimension, the batch's first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Items in the batch.
    pub fn batch(&self) -> usize {
        self.shape[0]
    }

    /// The shape of one item.
    pub fn item_shape(&self) -> &[usize] {
        &self.shape[1..]
    }

    /// Elements of one item. Saturates: in a batch of none an item may have any shape.
    pub fn item_len(&self) -> usize {
        usize::try_from(shape::elements(self.item_shape())).unwrap_or(usize::MAX)
    }

    /// Returns the number of elements in the batch.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns true if there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some items of the batch, without a copy.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](breakeven_types::ErrorKind::Shape) for a range past the batch.
    pub fn items(&self, range: Range<usize>) -> Result<Self, Error> {
        if range.start > range.end || range.end > self.batch() {
            return Err(Error::shape(format!(
                "items {range:?} of a batch of {}; give a range inside it",
                self.batch()
            )));
        }
        let mut view = self.clone();
        view.first += range.start * self.item_len();
        let shape = [range.len()].into_iter();
        view.shape = shape.chain(self.item_shape().iter().copied()).collect();
        Ok(view)
    }

    /// Returns the values, row-major. If they are on a device alone, they are downloaded, once for
    /// all tensors that share them.
    ///
    /// # Errors
    ///
    /// Whatever the device reports.
    pub fn host(&self) -> Result<&[E], DeviceError> {
        Ok(bytemuck::cast_slice(&self.storage.host()?[self.place()]))
    }

    /// Returns the values as a vector, without a copy if no other tensor shares them.
    ///
    /// # Errors
    ///
    /// As [`host`](Tensor::host).
    pub fn into_vec(self) -> Result<Vec<E>, DeviceError> {
        let place = self.place();
        self.storage.host()?;
        match Arc::try_unwrap(self.storage) {
            Ok(Storage {
                host: Host::Owned(values),
                ..
            }) => {
                let mut values = values.into_inner().unwrap_or_default();
                values.truncate(place.end);
                values.drain(..place.start);
                Ok(cast(values))
            }
            Ok(storage) => Ok(cast(storage.host()?[place].to_vec())),
            Err(storage) => Ok(cast(storage.host()?[place].to_vec())),
        }
    }

    /// Joins the items of several tensors of one item shape into one batch: a view if they are
    /// consecutive in one memory, else a copy.
    #[cfg(feature = "gpu")]
    pub(crate) fn joined(parts: &[&Self]) -> Result<Self, DeviceError> {
        let Some((first, rest)) = parts.split_first() else {
            return Ok(Self::of(Host::Borrowed(&[]), &[0]));
        };
        let mut shape = first.shape.to_vec();
        shape[0] = parts.iter().map(|part| part.batch()).sum();
        let mut end = first.place().end;
        let adjoins = rest.iter().all(|part| {
            let place = part.place();
            let adjoins = Arc::ptr_eq(&part.storage, &first.storage) && place.start == end;
            end = place.end;
            adjoins
        });
        if adjoins {
            return Ok(Self {
                shape: shape.into(),
                ..(*first).clone()
            });
        }
        let mut values = with_room(shape.iter().product());
        for part in parts {
            values.extend_from_slice(&part.storage.host()?[part.place()]);
        }
        Ok(Self::of(Host::Owned(OnceLock::from(values)), &shape))
    }

    /// Its elements' places in the storage.
    fn place(&self) -> Range<usize> {
        self.first..self.first + self.len()
    }
}

fn check_has_batch(shape: &[usize]) -> Result<(), Error> {
    match shape {
        [] => Err(Error::shape(
            "the tensor has no dimension; give the batch first, [1] for a single value",
        )),
        _ => Ok(()),
    }
}

/// The same values without a copy: an element has the size and alignment of a word.
fn cast<E: Element, F: Element>(values: Vec<E>) -> Vec<F> {
    bytemuck::cast_vec(values)
}

impl Storage<'_> {
    fn host(&self) -> Result<&[u32], DeviceError> {
        match &self.host {
            Host::Borrowed(values) => Ok(values),
            #[cfg(feature = "gpu")]
            Host::PageLocked(values) => Ok(values.as_ref()),
            Host::Owned(values) => match values.get() {
                Some(values) => Ok(values),
                #[cfg(feature = "gpu")]
                None => self.replicas.download(values),
                #[cfg(not(feature = "gpu"))]
                None => Ok(&[]),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn views_share_the_memory_and_vectors_come_back_without_a_copy() {
        let values = vec![1_u32, 2, 3, 4, 5, 6];
        let address = values.as_ptr();
        let tensor = Tensor::new(values, &[3, 1, 2]).expect("the shape holds six");
        let view = tensor.items(1..3).expect("three items");
        assert_eq!((view.shape(), view.batch()), (&[2, 1, 2][..], 2));
        assert_eq!(view.host(), Ok(&[3, 4, 5, 6][..]));
        let inner = view.items(1..2).expect("two items");
        assert_eq!(inner.into_vec(), Ok(vec![5, 6]));
        let second = address.wrapping_add(2);
        assert_eq!(view.host().map(<[u32]>::as_ptr), Ok(second));
        drop(view);
        assert_eq!(tensor.into_vec().map(|values| values.as_ptr()), Ok(address));
    }

    #[test]
    fn a_slice_is_borrowed() {
        let values = [1.0, 2.0];
        let tensor = Tensor::new(&values, &[2]).expect("two values");
        assert_eq!(tensor.host().map(<[f32]>::as_ptr), Ok(values.as_ptr()));
        assert_eq!(tensor.item_len(), 1);
    }

    #[test]
    fn what_is_no_tensor_is_an_error() {
        let new = |len: usize, shape: &[usize]| {
            let error = Tensor::new(vec![0.0; len], shape).expect_err("a wrong shape");
            (error.kind(), error.to_string())
        };
        let wrong = "the tensor has 4 elements, but its shape 2×3 holds 6";
        assert_eq!(new(4, &[2, 3]), (ErrorKind::Shape, wrong.to_owned()));
        assert_eq!(new(1, &[]).0, ErrorKind::Shape);
        assert_eq!(new(0, &[usize::MAX, 2]).0, ErrorKind::TooLarge);
        let none = Tensor::<f32>::new(Vec::new(), &[0, usize::MAX, 2]).expect("a batch of none");
        assert_eq!((none.len(), none.item_len()), (0, usize::MAX));
        let tensor = Tensor::new(vec![0.0; 4], &[2, 2]).expect("four values");
        let error = tensor.items(1..3).expect_err("two items");
        let said = "items 1..3 of a batch of 2; give a range inside it";
        assert_eq!(error.to_string(), said);
    }
}
