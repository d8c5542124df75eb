//! What tensors are made of.

/// An element of a tensor: 32 bits that mean themselves, so that memory is copied to
/// and from a device as it is. Numbers are `f32`, labels `u32`.
pub trait Element: sealed::Sealed + bytemuck::Pod + Send + Sync + std::fmt::Debug {}

mod sealed {
    /// Buffers on a device count in 32-bit elements.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($element:ty),*) => { $(
        impl Element for $element {}
        impl sealed::Sealed for $element {}
    )* };
}

elements![f32, u32, i32];
