//! What is read of the machine, below roots that are made up.

use std::fs;

use breakeven_profile::machine::{affinity, cpu, parallelism};
use breakeven_profile::profile::Cpu;

mod cgroup;

#[test]
fn cpu_lists_are_counted() {
    let root = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir_all(root.path().join("proc/self")).expect("a directory");
    let count = |list: &str| {
        let status = format!("Name:\tx\nCpus_allowed_list:\t{list}\n");
        fs::write(root.path().join("proc/self/status"), status).expect("a file");
        affinity(root.path(), usize::MAX)
    };
    assert_eq!(count("0-1"), 2);
    assert_eq!(count("0-3,8,10-11"), 7);
    assert_eq!(count("5"), 1);
    for damaged in ["", "a", "3-1", "0-", "0-18446744073709551615"] {
        assert_eq!(count(damaged), parallelism(), "{damaged}");
    }
}

#[test]
fn affinity_is_read_below_the_root_and_bounded_by_the_machine() {
    let root = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir_all(root.path().join("proc/self")).expect("a directory");
    let status = root.path().join("proc/self/status");
    fs::write(&status, "Cpus_allowed_list:\t0-127\n").expect("a file");
    assert_eq!(affinity(root.path(), 4), 4);
    fs::write(&status, "Cpus_allowed_list:\t2\n").expect("a file");
    assert_eq!(affinity(root.path(), 4), 1);
}

#[test]
fn the_processor_and_the_memory_are_read_below_the_root() {
    let root = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir_all(root.path().join("proc/self")).expect("a directory");
    let write = |file: &str, text: &str| fs::write(root.path().join(file), text);
    let core = "processor\t: 0\nmodel name\t: Example CPU 9000\n\n";
    write("proc/cpuinfo", &core.repeat(4)).expect("a file");
    write("proc/meminfo", "MemTotal:  16 kB\nMemFree:  8 kB\n").expect("a file");
    write("proc/self/status", "Cpus_allowed_list:\t0-2\n").expect("a file");
    let expected = Cpu {
        model: Some("Example CPU 9000".to_owned()),
        logical_cores: Some(4),
        usable_cores: Some(3.0),
        memory_bytes: Some(16_384),
        usable_memory_bytes: Some(16_384),
        ..Cpu::default()
    };
    assert_eq!(cpu(root.path()), expected);
    let nothing = tempfile::tempdir().expect("a temporary directory");
    let unknown = cpu(nothing.path());
    assert_eq!((unknown.model, unknown.memory_bytes), (None, None));
    assert_eq!(unknown.logical_cores, Some(parallelism() as u64));
}
