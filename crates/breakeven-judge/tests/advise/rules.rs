//! The rules beside routing: where each speaks, where it is silent, what
//! overrules it, and what it promises.

use breakeven_judge::advise::Rule;
use breakeven_profile::profile::{Operation, Profile, RecorderCost, Run};

use super::{
    MS, advice, benchmark, gpu, near, operation, overruled, peak, profile, recorded, rules_of,
    stack, suggestion,
};

/// `calls` of that many ns on a GPU that takes 0.2 ms to launch.
fn launches(calls: usize, ns: f64) -> Profile {
    let mut profile = recorded(profile(vec![operation("f", "cuda:0", vec![ns; calls])]));
    let mut gpu = peak("cuda:0");
    gpu.launch_ns = Some(200_000.0);
    profile.evidence.peaks.push(gpu);
    profile
}

#[test]
fn ten_calls_in_sequence_are_worth_a_batch() {
    assert_eq!(rules_of(&launches(10, 2.0 * MS)), [Rule::Batching]);
    assert_eq!(rules_of(&launches(9, 2.0 * MS)), []);
    let batch = suggestion(&launches(10, 2.0 * MS), Rule::Batching);
    // The launch of each call but the first.
    near(batch.saved_ms.unwrap(), 0.2 * 9.0);
    near(batch.estimated_time_ms.unwrap(), 2.0 - 0.18);
    assert!(
        batch
            .description
            .contains("measured: a launch takes 200 µs")
    );
}

#[test]
fn a_launch_is_no_longer_than_the_shortest_call() {
    let mut short = launches(20, MS / 10.0);
    short.operations[0].runs[0].samples_ns[0] = MS / 20.0;
    let batch = suggestion(&short, Rule::Batching);
    near(batch.saved_ms.unwrap(), 0.05 * 19.0);
}

#[test]
fn a_launch_that_hardly_costs_overrules_the_batch() {
    let long = launches(20, 30.0 * MS);
    assert_eq!(rules_of(&long), []);
    assert_eq!(overruled(&long), [Rule::Batching]);
}

#[test]
fn a_launch_nobody_measured_promises_nothing() {
    let mut unknown = launches(11, 2.0 * MS);
    unknown.evidence.peaks.clear();
    let batch = suggestion(&unknown, Rule::Batching);
    assert_eq!((batch.saved_ms, batch.range_ms), (None, None));
    assert_eq!(advice(&unknown).potential_ms, 0.0);
}

#[test]
fn the_iterations_of_a_benchmark_are_neither_batched_nor_cached() {
    let calls = |count| profile(vec![operation("f", "cpu", vec![1_000.0; count])]);
    assert_eq!(
        rules_of(&recorded(calls(100))),
        [Rule::Batching, Rule::Caching]
    );
    assert_eq!(rules_of(&benchmark(calls(100))), []);
    let mut parts = calls(100);
    let phases = &mut parts.operations[0].runs[0].phases_ns;
    phases.insert("kernel".to_owned(), vec![1.0]);
    assert_eq!(rules_of(&parts), []);
    // The parts of an asynchronous function are a recorder's.
    let mut parts = recorded(calls(100));
    let phases = &mut parts.operations[0].runs[0].phases_ns;
    phases.insert("polled".to_owned(), vec![1.0]);
    assert_eq!(rules_of(&parts), [Rule::Batching, Rule::Caching]);
}

/// The five-line file: both speak, and a caveat says what they assume.
#[test]
fn calls_that_may_be_iterations_have_a_caveat() {
    let mut unmarked = launches(100, MS / 2.0);
    unmarked.environment.recorder = None;
    let found = advice(&unmarked);
    let mut rules: Vec<Rule> = found.suggestions.iter().map(|each| each.rule).collect();
    rules.sort();
    assert_eq!(rules, [Rule::GpuToCpu, Rule::Batching, Rule::Caching]);
    let caveats = found.caveats();
    assert!(caveats[0].ends_with("for a benchmark, ignore BATCHING and CACHING."));
}

/// A recorded profile in which `f` is called inside `frame`, 1 ms a call.
fn inside(frame_calls: u64, calls: u64) -> Profile {
    let samples = vec![MS; usize::try_from(calls).unwrap()];
    let mut profile = recorded(profile(vec![operation("f", "cpu", samples)]));
    profile.stacks = vec![
        stack(&["frame"], frame_calls, calls, 0),
        stack(&["frame", "f"], calls, calls, calls),
    ];
    profile
}

#[test]
fn call_paths_show_what_is_a_sequence() {
    assert_eq!(rules_of(&inside(5, 50)), [Rule::Batching]);
    let batch = suggestion(&inside(5, 50), Rule::Batching);
    assert!(
        batch
            .description
            .contains("about 10 times in sequence on cpu, by the call paths"),
        "{batch:?}"
    );
    // Fifty calls, but each in a frame of its own.
    assert_eq!(rules_of(&inside(50, 50)), []);
    assert_eq!(rules_of(&inside(6, 50)), []);
}

