//! The processor: model, cores, the cores this process may use, SIMD.

use std::path::PathBuf;

use breakeven_profile::machine::{cgroup, parallelism};
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, System};

use super::Fact;

/// How much of the machine's cores this process may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsableCores {
    /// Cores of CPU time per second of wall time, at most. A fraction where a
    /// cgroup's quota is one: 1.5 is 150 ms of CPU time every 100 ms.
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

/// Bytes of the first core's second cache, where Linux tells.
pub(crate) fn second_cache() -> Option<u64> {
    let size = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size");
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

/// The model name, as the processor or the operating system gives it.
pub(super) fn model(system: &mut System) -> Fact<String> {
    system.refresh_cpu_list(CpuRefreshKind::nothing());
    system
        .cpus()
        .first()
        .map(|cpu| cpu.brand().trim().to_owned())
        .filter(|brand| !brand.is_empty())
        .into()
}

/// Logical cores of the machine that are switched on.
pub(super) fn logical(system: &mut System) -> usize {
    system.refresh_cpu_list(CpuRefreshKind::nothing());
    match system.cpus().len() {
        0 => parallelism(),
        cores => cores,
    }
}

pub(super) fn physical() -> Fact<usize> {
    System::physical_core_count()
        .ok()
        .filter(|&cores| cores > 0)
        .into()
}

/// The tighter of affinity and quota.
pub(super) fn usable(
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

/// The least whole number of threads, of at most `most`, that can use up `cores`.
fn workers(cores: f64, most: usize) -> usize {
    (1..most)
        .find(|&workers| workers as f64 >= cores)
        .unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tighter_limit_counts_and_workers_are_rounded_up() {
        let quota = |value| cgroup::Limit {
            value,
            source: PathBuf::from("/c/cpu.max"),
        };
        let limited = usable(8, 8, Some(&quota(1.5)));
        assert_eq!((limited.cores, limited.workers), (1.5, 2));
        assert!(matches!(limited.limit, CoreLimit::Quota { .. }));
        assert_eq!(usable(8, 8, Some(&quota(0.1))).workers, 1);
        assert_eq!(usable(8, 8, Some(&quota(2.0))).workers, 2);
        assert_eq!(usable(8, 2, Some(&quota(6.0))).limit, CoreLimit::Affinity);
        let free = usable(8, 8, None);
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
}
