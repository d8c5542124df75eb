//! What the machine has, how much of it this process may use, how busy it is, and what its
//! sensors say: the crate `breakeven-machine`, and what of it a decision needs.

pub(crate) use breakeven_machine::second_cache;
pub use breakeven_machine::{
    AbsentBackend, Backend, CoreLimit, CpuUseBasis, DeviceId, Fact, GpuInfo, GpuKind, GpuLoad,
    HardwareCapabilities, MemoryLimit, ParseDeviceIdError, SimdSupport, SystemLoad, UsableCores,
    sensors,
};
#[cfg(feature = "gpu")]
pub(crate) use breakeven_machine::{Handle, open};

use crate::plan::{GpuSpec, Machine};

/// A GPU that was found as a decision sees it, with what its driver tells of its load.
pub fn gpu_spec(gpu: &GpuInfo, load: Option<&SystemLoad>) -> GpuSpec {
    GpuSpec {
        kind: gpu.kind,
        memory_bytes: gpu.memory_bytes,
        memory_used_bytes: load.map_or(Fact::Unknown, |load| load.gpu(gpu).memory_used_bytes),
        driver: gpu.driver.clone(),
        ..GpuSpec::named(gpu.id.to_string())
    }
}

/// This machine as a decision sees it.
pub fn as_planned(hardware: &HardwareCapabilities, load: Option<&SystemLoad>) -> Machine {
    let usable = |gpu: &&GpuInfo| gpu.preferred && gpu.kind != GpuKind::Software;
    let gpus = hardware.gpus.iter().filter(usable);
    Machine {
        cores: hardware.usable_cores.workers.max(1),
        memory_bytes: hardware.usable_memory_bytes,
        cpu_power: Fact::Unknown,
        gpus: gpus.map(|gpu| gpu_spec(gpu, load)).collect(),
    }
}
