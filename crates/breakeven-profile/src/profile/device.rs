//! The device that an operation ran on, from its id.

use super::{Gpu, Profile};

/// The device of an operation. Every id except `cpu` is a GPU, or several joined by `+`; `cpu+` in
/// front marks a batch that the CPU and the GPUs shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Device<'a> {
    /// The CPU alone.
    Cpu,
    /// The CPU and the GPUs with these ids.
    Both(&'a str),
    /// Only GPUs, with these ids.
    Gpu(&'a str),
}

impl<'a> Device<'a> {
    /// The id of the CPU.
    pub const CPU: &'static str = "cpu";

    /// The device of an id.
    pub fn of(id: &'a str) -> Self {
        match (id, id.strip_prefix("cpu+")) {
            (Self::CPU, _) => Self::Cpu,
            (_, Some(gpus)) => Self::Both(gpus),
            _ => Self::Gpu(id),
        }
    }

    /// True if the CPU did none of the work.
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::Gpu(_))
    }

    /// The label of a device id; a software GPU is always marked.
    pub fn label(id: &str, software_gpu: bool) -> String {
        let software = software_gpu && Device::of(id) != Device::Cpu;
        format!("{id}{}", if software { " (software)" } else { "" })
    }
}

impl Profile {
    /// True if the device id names a software GPU.
    pub fn is_software_gpu(&self, device: &str) -> bool {
        let (Device::Gpu(ids) | Device::Both(ids)) = Device::of(device) else {
            return false;
        };
        let mut ids = std::iter::once(ids).chain(ids.split('+'));
        ids.any(|id| self.gpu(id).is_some_and(Gpu::is_software))
    }

    /// [`Device::label`] of a device of this profile.
    pub fn device_label(&self, device: &str) -> String {
        Device::label(device, self.is_software_gpu(device))
    }
}
