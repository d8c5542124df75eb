//! What advice was worth.

use breakeven_judge::advise::{Followed, Outcome, Rule, realised};
use breakeven_profile::profile::{Operation, Profile, Run};

use super::{MS, benchmark, near, operation, peak, profile, recorded};

/// An operation of five runs of `calls`, with medians around `ns` that differ a little.
fn runs(name: &str, device: &str, calls: usize, ns: f64) -> Operation {
    let mut operation = Operation::new(name, device);
    operation.runs = [98.0, 99.0, 100.0, 101.0, 102.0]
        .map(|percent| Run {
            samples_ns: vec![ns * percent / 100.0; calls],
            ..Run::default()
        })
        .to_vec();
    operation
}

fn launching(calls: usize, ns: f64) -> Profile {
    let mut profile = recorded(profile(vec![runs("f", "cuda:0", calls, ns)]));
    let mut gpu = peak("cuda:0");
    gpu.launch_ns = Some(200_000.0);
    profile.evidence.peaks = vec![gpu];
    profile
}

#[track_caller]
fn outcome(before: &Profile, after: &Profile, rule: Rule) -> Outcome {
    let all = realised(before, after, None).unwrap().outcomes;
    let mut found = all.into_iter().filter(|each| each.rule == rule);
    found.next().unwrap_or_else(|| panic!("no {rule}"))
}

#[test]
fn a_batch_is_followed_when_the_calls_fall() {
    let before = launching(100, 2.0 * MS);
    // Ten times the work in each of ten calls, less nine launches of ten.
    let mut after = launching(10, 18.0 * MS + MS / 5.0);
    after.operations[0].size = Some(10);
    let batch = outcome(&before, &after, Rule::Batching);
    assert_eq!(batch.followed, Followed::Yes);
    assert_eq!(batch.sign, "100 calls a run, now 10");
    near(batch.predicted_ms.unwrap(), 0.2 * 99.0 * 5.0);
    // A run took 200 ms and takes 182.
    near(batch.realised_ms.unwrap(), 5.0 * 18.0);
    let [least, most] = batch.realised_range_ms.unwrap();
    assert!(least < 90.0 && 90.0 < most, "{least} to {most}");
    let same = outcome(&before, &before, Rule::Batching);
    assert_eq!((same.followed, same.realised_ms), (Followed::No, None));
    let fewer = outcome(&before, &launching(51, 2.0 * MS), Rule::Batching);
    assert_eq!(fewer.followed, Followed::No);
    // A tenth of the calls, each as long as before: that was no batch.
    let shorter = outcome(&before, &launching(10, 2.0 * MS), Rule::Batching);
    assert_eq!(shorter.followed, Followed::No);
    let gone = outcome(&before, &recorded(profile(vec![])), Rule::Batching);
    assert_eq!(gone.followed, Followed::Unknown);
}

fn on(device: &str, ns: f64) -> Profile {
    let mut f = runs("f", device, 5, ns);
    f.memory_bytes = Some(1 << 20);
    recorded(profile(vec![f]))
}

#[test]
fn routing_is_followed_when_the_device_changes() {
    let moved = outcome(
        &on("cpu", 20.0 * MS),
        &on("cuda:0", 5.0 * MS),
        Rule::CpuToGpu,
    );
    assert_eq!(moved.followed, Followed::Yes);
    // A rule of thumb promised nothing, and gained three quarters of 25 calls.
    assert_eq!(moved.predicted_ms, None);
    near(moved.realised_ms.unwrap(), 25.0 * 15.0);
    let stayed = outcome(&on("cpu", 20.0 * MS), &on("cpu", 20.0 * MS), Rule::CpuToGpu);
    assert_eq!(stayed.followed, Followed::No);
    // What made it worse is told as such.
    let worse = outcome(
        &on("cpu", 20.0 * MS),
        &on("cuda:0", 30.0 * MS),
        Rule::CpuToGpu,
    );
    near(worse.realised_ms.unwrap(), -250.0);
    let back = outcome(
        &on("cuda:0", MS / 2.0),
        &on("cpu", MS / 4.0),
        Rule::GpuToCpu,
    );
    assert_eq!(back.followed, Followed::Yes);
    let measured = benchmark(on("cuda:0", 5.0 * MS));
    let mut both = measured.clone();
    both.environment.recorder = None;
    both.operations.push(runs("f", "cpu", 5, 20.0 * MS));
    let unknown = outcome(&on("cpu", 20.0 * MS), &both, Rule::CpuToGpu);
    assert_eq!(unknown.followed, Followed::Unknown);
}

