//! The limits of made-up hierarchies, as the kernel and container engines lay them out.

use std::fs;

use breakeven_profile::machine::cgroup::{Limits, limits};
use tempfile::TempDir;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    root
}

const V2_MOUNT: &str = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

#[test]
fn nested_limits_count_and_the_tightest_wins() {
    let root = tree(&[
        ("proc/self/cgroup", "0::/user.slice/job/leaf\n"),
        ("proc/self/mountinfo", V2_MOUNT),
        ("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/user.slice/memory.max", "1000000\n"),
        ("sys/fs/cgroup/user.slice/memory.current", "900000\n"),
        (
            "sys/fs/cgroup/user.slice/memory.stat",
            "anon 5\ninactive_file 200000\n",
        ),
        ("sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n"),
        (
            "sys/fs/cgroup/user.slice/job/leaf/cpu.max",
            "400000 100000\n",
        ),
        ("sys/fs/cgroup/user.slice/job/leaf/memory.max", "2000000\n"),
        ("sys/fs/cgroup/user.slice/job/leaf/memory.current", "1000\n"),
    ]);
    let limits = limits(root.path());
    let source = |file| root.path().join("sys/fs/cgroup/user.slice").join(file);
    let cores = limits.cpu_cores.map(|limit| (limit.value, limit.source));
    assert_eq!(cores, Some((1.5, source("job/cpu.max"))));
    let memory = limits.memory_bytes.map(|limit| (limit.value, limit.source));
    assert_eq!(memory, Some((1_000_000, source("memory.max"))));
    assert_eq!(limits.memory_left_bytes, Some(300_000));
}

#[test]
fn a_container_whose_own_path_is_not_mounted_reads_the_mount() {
    for path in ["0::/docker/0123\n", "0::/../../outside\n", "0::/\n"] {
        let root = tree(&[
            ("proc/self/cgroup", path),
            ("proc/self/mountinfo", V2_MOUNT),
            ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/memory.max", "4096\n"),
            ("sys/outside/cpu.max", "1000 100000\n"),
        ]);
        let limits = limits(root.path());
        assert_eq!(limits.cpu_cores.map(|l| l.value), Some(0.5), "{path}");
        assert_eq!(limits.memory_bytes.map(|l| l.value), Some(4096), "{path}");
        assert_eq!(
            limits.memory_left_bytes, None,
            "the use is not readable: {path}"
        );
    }
}

#[test]
fn a_bare_system_limits_nothing() {
    assert_eq!(limits(tree(&[]).path()), Limits::default());
}
