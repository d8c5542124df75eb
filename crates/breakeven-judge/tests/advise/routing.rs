//! Which device: the rules of thumb, and what measurements make of them.

use breakeven_judge::advise::{EvidenceKind, Rule};
use breakeven_profile::profile::{Evidence as Measured, Operation, Profile};

use super::{
    MS, advice, around, benchmark, break_even, gpu, near, operation, overruled, peak, profile,
    recorded, rules_of, suggestion,
};

fn sized(mut operation: Operation, size: u64) -> Operation {
    operation.size = Some(size);
    operation
}

/// A call of that many ns on the GPU, as a rule of thumb sees it.
fn on_gpu(ns: f64) -> Profile {
    profile(vec![sized(operation("f", "cuda:0", vec![ns; 4]), 100)])
}

/// A call of that many ns on the CPU, with memory.
fn on_cpu(ns: f64) -> Profile {
    let mut f = sized(operation("f", "cpu", vec![ns; 4]), 100);
    f.memory_bytes = Some(1 << 20);
    profile(vec![f])
}

#[test]
fn a_short_gpu_call_may_belong_on_the_cpu() {
    assert_eq!(rules_of(&on_gpu(MS - 1.0)), [Rule::GpuToCpu]);
    assert_eq!(rules_of(&on_gpu(MS)), []);
    let short = suggestion(&on_gpu(MS - 1.0), Rule::GpuToCpu);
    // Nobody measured the CPU, so nothing is promised.
    assert_eq!((short.saved_ms, short.estimated_time_ms), (None, None));
    assert_eq!(short.target_device.as_deref(), Some("cpu"));
    assert!(short.description.contains("rule of thumb: "), "{short:?}");
}

#[test]
fn a_long_cpu_call_with_memory_may_belong_on_a_gpu() {
    assert_eq!(rules_of(&on_cpu(10.0 * MS + 1.0)), [Rule::CpuToGpu]);
    assert_eq!(rules_of(&on_cpu(10.0 * MS)), []);
    let mut without = on_cpu(50.0 * MS);
    without.operations[0].memory_bytes = None;
    assert_eq!(rules_of(&without), []);
    without.operations[0].runs[0].memory_bytes = Some(5);
    assert_eq!(rules_of(&without), [Rule::CpuToGpu]);
}

/// Its memory is that of the process, and nothing of it can be sent to a GPU.
#[test]
fn a_whole_process_has_no_other_device() {
    for mut process in [on_cpu(50.0 * MS), on_gpu(MS - 1.0)] {
        let attributes = &mut process.operations[0].attributes;
        attributes.insert(Operation::EXIT_CODES.to_owned(), vec![0].into());
        assert_eq!(rules_of(&process), []);
    }
}

/// The time of the operations inside an operation is theirs.
#[test]
fn the_time_of_others_inside_it_sends_nothing_to_the_gpu() {
    let mut nested = on_cpu(50.0 * MS);
    nested.operations[0].runs[0].self_ns = Some(4.0 * 9.0 * MS);
    assert_eq!(rules_of(&nested), []);
}

fn both(cpu_ns: f64, gpu_ns: f64) -> Profile {
    let mut cpu = sized(operation("f", "cpu", around(cpu_ns, 20)), 100);
    cpu.memory_bytes = Some(1 << 20);
    profile(vec![
        cpu,
        sized(operation("f", "cuda:0", around(gpu_ns, 20)), 100),
    ])
}

#[test]
fn a_measurement_replaces_the_constants() {
    // Neither rule of thumb would speak: 5 ms on the CPU, 2 ms on the GPU.
    let faster = suggestion(&both(5.0 * MS, 2.0 * MS), Rule::CpuToGpu);
    assert_eq!(faster.target_device.as_deref(), Some("cuda:0"));
    near(faster.potential_speedup.unwrap(), 2.5);
    near(faster.saved_share.unwrap(), 60.0 / 140.0);
    assert!(
        faster
            .description
            .contains("measured: cuda:0 is 2.50 times as fast"),
        "{faster:?}"
    );
    let slower = suggestion(&both(2.0 * MS, 5.0 * MS), Rule::GpuToCpu);
    // The mean of these samples is 0.998 of their median.
    near(slower.saved_ms.unwrap(), 60.0 * 0.998);
    let [least, most] = slower.range_ms.unwrap();
    assert!((55.0..=60.0).contains(&least) && (59.8..65.0).contains(&most));
}

