//! What a manager keeps of one GPU.

use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::quarantine;
use super::threads::Drivers;
use crate::error::DeviceError;
use crate::hardware::Fact;
use crate::locked;
use crate::plan::GpuSpec;

/// For how long the memory in use on a GPU is believed.
const MEMORY_KNOWN_FOR: Duration = Duration::from_millis(100);

/// What a manager keeps of one GPU.
#[derive(Debug, Default)]
pub(super) struct GpuSlot {
    described: Option<GpuSpec>,
    /// The device as its executor told of it.
    seen: OnceLock<GpuSpec>,
    memory_used: Mutex<Option<(Instant, Fact<u64>)>>,
    pub(super) drivers: Drivers,
    /// What a GPU without a name goes by in quarantine: nobody else's.
    nameless: String,
    /// The process that it was made in, which has the threads that serve the device.
    pub(super) process: u32,
}

impl GpuSlot {
    /// One that goes by that name in quarantine where its device has none.
    pub(super) fn new(nameless: String, described: Option<GpuSpec>) -> Self {
        Self {
            described,
            nameless,
            process: std::process::id(),
            ..Self::default()
        }
    }

    /// The same GPU, described.
    pub(super) fn described_as(&self, device: GpuSpec) -> Self {
        Self::new(self.nameless.clone(), Some(device))
    }

    /// What is known of the device.
    pub(super) fn known(&self) -> GpuSpec {
        self.spec()
            .cloned()
            .unwrap_or_else(|| GpuSpec::named("gpu"))
    }

    fn spec(&self) -> Option<&GpuSpec> {
        self.seen.get().or(self.described.as_ref())
    }

    /// Keeps what the executor says of its device.
    pub(super) fn saw(&self, device: &GpuSpec) {
        self.seen.get_or_init(|| device.clone());
    }

    /// The [`keys`](Self::keys) of it, while anything at all is in quarantine.
    pub(super) fn suspects(&self, operation: &str) -> impl Iterator<Item = String> {
        let keys = (!quarantine::is_empty()).then(|| self.keys(operation));
        keys.into_iter().flatten()
    }

    /// What it goes by in quarantine: its name, by which all managers of the process
    /// know it, or a name that only this manager has; and the same for one operation.
    pub(super) fn keys(&self, operation: &str) -> [String; 2] {
        let device = self.spec().map_or(&self.nameless, |spec| &spec.name);
        [device.clone(), format!("{device}: {operation}")]
    }

    /// Memory in use: asked ten times a second at most.
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
