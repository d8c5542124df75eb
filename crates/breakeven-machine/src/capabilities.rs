//! What the machine has, and how much of it this process may use: processor, cores, SIMD,
//! memory, GPUs.

use std::env::consts;
use std::fs;
use std::path::{Path, PathBuf};

use breakeven_profile::machine::{affinity, cgroup, parallelism};
use breakeven_profile::profile::{Cpu, Environment, Gpu};
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, System};

use crate::gpu::{AbsentBackend, GpuInfo};
use crate::{DeviceId, Fact, GpuKind};

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
        #[cfg(feature = "gpu")]
        let (gpus, absent) = crate::listing::detect();
        #[cfg(not(feature = "gpu"))]
        let (gpus, absent) = {
            let remedy = "build with `--features gpu` (it is on by default)";
            let reason = "built without the `gpu` feature";
            (Vec::new(), vec![AbsentBackend::new(None, reason, remedy)])
        };
        Self::assemble(gpus, absent)
    }

    /// Reads the machine and touches no GPU driver: no GPU, no backend with a
    /// reason. For use when GPU detection crashed in another process.
    pub fn detect_without_gpu() -> Self {
        let absent = AbsentBackend::new(None, "GPUs were not looked for", "detect with GPUs");
        Self::assemble(Vec::new(), vec![absent])
    }

    fn assemble(gpus: Vec<GpuInfo>, absent: Vec<AbsentBackend>) -> Self {
        let root = Path::new("/");
        let limits = cgroup::limits(root);
        let system = read_system();
        let cpu_cores = logical_cores(system.as_ref());
        let brand = system.as_ref().and_then(|system| system.cpus().first());
        let brand = brand.map(|cpu| cpu.brand().trim().to_owned());
        let total = system.as_ref().map_or(0, System::total_memory);
        // sysinfo answers 0 when it could not read.
        let system_memory_bytes = Fact::from(Some(total).filter(|&bytes| bytes > 0));
        let (usable_memory_bytes, memory_limit) =
            usable_memory(system_memory_bytes, limits.memory_bytes.as_ref());
        let affinity = affinity(root, cpu_cores);
        let best = best(&gpus);
        HardwareCapabilities {
            os: consts::OS.to_owned(),
            arch: consts::ARCH.to_owned(),
            cpu_model: brand.filter(|brand| !brand.is_empty()).into(),
            cpu_cores,
            physical_cores: (System::physical_core_count().ok())
                .filter(|&cores| cores > 0)
                .into(),
            usable_cores: usable_cores(cpu_cores, affinity, limits.cpu_cores.as_ref()),
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

    /// Returns the default GPU: among those that are not software and are preferred for their card,
    /// a discrete one before an integrated one, then the one with the most memory.
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

/// Returns sysinfo's view of the machine; none if it does not support the system.
pub(crate) fn read_system() -> Option<System> {
    let mut system = System::new().ok()?;
    system.refresh_cpu_list(CpuRefreshKind::nothing());
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    Some(system)
}

/// Logical cores of the machine that are switched on.
pub(crate) fn logical_cores(system: Option<&System>) -> usize {
    match system.map_or(0, |system| system.cpus().len()) {
        0 => parallelism(),
        cores => cores,
    }
}

/// How much of the machine's cores this process may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsableCores {
    /// Most cores of CPU time per second of wall time. Fractional if a cgroup's quota is: 1.5 is
    /// 150 ms of CPU time every 100 ms.
    pub cores: f64,
    /// Worker threads worth starting: `cores` rounded up, at least one. Rounded
    /// up, because the quota is a rate: two workers use 1.5 cores, one uses one.
    pub workers: usize,
    /// What makes it less than the machine's cores.
    pub limit: CoreLimit,
}

/// What keeps a process from using every core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoreLimit {
    /// Nothing.
    None,
    /// The cores it is pinned to (`taskset`, a cpuset).
    Affinity,
    /// The CPU quota of a cgroup.
    Quota {
        /// The file that says so: `cpu.max` or `cpu.cfs_quota_us`.
        source: PathBuf,
    },
}

/// The SIMD instructions this process can execute, asked of the processor
/// (and, through it, of the operating system, which has to save the registers).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimdSupport {
    /// Feature names as in `std::arch`'s detection macros, narrowest first:
    /// `sse4.2`, `avx2`, `fma`, `avx512f`, … or `neon`, `dotprod`, `sve`, ….
    /// AMX is not listed: the standard library cannot ask for it yet.
    pub features: Vec<String>,
    /// `f32` values in the widest register: 16 with AVX-512, 8 with AVX, 4 with
    /// SSE2 and NEON. SVE registers can be wider than the 4 that are stated.
    /// `Unknown` on an architecture that is neither x86 nor 64-bit ARM.
    pub f32_lanes: Fact<usize>,
}

