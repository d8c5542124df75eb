#![allow(missing_docs)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceId(pub String);
impl std::fmt::Display for DeviceId { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(&self.0) } }
#[cfg(feature="gpu")]
pub(crate) enum Location { Wgpu { instance: wgpu::Instance, adapter: wgpu::Adapter }, #[allow(dead_code)] Cuda { ordinal: usize } }
#[cfg(feature="gpu")]
pub(crate) struct Found { pub(crate) location: Location, pub(crate) memory_bytes: Option<u64> }
#[cfg(feature="gpu")]
pub(crate) fn locate(_id: &DeviceId) -> Result<Found, crate::error::DeviceError> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor { backends: wgpu::Backends::VULKAN, ..wgpu::InstanceDescriptor::new_without_display_handle() });
    let adapter = cubecl::future::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN)).remove(0);
    Ok(Found { location: Location::Wgpu { instance, adapter }, memory_bytes: None })
}