#[test]
fn what_was_measured_slower_is_never_advised() {
    // 20 ms with memory, and a call under 1 ms on the other side.
    let slow_gpu = both(20.0 * MS, 30.0 * MS);
    assert_eq!(rules_of(&slow_gpu), [Rule::GpuToCpu]);
    assert_eq!(overruled(&slow_gpu), [Rule::CpuToGpu]);
    let quick_gpu = both(MS, MS / 2.0);
    assert_eq!(rules_of(&quick_gpu), [Rule::CpuToGpu]);
    assert_eq!(overruled(&quick_gpu), [Rule::GpuToCpu]);
    // The same on both: neither.
    let same = both(20.0 * MS, 20.0 * MS);
    assert_eq!(rules_of(&same), []);
    assert_eq!(overruled(&same), [Rule::CpuToGpu]);
}

#[test]
fn another_size_measures_nothing() {
    let mut profile = benchmark(both(20.0 * MS, 30.0 * MS));
    profile.operations[1].size = Some(99);
    assert_eq!(rules_of(&profile), [Rule::CpuToGpu]);
    assert_eq!(overruled(&profile), []);
}

/// A program that sends small inputs to the one device and large ones to the
/// other has measured nothing of either.
#[test]
fn calls_of_a_program_without_sizes_are_not_compared() {
    let mut profile = both(20.0 * MS, 2.0 * MS);
    for operation in &mut profile.operations {
        operation.size = None;
    }
    assert_eq!(rules_of(&profile), [Rule::CpuToGpu]);
    let profile = recorded(profile);
    assert!(!rules_of(&profile).contains(&Rule::CpuToGpu));
    let evidence = &advice(&profile).overruled[0].evidence;
    assert_eq!(evidence[0].kind, EvidenceKind::NotComparable);
}

#[test]
fn a_software_gpu_is_never_a_target() {
    let mut profile = both(20.0 * MS, 2.0 * MS);
    profile.environment.gpus = vec![gpu("cuda:0", "software")];
    assert_eq!(rules_of(&profile), []);
    assert_eq!(overruled(&profile), [Rule::CpuToGpu]);
    // Nor is it a reason to say nothing where there is another.
    profile.environment.gpus.push(gpu("cuda:1", "discrete"));
    assert_eq!(rules_of(&profile), [Rule::CpuToGpu]);
    assert_eq!(suggestion(&profile, Rule::CpuToGpu).target_device, None);
    // A benchmark ran there to compare.
    let mut slow = both(2.0 * MS, 20.0 * MS);
    slow.environment.gpus = vec![gpu("cuda:0", "software")];
    assert_eq!(rules_of(&slow), []);
    // For a program, leaving it is good advice, and it is called what it is.
    let slow = recorded(slow);
    let leave = suggestion(&slow, Rule::GpuToCpu);
    assert!(leave.software_gpu);
    assert!(leave.description.contains("cuda:0 (software)"), "{leave:?}");
}

