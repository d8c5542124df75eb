//! What an operator is given: one tensor or several.

use super::{Element, Tensor};

/// The inputs of an operator, in its order: `&image` for one, `&[&a, &b]` for a
/// pair. A task of a batch is inputs as well: a tensor, or an array of tensors.
pub trait Inputs<E: Element> {
    /// The tensors.
    fn tensors(&self) -> Vec<&Tensor<'_, E>>;
}

impl<E: Element> Inputs<E> for Tensor<'_, E> {
    fn tensors(&self) -> Vec<&Tensor<'_, E>> {
        vec![self]
    }
}

impl<E: Element, I: Inputs<E> + ?Sized> Inputs<E> for &I {
    fn tensors(&self) -> Vec<&Tensor<'_, E>> {
        (**self).tensors()
    }
}

impl<E: Element, I: Inputs<E>> Inputs<E> for [I] {
    fn tensors(&self) -> Vec<&Tensor<'_, E>> {
        self.iter().flat_map(Inputs::tensors).collect()
    }
}

impl<E: Element, I: Inputs<E>, const N: usize> Inputs<E> for [I; N] {
    fn tensors(&self) -> Vec<&Tensor<'_, E>> {
        self.as_slice().tensors()
    }
}

impl<E: Element, I: Inputs<E>> Inputs<E> for Vec<I> {
    fn tensors(&self) -> Vec<&Tensor<'_, E>> {
        self.as_slice().tensors()
    }
}
