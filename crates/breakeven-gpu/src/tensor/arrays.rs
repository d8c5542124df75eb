//! Tensors from and as `ndarray`'s arrays (feature `ndarray`).

use ndarray::{Array, ArrayBase, ArrayViewD, Data, Dimension, IxDyn};

use super::{Element, Tensor};
use crate::error::{DeviceError, Error};

impl<E: Element> Tensor<'_, E> {
    /// Returns its values as an array of the same shape, without a copy. If they are on a device
    /// alone, they are downloaded.
    ///
    /// # Errors
    ///
    /// As [`host`](Tensor::host).
    pub fn as_array(&self) -> Result<ArrayViewD<'_, E>, DeviceError> {
        let view = ArrayViewD::from_shape(IxDyn(self.shape()), self.host()?);
        Ok(view.map_err(|error| Error::shape(error.to_string()))?)
    }
}

impl<'a, E: Element, S: Data<Elem = E>, D: Dimension> TryFrom<&'a ArrayBase<S, D>>
    for Tensor<'a, E>
{
    type Error = Error;

    /// Borrows the array's values if they are row-major without gaps, else copies them.
    fn try_from(array: &'a ArrayBase<S, D>) -> Result<Self, Error> {
        match array.as_slice() {
            Some(values) => Self::new(values, array.shape()),
            None => Self::new(array.iter().copied().collect::<Vec<_>>(), array.shape()),
        }
    }
}

impl<E: Element, D: Dimension> TryFrom<Array<E, D>> for Tensor<'static, E> {
    type Error = Error;

    /// Moves the array's values if they are row-major without gaps, else copies them.
    fn try_from(array: Array<E, D>) -> Result<Self, Error> {
        let (shape, len) = (array.shape().to_vec(), array.len());
        if !array.is_standard_layout() {
            return Self::new(array.iter().copied().collect::<Vec<_>>(), &shape);
        }
        let (mut values, first) = array.into_raw_vec_and_offset();
        let first = first.unwrap_or(0);
        values.truncate(first + len);
        values.drain(..first);
        Self::new(values, &shape)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, arr0, s};

    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn arrays_are_tensors_without_a_copy_where_they_are_row_major() {
        let array = Array2::from_shape_fn((3, 4), |(row, column)| (4 * row + column) as f32);
        let tensor = Tensor::try_from(&array).expect("a batch of three");
        assert_eq!(tensor.host().map(<[f32]>::as_ptr), Ok(array.as_ptr()));
        assert_eq!(tensor.as_array(), Ok(array.view().into_dyn()));

        let rows = array.slice(s![1.., ..]);
        let tensor = Tensor::try_from(&rows).expect("a batch of two");
        assert_eq!(tensor.host().map(<[f32]>::as_ptr), Ok(rows.as_ptr()));
        for gaps in [
            array.slice(s![.., ..2]),
            array.t(),
            array.slice(s![..;-1, ..]),
        ] {
            let tensor = Tensor::try_from(&gaps).expect("a batch");
            assert_eq!(tensor.as_array(), Ok(gaps.into_dyn()), "copied in order");
        }
        let no_dimension = Tensor::try_from(&arr0(1.0_f32)).expect_err("no batch");
        assert_eq!(no_dimension.kind(), ErrorKind::Shape);
    }

    #[test]
    fn an_array_that_is_given_is_moved() {
        let array = Array2::from_shape_fn((3, 4), |(row, column)| (4 * row + column) as f32);
        let (address, rows) = (array.as_ptr(), array.clone().slice_move(s![1.., ..]));
        let of_rows = Tensor::try_from(rows).expect("a batch of two");
        let expected = array.slice(s![1.., ..]);
        assert_eq!(of_rows.as_array(), Ok(expected.into_dyn()));
        let turned = Tensor::try_from(array.clone().reversed_axes()).expect("a batch of four");
        assert_eq!(turned.as_array(), Ok(array.t().into_dyn()));
        let tensor = Tensor::try_from(array).expect("a batch of three");
        assert_eq!(tensor.into_vec().map(|values| values.as_ptr()), Ok(address));
    }
}
