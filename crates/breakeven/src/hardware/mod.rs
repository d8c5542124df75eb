//! What the machine has, how much of it this process may use, and how busy it is.
//!
//! [`HardwareCapabilities::detect`] reads the machine once, [`SystemLoad::sample`]
//! reads how busy it is now. Neither fails, panics or needs a GPU library: what
//! cannot be known is [`Fact::Unknown`], and a backend without a device is an
//! [`AbsentBackend`] with the reason and the remedy. Driver libraries are probed
//! before they are touched. This module knows nothing of work.

mod capabilities;
mod cpu;
mod device_id;
pub mod doctor;
mod fact;
mod gpu;
mod load;
mod memory;
mod nvml;
mod proc;
pub mod sensors;

#[cfg(feature = "gpu")]
mod adapters;
#[cfg(feature = "gpu")]
mod cuda;
#[cfg(feature = "gpu")]
mod cuda_driver;
#[cfg(feature = "gpu")]
mod cuda_toolkit;
#[cfg(feature = "gpu")]
mod identify;
#[cfg(feature = "gpu")]
mod listing;
#[cfg(feature = "gpu")]
pub(crate) mod open;
#[cfg(feature = "gpu")]
mod probe;
#[cfg(feature = "gpu")]
mod vulkan;

#[cfg(all(test, feature = "gpu", target_os = "linux"))]
mod child_tests;
#[cfg(all(test, feature = "gpu", target_os = "linux"))]
mod made_up_drivers;
#[cfg(all(test, target_os = "linux"))]
mod made_up_library;

pub use capabilities::HardwareCapabilities;
pub(crate) use cpu::second_cache;
pub use cpu::{CoreLimit, SimdSupport, UsableCores};
pub use device_id::{Backend, DeviceId, ParseDeviceIdError};
pub use fact::Fact;
pub use gpu::{AbsentBackend, GpuInfo, GpuKind};
pub use load::{CpuUseBasis, SystemLoad};
pub use memory::MemoryLimit;
pub use nvml::GpuLoad;
