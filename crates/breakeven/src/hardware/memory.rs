//! How much memory the machine has, and how much of it this process may use.

use std::path::PathBuf;

use breakeven_profile::machine::cgroup;
use serde::{Deserialize, Serialize};
use sysinfo::{MemoryRefreshKind, System};

use super::Fact;

/// A limit on memory that is below what the machine has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryLimit {
    /// The limit, in bytes.
    pub bytes: u64,
    /// The file that says so: a cgroup's `memory.max` or `memory.limit_in_bytes`.
    pub source: PathBuf,
}

/// Total memory in bytes, as the operating system reports it (Linux: `MemTotal`).
pub(super) fn total(system: &mut System) -> Fact<u64> {
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    reading(system.total_memory())
}

/// Memory in bytes that can be had without swapping (Linux: `MemAvailable`).
pub(super) fn available(system: &mut System) -> Fact<u64> {
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    reading(system.available_memory())
}

/// sysinfo answers 0 when it could not read.
fn reading(bytes: u64) -> Fact<u64> {
    Some(bytes).filter(|&bytes| bytes > 0).into()
}

/// The memory this process may use, and the limit that makes it less than all of it.
pub(super) fn usable(
    total: Fact<u64>,
    limit: Option<&cgroup::Limit<u64>>,
) -> (Fact<u64>, Option<MemoryLimit>) {
    match (total, limit) {
        (Fact::Known(total), Some(limit)) if limit.value >= total => (Fact::Known(total), None),
        (_, Some(limit)) => (
            Fact::Known(limit.value),
            Some(MemoryLimit {
                bytes: limit.value,
                source: limit.source.clone(),
            }),
        ),
        (total, None) => (total, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_counts_only_below_the_total() {
        let limit = |value| cgroup::Limit {
            value,
            source: PathBuf::from("/c/memory.max"),
        };
        let all = Fact::Known(100);
        let (usable_bytes, by) = usable(all, Some(&limit(40)));
        assert_eq!(usable_bytes, Fact::Known(40));
        assert_eq!(by.map(|l| l.source), Some(PathBuf::from("/c/memory.max")));
        assert_eq!(usable(all, Some(&limit(100))), (all, None));
        assert_eq!(usable(all, None), (all, None));
        assert_eq!(usable(Fact::Unknown, None), (Fact::Unknown, None));
        assert_eq!(usable(Fact::Unknown, Some(&limit(40))).0, Fact::Known(40));
    }
}