impl SimdSupport {
    /// Asks the processor.
    pub fn detect() -> Self {
        let features = features();
        SimdSupport {
            f32_lanes: lanes(&features),
            features: features.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// Size of the first core's second-level cache in bytes, if Linux reports it.
pub fn second_cache() -> Option<u64> {
    let size = fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size");
    let kilobytes: u64 = size.ok()?.trim().strip_suffix('K')?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Those of the named features that the processor has.
#[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! present {
    ($detected:ident: $($name:tt)+) => {{
        let mut present = Vec::new();
        $(if std::arch::$detected!($name) { present.push($name); })+
        present
    }};
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn features() -> Vec<&'static str> {
    present!(is_x86_feature_detected:
        "sse2" "sse4.2" "avx" "f16c" "fma" "avx2" "avxvnni"
        "avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"
        "avx512vnni" "avx512bf16" "avx512fp16")
}

#[cfg(target_arch = "aarch64")]
fn features() -> Vec<&'static str> {
    present!(is_aarch64_feature_detected:
        "neon" "dotprod" "fp16" "bf16" "i8mm" "sve" "sve2")
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
fn features() -> Vec<&'static str> {
    Vec::new()
}

/// Register width of the widest feature over the 32 bits of an `f32`.
fn lanes(features: &[&str]) -> Fact<usize> {
    let widths = [("avx512f", 512), ("avx", 256), ("sse2", 128), ("neon", 128)];
    widths
        .into_iter()
        .find(|(name, _)| features.contains(name))
        .map(|(_, bits)| bits / 32)
        .into()
}

/// The tighter of affinity and quota.
fn usable_cores(
    logical: usize,
    affinity: usize,
    quota: Option<&cgroup::Limit<f64>>,
) -> UsableCores {
    let pinned = affinity as f64;
    match quota {
        Some(quota) if quota.value < pinned => UsableCores {
            cores: quota.value,
            workers: workers(quota.value, affinity),
            limit: CoreLimit::Quota {
                source: quota.source.clone(),
            },
        },
        _ => UsableCores {
            cores: pinned,
            workers: affinity,
            limit: match affinity < logical {
                true => CoreLimit::Affinity,
                false => CoreLimit::None,
            },
        },
    }
}

/// Returns the least number of threads, at most `most`, that can use up `cores`.
fn workers(cores: f64, most: usize) -> usize {
    (1..most)
        .find(|&workers| workers as f64 >= cores)
        .unwrap_or(most)
}

/// A limit on memory that is below what the machine has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryLimit {
    /// The limit, in bytes.
    pub bytes: u64,
    /// The file that says so: a cgroup's `memory.max`.
    pub source: PathBuf,
}

/// The memory this process may use, and the limit that makes it less than all of it.
fn usable_memory(
    total: Fact<u64>,
    limit: Option<&cgroup::Limit<u64>>,
) -> (Fact<u64>, Option<MemoryLimit>) {
    let is_less = |limit: &&cgroup::Limit<u64>| total.get().is_none_or(|total| limit.value < total);
    let limit = limit.filter(is_less).map(|limit| MemoryLimit {
        bytes: limit.value,
        source: limit.source.clone(),
    });
    let usable = limit.as_ref().map(|limit| limit.bytes);
    (Fact::from(usable).or(total), limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Backend;

    fn gpu(kind: GpuKind, name: &str, preferred: bool) -> GpuInfo {
        GpuInfo {
            memory_bytes: Fact::Known(7),
            preferred,
            ..GpuInfo::named(Backend::Vulkan, name.to_owned(), kind)
        }
    }

    fn with(gpus: Vec<GpuInfo>) -> HardwareCapabilities {
        HardwareCapabilities::assemble(gpus, Vec::new())
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

    #[test]
    fn the_tighter_limit_counts_and_workers_are_rounded_up() {
        let quota = |value| cgroup::Limit {
            value,
            source: PathBuf::from("/c/cpu.max"),
        };
        let limited = usable_cores(8, 8, Some(&quota(1.5)));
        assert_eq!((limited.cores, limited.workers), (1.5, 2));
        assert!(matches!(limited.limit, CoreLimit::Quota { .. }));
        assert_eq!(usable_cores(8, 8, Some(&quota(0.1))).workers, 1);
        assert_eq!(usable_cores(8, 8, Some(&quota(2.0))).workers, 2);
        assert_eq!(
            usable_cores(8, 2, Some(&quota(6.0))).limit,
            CoreLimit::Affinity
        );
        let free = usable_cores(8, 8, None);
        assert_eq!((free.cores, free.workers), (8.0, 8));
        assert_eq!(free.limit, CoreLimit::None);
    }

    #[test]
    fn lanes_follow_the_widest_feature() {
        assert_eq!(lanes(&["sse2", "avx", "avx2", "avx512f"]), Fact::Known(16));
        assert_eq!(lanes(&["sse2", "sse4.2", "avx"]), Fact::Known(8));
        assert_eq!(lanes(&["neon", "sve"]), Fact::Known(4));
        assert_eq!(lanes(&[]), Fact::Unknown);
    }

    #[test]
    fn the_compiler_cannot_know_of_more_than_the_processor_has() {
        let features = SimdSupport::detect().features;
        let has = |feature: &str| features.iter().any(|found| found == feature);
        assert!(
            has("sse2") || !cfg!(target_feature = "sse2"),
            "{features:?}"
        );
        assert!(
            has("neon") || !cfg!(target_feature = "neon"),
            "{features:?}"
        );
    }

    #[test]
    fn a_limit_counts_only_below_the_total() {
        let limit = |value| cgroup::Limit {
            value,
            source: PathBuf::from("/c/memory.max"),
        };
        let all = Fact::Known(100);
        let (usable_bytes, by) = usable_memory(all, Some(&limit(40)));
        assert_eq!(usable_bytes, Fact::Known(40));
        assert_eq!(by.map(|l| l.source), Some(PathBuf::from("/c/memory.max")));
        assert_eq!(usable_memory(all, Some(&limit(100))), (all, None));
        assert_eq!(usable_memory(all, None), (all, None));
        assert_eq!(usable_memory(Fact::Unknown, None), (Fact::Unknown, None));
        assert_eq!(
            usable_memory(Fact::Unknown, Some(&limit(40))).0,
            Fact::Known(40)
        );
    }
}
