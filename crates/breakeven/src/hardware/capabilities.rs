//! The whole picture of the machine.

use std::env::consts;
use std::path::Path;

use breakeven_profile::machine::{affinity, cgroup, parallelism};
use breakeven_profile::profile::{Cpu, Environment, Gpu};
use serde::{Deserialize, Serialize};
use sysinfo::System;

#[cfg(not(feature = "gpu"))]
use super::gpu::detect;
use super::gpu::{AbsentBackend, GpuInfo, GpuKind, Gpus};
#[cfg(feature = "gpu")]
use super::listing::detect;
use super::{DeviceId, Fact, MemoryLimit, SimdSupport, UsableCores, cpu, memory};

/// What the machine has, and how much of it this process may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HardwareCapabilities {
    /// Operating system, as `std::env::consts::OS` names it: `linux`.
    pub os: String,
    /// Architecture, as `std::env::consts::ARCH` names it: `x86_64`.
    pub arch: String,
    /// The processor's model name.
    pub cpu_model: Fact<String>,
    /// Logical cores of the machine, whoever may use them.
    pub cpu_cores: usize,
    /// Physical cores of the machine.
    pub physical_cores: Fact<usize>,
    /// Cores this process may use: affinity, cpuset and cgroup quota.
    pub usable_cores: UsableCores,
    /// SIMD instructions of the processor.
    pub cpu_simd_support: SimdSupport,
    /// Memory of the machine, in bytes.
    pub system_memory_bytes: Fact<u64>,
    /// Memory this process may use, in bytes: all of it, or the tightest limit
    /// of the cgroups it is in.
    pub usable_memory_bytes: Fact<u64>,
    /// That limit, if one is below the machine's memory.
    pub memory_limit: Option<MemoryLimit>,
    /// Whether there is a GPU that can be used and is not software.
    pub gpu_available: bool,
    /// Memory of [`HardwareCapabilities::best_gpu`], in bytes; `Unknown` without one.
    pub gpu_memory_bytes: Fact<u64>,
    /// Every GPU that every backend shows, software last. A card shown by two
    /// backends is there twice; `preferred` marks one entry per card.
    pub gpus: Vec<GpuInfo>,
    /// The backends of this platform that have no device, each with the reason.
    pub absent: Vec<AbsentBackend>,
}

impl HardwareCapabilities {
    /// Reads the machine. Never panics and never fails: what cannot be read is
    /// `Unknown`, and a backend that cannot be used is in `absent`.
    ///
    /// Reads anew on every call. About a millisecond, and as long as the slowest
    /// GPU driver takes to start: a tenth of a second as a rule, seconds for cards
    /// that sleep; after 20 s a driver counts as absent. Drivers are asked on
    /// threads of their own, at the same time. CUDA and NVML stay loaded
    /// afterwards.
    ///
    /// Nothing is printed here, but a driver may: Mesa's device-selection layer
    /// complains on stderr when `XDG_RUNTIME_DIR` is not set, unless
    /// `NODEVICE_SELECT=1` is.
    ///
    /// A driver that crashes the process cannot be guarded against here: detect
    /// in another process first, and use
    /// [`detect_without_gpu`](Self::detect_without_gpu) when that one crashed.
    pub fn detect() -> Self {
        Self::assemble(detect())
    }

    /// Reads the machine and touches no GPU driver: no GPU, no backend with a
    /// reason. For use when GPU detection crashed in another process.
    pub fn detect_without_gpu() -> Self {
        Self::assemble(Gpus {
            gpus: Vec::new(),
            absent: vec![AbsentBackend {
                backend: None,
                reason: "GPUs were not looked for".to_owned(),
                remedy: "detect with GPUs".to_owned(),
            }],
        })
    }

    fn assemble(Gpus { gpus, absent }: Gpus) -> Self {
        let root = Path::new("/");
        let limits = cgroup::limits(root);
        let mut system = System::new().ok();
        let cpu_cores = system.as_mut().map_or_else(parallelism, cpu::logical);
        let system_memory_bytes = system.as_mut().map_or(Fact::Unknown, memory::total);
        let (usable_memory_bytes, memory_limit) =
            memory::usable(system_memory_bytes, limits.memory_bytes.as_ref());
        let best = best(&gpus);
        HardwareCapabilities {
            os: consts::OS.to_owned(),
            arch: consts::ARCH.to_owned(),
            cpu_model: system.as_mut().map_or(Fact::Unknown, cpu::model),
            cpu_cores,
            physical_cores: cpu::physical(),
            usable_cores: cpu::usable(
                cpu_cores,
                affinity(root, cpu_cores),
                limits.cpu_cores.as_ref(),
            ),
            cpu_simd_support: SimdSupport::detect(),
            system_memory_bytes,
            usable_memory_bytes,
            memory_limit,
            gpu_available: best.is_some(),
            gpu_memory_bytes: best.map_or(Fact::Unknown, |gpu| gpu.memory_bytes),
            gpus,
            absent,
        }
    }

