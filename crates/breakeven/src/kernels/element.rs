//! What outputs are made of.

/// An element of a kernel's output: 32 bits that mean themselves, so that an
/// output is copied from a device as it is. Numbers are `f32`, labels `u32`.
pub trait Element: sealed::Sealed + bytemuck::Pod + Send + Sync + std::fmt::Debug {}

impl Element for f32 {}
impl Element for u32 {}

mod sealed {
    /// Buffers on a device count in 32-bit elements.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for u32 {}
}
