//! The device that an operation ran on, as its id tells it.

use super::{Gpu, Profile};

/// What runs an operation: every id but `cpu` is that of a GPU, or of several with
/// `+` between them; `cpu+` before it is a batch that both had a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Device<'a> {
    /// The CPU alone.
    Cpu,
    /// The CPU beside the GPUs of these ids.
    Both(&'a str),
    /// GPUs alone, of these ids.
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

    /// True where no part of the work was the CPU's.
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::Gpu(_))
    }

    /// The id of a device for people: a GPU that is a program on the CPU is always named so.
    pub fn label(id: &str, software_gpu: bool) -> String {
        let software = software_gpu && Device::of(id) != Device::Cpu;
        format!("{id}{}", if software { " (software)" } else { "" })
    }
}

impl Profile {
    /// True where a GPU of the device of that id is a program on the CPU.
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