#[test]
fn an_operation_that_mostly_calls_others_is_not_a_call_to_batch() {
    let mut profile = launches(20, 2.0 * MS);
    profile.operations[0].runs[0].self_ns = Some(20.0 * MS - 1.0);
    assert_eq!(rules_of(&profile), []);
    profile.operations[0].runs[0].self_ns = Some(20.0 * MS);
    assert_eq!(rules_of(&profile), [Rule::Batching]);
}

#[test]
fn a_hundred_short_calls_may_be_worth_a_cache() {
    let calls = |count, ns| recorded(profile(vec![operation("f", "cpu", vec![ns; count])]));
    let cached = |profile: &Profile| rules_of(profile).contains(&Rule::Caching);
    assert!(cached(&calls(100, MS - 1.0)));
    assert!(!cached(&calls(99, MS - 1.0)));
    assert!(!cached(&calls(100, MS)));
    let cache = suggestion(&calls(100, 10.0), Rule::Caching);
    assert_eq!((cache.saved_ms, cache.range_ms), (None, None));
    // A hundred calls in each of two runs are a hundred, fifty are not.
    let runs = |count| {
        let mut profile = calls(count, 10.0);
        let run = profile.operations[0].runs[0].clone();
        profile.operations[0].runs.push(run);
        profile
    };
    assert!(cached(&runs(100)));
    assert!(!cached(&runs(50)));
}

/// An operation of 20 ms that holds that much, on a CPU of 10 GB/s and 100 GFLOP/s.
fn holding(memory_bytes: u64, bytes: u64, flops: u64) -> Profile {
    let mut f = operation("f", "cpu", vec![20.0 * MS; 3]);
    f.memory_bytes = Some(memory_bytes);
    (f.bytes, f.flops) = (Some(bytes), Some(flops));
    let mut profile = benchmark(profile(vec![f]));
    profile.environment.gpus = vec![gpu("vulkan:0", "software")];
    profile.evidence.peaks = vec![peak("cpu")];
    profile
}

#[test]
fn much_memory_is_worth_a_look() {
    let mb = 1_000_000;
    assert_eq!(rules_of(&holding(100 * mb + 1, 30 * mb, 0)), [Rule::Memory]);
    assert_eq!(rules_of(&holding(100 * mb, 30 * mb, 0)), []);
    // 60 MB take 6 ms at the peak, 10 ms at 60 % of it; now it is 20 ms.
    let memory = suggestion(&holding(200 * mb, 60 * mb, 0), Rule::Memory);
    near(memory.estimated_time_ms.unwrap(), 10.0);
    near(memory.saved_ms.unwrap(), 30.0);
    near(memory.range_ms.unwrap()[1], 42.0);
    // 150 MB: 75 % of the bandwidth, nothing to gain but by fewer bytes.
    let bound = suggestion(&holding(200 * mb, 150 * mb, 0), Rule::Memory);
    assert_eq!(bound.saved_ms, None);
    // 1.5 GFLOP: 75 % of the arithmetic. Memory is not what the time goes to.
    assert_eq!(
        overruled(&holding(200 * mb, mb, 1_500 * mb)),
        [Rule::CpuToGpu, Rule::Memory]
    );
    // Without flops the time may go to arithmetic: no estimate.
    let mut unknown = holding(200 * mb, 60 * mb, 0);
    unknown.operations[0].flops = None;
    assert_eq!(suggestion(&unknown, Rule::Memory).saved_ms, None);
    unknown.evidence.peaks.clear();
    assert_eq!(suggestion(&unknown, Rule::Memory).saved_ms, None);
}

#[test]
fn a_gpu_that_idles_is_worth_more_work() {
    let using = |part: Option<f64>| {
        let mut f = operation("f", "cuda:0", vec![10.0 * MS; 3]);
        f.gpu_use = part;
        benchmark(profile(vec![f]))
    };
    assert_eq!(rules_of(&using(Some(0.499))), [Rule::Parallelization]);
    assert_eq!(rules_of(&using(Some(0.5))), []);
    assert_eq!(rules_of(&using(None)), []);
    // The same work on 50 % instead of 10 % of the units: a fifth of the time.
    let idle = suggestion(&using(Some(0.1)), Rule::Parallelization);
    near(idle.estimated_time_ms.unwrap(), 2.0);
    near(idle.range_ms.unwrap()[1], 27.0);
    assert_eq!(
        suggestion(&using(Some(0.0)), Rule::Parallelization).saved_ms,
        None
    );
    // What is near a peak gains nothing from more units.
    let mut bound = using(Some(0.1));
    bound.evidence.peaks = vec![peak("cuda:0")];
    bound.operations[0].bytes = Some(70_000_000);
    assert_eq!(overruled(&bound), [Rule::Parallelization]);
    // And nothing goes faster than the peak: 50 MB take 5 ms.
    bound.operations[0].bytes = Some(50_000_000);
    let peaked = suggestion(&bound, Rule::Parallelization);
    near(peaked.estimated_time_ms.unwrap(), 5.0);
    // On the CPU the figure means nothing.
    let mut cpu = using(Some(0.1));
    cpu.operations[0].device = "cpu".to_owned();
    assert_eq!(rules_of(&cpu), []);
}

