//! The device that an operation ran on, from its id.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// How often the calls of an operation on a device found the memory that they needed in the pool of
/// freed memory. An [`Operation`](super::Operation) has it among its attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[must_use]
pub struct DeviceMemory {
    /// Calls that were observed.
    pub calls: u64,
    /// Calls among them that allocated nothing from the device.
    pub hits: u64,
    /// Bytes of the device's memory in use after them, including the pool.
    pub reserved_bytes: u64,
}

/// Its name among an operation's attributes.
const NAME: &str = "device_memory";

impl DeviceMemory {
    /// Reads it from an operation's attributes; `None` if they lack it or have another form.
    pub fn of(attributes: &BTreeMap<String, Value>) -> Option<Self> {
        let value = attributes.get(NAME)?;
        let memory = Self::deserialize(value).ok()?;
        (memory.hits <= memory.calls).then_some(memory)
    }

    /// Writes it to an operation's attributes.
    pub fn write(&self, attributes: &mut BTreeMap<String, Value>) {
        if let Ok(value) = serde_json::to_value(self) {
            attributes.insert(NAME.to_owned(), value);
        }
    }

    /// Fraction of the calls that were hits, 0 to 1; `None` without calls.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.calls > 0).then(|| self.hits as f64 / self.calls as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nonsense_is_nothing() {
        let mut attributes = BTreeMap::new();
        assert_eq!(DeviceMemory::of(&attributes), None);
        let memory = DeviceMemory {
            calls: 20,
            hits: 19,
            reserved_bytes: 1 << 20,
        };
        memory.write(&mut attributes);
        assert_eq!(DeviceMemory::of(&attributes), Some(memory));
        assert_eq!(memory.hit_rate(), Some(0.95));
        assert_eq!(DeviceMemory::default().hit_rate(), None);
        for wrong in [
            r#""much""#,
            r#"{"calls": 1, "hits": 2, "reserved_bytes": 0}"#,
        ] {
            let value = serde_json::from_str(wrong).unwrap_or_default();
            attributes.insert(NAME.to_owned(), value);
            assert_eq!(DeviceMemory::of(&attributes), None);
        }
    }
}
