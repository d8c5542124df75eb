#![doc = include_str!("../README.md")]

mod capabilities;
mod device_id;
mod gpu;
pub mod linux;
mod load;
mod nvml;
mod pool;
pub mod sensors;

#[cfg(feature = "gpu")]
mod adapters;
#[cfg(feature = "gpu")]
mod cuda;
#[cfg(feature = "gpu")]
mod listing;
#[cfg(feature = "gpu")]
mod probe;

#[cfg(all(test, target_os = "linux"))]
mod tests;

pub use breakeven_types::{Fact, GpuKind, error};
pub use capabilities::{
    CoreLimit, HardwareCapabilities, MemoryLimit, SimdSupport, UsableCores, second_cache,
};
pub use device_id::{Backend, DeviceId, ParseDeviceIdError};
pub use gpu::{AbsentBackend, GpuInfo};
#[cfg(feature = "gpu")]
pub use listing::{Handle, cuda_id, described, open};
pub use load::{CpuUseBasis, SystemLoad};
pub use nvml::GpuLoad;
pub use pool::{has_pool, pool_threads};