#[test]
fn memory_use_and_growth_are_followed_by_their_own_figures() {
    let holding = |bytes, ns| {
        let mut profile = on("cpu", ns);
        profile.operations[0].memory_bytes = Some(bytes);
        profile
    };
    let before = holding(400_000_000, 20.0 * MS);
    let memory = |bytes| outcome(&before, &holding(bytes, 10.0 * MS), Rule::Memory).followed;
    assert_eq!(memory(360_000_000), Followed::Yes);
    assert_eq!(memory(361_000_000), Followed::No);

    let using = |part, ns| {
        let mut profile = on("cuda:0", ns);
        profile.operations[0].gpu_use = part;
        profile
    };
    let used = |part| {
        let after = using(part, 10.0 * MS);
        outcome(&using(Some(0.2), 20.0 * MS), &after, Rule::Parallelization).followed
    };
    assert_eq!(used(Some(0.4)), Followed::Yes);
    assert_eq!(used(Some(0.2)), Followed::No);
    assert_eq!(used(None), Followed::Unknown);

    let growing = |power| {
        let sizes = [1, 2, 4, 8].map(|size: u32| {
            let mut f = runs("f", "cpu", 2, MS * f64::from(size.pow(power)));
            f.size = Some(size.into());
            f
        });
        recorded(profile(sizes.to_vec()))
    };
    let method = outcome(&growing(2), &growing(1), Rule::Algorithm);
    assert_eq!(method.followed, Followed::Yes);
    // Ten calls of each size: 85 ms · 10 before, 15 ms · 10 after.
    near(method.realised_ms.unwrap(), 700.0);
    assert_eq!(
        outcome(&growing(2), &growing(2), Rule::Algorithm).followed,
        Followed::No
    );
}

#[test]
fn a_cache_is_followed_by_fewer_calls_or_shorter_ones() {
    let calls = |count, ns| recorded(profile(vec![runs("f", "cpu", count, ns)]));
    let cache = |after| outcome(&calls(200, 10_000.0), &after, Rule::Caching);
    let fewer = cache(calls(100, 10_000.0));
    assert_eq!(fewer.followed, Followed::Yes);
    // A tenth of the calls, each ten times as long: a batch.
    assert_eq!(cache(calls(20, 100_000.0)).followed, Followed::No);
    let shorter = cache(calls(200, 5_000.0));
    assert_eq!(shorter.followed, Followed::Yes);
    assert_eq!(shorter.sign, "its calls became clearly shorter");
    assert_eq!(cache(calls(200, 9_950.0)).followed, Followed::No);
}

#[test]
fn one_run_a_side_has_no_interval_unless_the_noise_is_known() {
    let one = |ns| {
        let mut f = operation("f", "cuda:0", vec![ns; 5]);
        f.gpu_use = Some(if ns > 10.0 * MS { 0.2 } else { 0.4 });
        recorded(profile(vec![f]))
    };
    let (before, after) = (one(20.0 * MS), one(10.0 * MS));
    let pair = |noise| realised(&before, &after, noise).unwrap().outcomes.remove(0);
    near(pair(None).realised_ms.unwrap(), 50.0);
    assert_eq!(pair(None).realised_range_ms, None);
    let [least, most] = pair(Some(0.02)).realised_range_ms.unwrap();
    assert!((47.0..49.0).contains(&least) && (51.0..53.0).contains(&most));
    assert!(realised(&before, &after, Some(-1.0)).is_err());
}

/// Half the time, half the memory, more of the GPU: one gain, shared.
#[test]
fn what_one_operation_gained_is_shared() {
    let using = |part, bytes, ns| {
        let mut profile = on("cuda:0", ns);
        let f = &mut profile.operations[0];
        (f.gpu_use, f.memory_bytes) = (Some(part), Some(bytes));
        profile
    };
    let before = using(0.2, 400_000_000, 20.0 * MS);
    let all = realised(&before, &using(0.4, 200_000_000, 10.0 * MS), None).unwrap();
    let sum: f64 = all
        .outcomes
        .iter()
        .filter_map(|each| each.realised_ms)
        .sum();
    assert_eq!(all.outcomes.len(), 2);
    near(sum, 250.0);
    near(all.before_ms - all.after_ms, 250.0);
}

#[test]
fn what_else_changed_is_said() {
    let built = |how: &str| {
        let mut profile = on("cpu", 20.0 * MS);
        profile.environment.build_profile = Some(how.to_owned());
        profile
    };
    let warnings = |after: &Profile| realised(&built("debug"), after, None).unwrap().warnings;
    assert_eq!(warnings(&built("debug")), [""; 0]);
    assert_eq!(warnings(&built("release")).len(), 1);
}