#[test]
fn a_break_even_size_decides() {
    // Size 100, under 1 ms on the GPU. From 50 on the GPU pays.
    let mut profile = on_gpu(MS / 2.0);
    profile.evidence = break_even("cuda:0", "cpu", Some(50.0));
    assert_eq!(rules_of(&profile), []);
    assert_eq!(overruled(&profile), [Rule::GpuToCpu]);
    // From 200 on: the CPU is faster here, by nobody knows how much.
    profile.evidence = break_even("cuda:0", "cpu", Some(200.0));
    let below = suggestion(&profile, Rule::GpuToCpu);
    assert_eq!(below.saved_ms, None);
    assert!(
        below
            .description
            .contains("measured: cuda:0 pays over cpu from size 200, this is 100"),
        "{below:?}"
    );
    // It also speaks where the rule of thumb is silent.
    let mut long = on_gpu(50.0 * MS);
    long.evidence = break_even("cuda:0", "cpu", None);
    assert_eq!(rules_of(&long), [Rule::GpuToCpu]);
    // Inside the interval nobody knows.
    profile.evidence.break_even[0].interval = Some([90.0, 300.0]);
    assert_eq!(rules_of(&profile), []);
}

#[test]
fn a_break_even_size_decides_for_the_cpu_too() {
    let mut profile = on_cpu(20.0 * MS);
    profile.evidence = break_even("cuda:0", "cpu", Some(101.0));
    assert_eq!(rules_of(&profile), []);
    assert_eq!(overruled(&profile), [Rule::CpuToGpu]);
    profile.evidence = break_even("cuda:0", "cpu", Some(100.0));
    assert_eq!(
        suggestion(&profile, Rule::CpuToGpu)
            .target_device
            .as_deref(),
        Some("cuda:0")
    );
    // Never up to a size that this one is past: the rule of thumb.
    profile.evidence = break_even("cuda:0", "cpu", None);
    profile.evidence.break_even[0].tested_to = Some(99.0);
    assert_eq!(suggestion(&profile, Rule::CpuToGpu).target_device, None);
    // Told from the other side: the CPU pays from 50 on.
    profile.evidence = break_even("cpu", "cuda:0", Some(50.0));
    assert_eq!(rules_of(&profile), []);
    // A software GPU that pays is none.
    profile.evidence = break_even("cuda:0", "cpu", Some(50.0));
    profile.environment.gpus = vec![gpu("cuda:0", "software")];
    assert_eq!(rules_of(&profile), []);
}

#[test]
fn peaks_overrule_what_cannot_be() {
    // 10 GB/s: 100 MB take the CPU 10 ms, longer than the GPU's call.
    let mut short = on_gpu(MS / 2.0);
    short.evidence.peaks = vec![peak("cpu")];
    short.operations[0].bytes = Some(100_000_000);
    assert_eq!(overruled(&short), [Rule::GpuToCpu]);
    short.operations[0].bytes = Some(1_000);
    assert_eq!(rules_of(&short), [Rule::GpuToCpu]);

    // 1 GB/s to the device: 30 MB take 30 ms, longer than the CPU's call.
    let mut long = on_cpu(20.0 * MS);
    let mut gpu = peak("cuda:0");
    gpu.upload_bytes_per_s = Some(1e9);
    long.evidence = Measured {
        peaks: vec![gpu],
        ..Measured::default()
    };
    long.operations[0].bytes = Some(30_000_000);
    assert_eq!(overruled(&long), [Rule::CpuToGpu]);
    long.operations[0].bytes = Some(3_000_000);
    let maybe = suggestion(&long, Rule::CpuToGpu);
    // 3 ms of transfer and 0.3 ms at the GPU's bandwidth remain of 20 ms, four times.
    assert_eq!(maybe.saved_ms, None);
    let [least, most] = maybe.range_ms.unwrap();
    assert_eq!(least, 0.0);
    near(most, 4.0 * (20.0 - 3.3));
}

/// It said "between 40.0 ms and 40.0 ms".
#[test]
fn a_range_that_prints_as_the_saving_is_not_said() {
    let sides = [("cpu", MS), ("cuda:0", 3.0 * MS)];
    let sides = sides.map(|(device, ns)| sized(operation("f", device, vec![ns; 20]), 100));
    assert_eq!(
        suggestion(&profile(sides.to_vec()), Rule::GpuToCpu).expected_improvement,
        "saves 40.0 ms of 80.0 ms (50.0 %); a call from 3.00 ms to 1.00 ms"
    );
}
