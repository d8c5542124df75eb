//! What the machine has, how much of it this process may use, how busy it is, and what its sensors
//! report: the crate `breakeven-machine`, and the conversion for decisions.

pub use breakeven_gpu::device::gpu_spec;
pub use breakeven_machine::{
    AbsentBackend, Backend, CoreLimit, CpuUseBasis, DeviceId, Fact, GpuInfo, GpuKind, GpuLoad,
    HardwareCapabilities, MemoryLimit, ParseDeviceIdError, SimdSupport, SystemLoad, UsableCores,
    sensors,
};

use crate::plan::Machine;

/// Converts this machine for a decision.
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
