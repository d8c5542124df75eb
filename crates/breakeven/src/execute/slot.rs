//! What a manager keeps about one GPU.

use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::quarantine;
use super::threads::Drivers;
use crate::error::DeviceError;
use crate::hardware::Fact;
use crate::locked;
use crate::plan::GpuSpec;

/// How long a reading of a GPU's used memory is valid.
const MEMORY_KNOWN_FOR: Duration = Duration::from_millis(100);

/// What a manager keeps about one GPU.
#[derive(Debug, Default)]
pub(super) struct GpuSlot {
    described: Option<GpuSpec>,
    /// The device as its executor described it.
    seen: OnceLock<GpuSpec>,
    memory_used: Mutex<Option<(Instant, Fact<u64>)>>,
    pub(super) drivers: Drivers,
    /// The unique quarantine name of a GPU without a name.
    nameless: String,
    /// The process that created it, which has the threads that serve the device.
    pub(super) process: u32,
}

impl GpuSlot {
    /// Creates the slot; `nameless` is its quarantine name if its device has none.
    pub(super) fn new(nameless: String, described: Option<GpuSpec>) -> Self {
        Self {
            described,
            nameless,
            process: std::process::id(),
            ..Self::default()
        }
    }

    /// Returns the slot with a description of its GPU.
    pub(super) fn described_as(&self, device: GpuSpec) -> Self {
        Self::new(self.nameless.clone(), Some(device))
    }

    /// Returns what is known about the device.
    pub(super) fn known(&self) -> GpuSpec {
        self.spec()
            .cloned()
            .unwrap_or_else(|| GpuSpec::named("gpu"))
    }

    fn spec(&self) -> Option<&GpuSpec> {
        self.seen.get().or(self.described.as_ref())
    }

    /// Keeps the executor's description of its device.
    pub(super) fn saw(&self, device: &GpuSpec) {
        self.seen.get_or_init(|| device.clone());
    }

    /// Returns its [`keys`](Self::keys), if any device is in quarantine.
    pub(super) fn suspects(&self, operation: &str) -> impl Iterator<Item = String> {
        let keys = (!quarantine::is_empty()).then(|| self.keys(operation));
        keys.into_iter().flatten()
    }

    /// Returns its quarantine names: the device's, by which all managers of the process know it, or
    /// a name of this manager only; and the same for one operation.
    pub(super) fn keys(&self, operation: &str) -> [String; 2] {
        let device = self.spec().map_or(&self.nameless, |spec| &spec.name);
        [device.clone(), format!("{device}: {operation}")]
    }

    /// Returns the memory in use, queried at most ten times a second.
    pub(super) fn memory_used(
        &self,
        ask: impl FnOnce() -> Result<Fact<u64>, DeviceError>,
    ) -> Result<Fact<u64>, DeviceError> {
        let known = *locked(&self.memory_used);
        if let Some((_, used)) = known.filter(|(at, _)| at.elapsed() < MEMORY_KNOWN_FOR) {
            return Ok(used);
        }
        let used = ask()?;
        *locked(&self.memory_used) = Some((Instant::now(), used));
        Ok(used)
    }
}