/// `f` at sizes 100 to 1600, with times that grow as size to that power.
fn growing(power: f64) -> Profile {
    let operations = (0..5).map(|step| {
        let size = 100 << step;
        let factor = f64::from(1 << step).powf(power);
        let mut f = Operation::new("f", "cpu");
        f.size = Some(size);
        f.runs = [0.0, 1.0, 2.0]
            .map(|run| Run {
                samples_ns: vec![1e5 * factor + run; 3],
                warmup_ns: vec![1.0],
                ..Run::default()
            })
            .to_vec();
        f
    });
    profile(operations.collect())
}

#[test]
fn time_that_grows_faster_than_the_size_is_a_method_to_look_at() {
    assert_eq!(rules_of(&growing(2.0)), [Rule::Algorithm]);
    assert_eq!(rules_of(&growing(1.25)), [Rule::Algorithm]);
    assert_eq!(rules_of(&growing(1.15)), []);
    assert_eq!(rules_of(&growing(1.0)), []);
    let square = suggestion(&growing(2.0), Rule::Algorithm);
    // Spoken once, at the size that takes most: 16² · 0.1 ms a call, linear 1.6 ms.
    assert_eq!(square.size, Some(1600));
    assert!(
        (square.estimated_time_ms.unwrap() - 1.6).abs() < 0.01,
        "{square:?}"
    );
    // Nine calls of that size.
    assert!(
        (square.saved_ms.unwrap() - 9.0 * 24.0).abs() < 0.1,
        "{square:?}"
    );
}

#[test]
fn few_or_near_sizes_show_no_growth() {
    let mut two = growing(2.0);
    two.operations.truncate(2);
    assert_eq!(rules_of(&two), []);
    let mut near_ones = growing(2.0);
    near_ones.operations.truncate(3);
    assert_eq!(rules_of(&near_ones), [Rule::Algorithm]);
    near_ones.operations[2].size = Some(399);
    assert_eq!(rules_of(&near_ones), []);
}

#[test]
fn work_that_grows_as_fast_overrules_the_method() {
    let mut product = growing(1.5);
    for operation in &mut product.operations {
        let n = operation.size.unwrap();
        operation.flops = Some(n.pow(3).isqrt());
        operation.bytes = Some(n);
    }
    assert_eq!(rules_of(&product), []);
    assert_eq!(overruled(&product), [Rule::Algorithm]);
    // Only the bytes are known: it grows faster than they do.
    for operation in &mut product.operations {
        operation.flops = None;
    }
    assert_eq!(rules_of(&product), [Rule::Algorithm]);
    // A larger input that leaves the cache takes longer by itself.
    let mut peaks = peak("cpu");
    peaks.memory = [100, 200, 400, 800, 1600]
        .map(|set| breakeven_profile::profile::Bandwidth {
            working_set_bytes: set,
            bytes_per_s: 1e12 / (set as f64).sqrt(),
        })
        .to_vec();
    product.evidence.peaks = vec![peaks];
    assert_eq!(rules_of(&product), []);
    assert_eq!(overruled(&product), [Rule::Algorithm]);
}

#[test]
fn what_is_mostly_recording_or_failed_gets_no_advice() {
    let mut recording = recorded(profile(vec![operation("f", "cpu", vec![100.0; 200])]));
    let cost = |inside_ns| RecorderCost {
        guard_ns: 2.0 * inside_ns,
        inside_ns,
    };
    recording.environment.recorder = Some(cost(50.0));
    assert_eq!(rules_of(&recording).len(), 2);
    recording.environment.recorder = Some(cost(50.1));
    assert_eq!(rules_of(&recording), []);
    assert_eq!(advice(&recording).looked_at.recording, 1);

    let mut failed = launches(20, 2.0 * MS);
    failed.operations[0].failure = Some(breakeven_profile::profile::Failure {
        kind: "device lost".to_owned(),
        message: "gone".to_owned(),
    });
    assert_eq!(rules_of(&failed), []);
    assert_eq!(advice(&failed).looked_at.failed, 1);
    let empty = profile(vec![
        Operation::new("f", "cpu"),
        operation("g", "cpu", vec![0.0]),
    ]);
    assert_eq!(advice(&empty).looked_at.without_time, 2);
}