    /// Writes the machine into the environment of a profile: the system, the processor,
    /// the memory, the GPUs. For a program that records itself:
    /// `get_profiler(true).describe(|environment| hardware.describe(environment))`.
    pub fn describe(&self, environment: &mut Environment) {
        let cores = |count: usize| count as u64;
        let gpu = |gpu: &GpuInfo| Gpu {
            id: gpu.id.to_string(),
            name: Some(gpu.name.clone()),
            kind: Some(gpu.kind.to_string()),
            backend: Some(gpu.backend.to_string()),
            memory_bytes: gpu.memory_bytes.get(),
            driver: gpu.driver.known().cloned(),
            pci: gpu.pci.known().cloned(),
            kernel_clock: None,
        };
        environment.os = Some(self.os.clone());
        environment.arch = Some(self.arch.clone());
        environment.cpu = Some(Cpu {
            model: self.cpu_model.known().cloned(),
            logical_cores: Some(cores(self.cpu_cores)),
            physical_cores: self.physical_cores.get().map(cores),
            usable_cores: Some(self.usable_cores.cores),
            simd: self.cpu_simd_support.features.clone(),
            memory_bytes: self.system_memory_bytes.get(),
            usable_memory_bytes: self.usable_memory_bytes.get(),
        });
        environment.gpus = self.gpus.iter().map(gpu).collect();
    }

    /// The GPU to use when none was asked for: of those that are not software
    /// and are preferred for their card, a discrete one before an integrated
    /// one, then the one with the most memory.
    pub fn best_gpu(&self) -> Option<&GpuInfo> {
        best(&self.gpus)
    }

    /// The GPU of this id.
    pub fn gpu(&self, id: &DeviceId) -> Option<&GpuInfo> {
        self.gpus.iter().find(|gpu| gpu.id == *id)
    }
}

/// The list is in the order of choice already.
fn best(gpus: &[GpuInfo]) -> Option<&GpuInfo> {
    gpus.iter()
        .find(|gpu| gpu.preferred && gpu.kind != GpuKind::Software)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::Backend;

    fn gpu(kind: GpuKind, name: &str, preferred: bool) -> GpuInfo {
        GpuInfo {
            memory_bytes: Fact::Known(7),
            preferred,
            ..GpuInfo::named(Backend::Vulkan, name.to_owned(), kind)
        }
    }

    fn with(gpus: Vec<GpuInfo>) -> HardwareCapabilities {
        HardwareCapabilities::assemble(Gpus {
            gpus,
            absent: Vec::new(),
        })
    }

    #[test]
    fn a_software_gpu_is_listed_and_not_available() {
        let machine = with(vec![gpu(GpuKind::Software, "llvmpipe", true)]);
        assert_eq!(machine.gpus.len(), 1);
        assert!(!machine.gpu_available);
        assert_eq!(machine.gpu_memory_bytes, Fact::Unknown);
        assert!(machine.best_gpu().is_none());
    }

    #[test]
    fn the_best_gpu_is_the_preferred_entry_of_a_real_card() {
        let machine = with(vec![
            gpu(GpuKind::Discrete, "shadow", false),
            gpu(GpuKind::Discrete, "card", true),
            gpu(GpuKind::Software, "llvmpipe", true),
        ]);
        assert!(machine.gpu_available);
        assert_eq!(machine.gpu_memory_bytes, Fact::Known(7));
        assert_eq!(machine.best_gpu().map(|gpu| &*gpu.name), Some("card"));
        let id = DeviceId::gpu(Backend::Vulkan, "shadow", 1);
        assert!(machine.gpu(&id).is_some());
    }

    #[test]
    fn this_machine_makes_sense_and_survives_json() {
        let machine = HardwareCapabilities::detect_without_gpu();
        assert!(!machine.gpu_available);
        assert_eq!(machine.absent.len(), 1);
        assert!(machine.cpu_cores >= 1);
        let usable = &machine.usable_cores;
        assert!(usable.workers >= 1 && usable.workers <= machine.cpu_cores);
        assert!(usable.cores > 0.0 && usable.cores <= usable.workers as f64);
        let [total, usable] = [machine.system_memory_bytes, machine.usable_memory_bytes]
            .map(|bytes| bytes.get().expect("machine and process have memory"));
        assert!(usable > 0 && usable <= total);
        let json = serde_json::to_string(&machine).expect("it is JSON");
        let back: HardwareCapabilities = serde_json::from_str(&json).expect("it comes back");
        assert_eq!(back, machine);
    }
}
