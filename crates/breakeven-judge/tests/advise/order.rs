//! The order of the advice, and that no time is promised twice.

use breakeven_judge::advise::{Priority, ProfilerOptimizer, Rule};
use breakeven_profile::profile::{Operation, Profile};
use proptest::prelude::*;

use super::{MS, advice, benchmark, near, operation, peak, profile, recorded, stack};

fn idle(name: &str, ns: f64, gpu_use: f64) -> Operation {
    let mut operation = operation(name, "cuda:0", vec![ns; 10]);
    operation.gpu_use = Some(gpu_use);
    operation
}

#[test]
fn what_saves_most_of_the_whole_comes_first() {
    // A fifth of 100 ms is more than four fifths of 10 ms.
    let profile = benchmark(profile(vec![
        idle("small", MS, 0.1),
        idle("large", 10.0 * MS, 0.4),
        idle("large2", 10.0 * MS, 0.4),
    ]));
    let all = advice(&profile);
    let names: Vec<&str> = all
        .suggestions
        .iter()
        .map(|each| each.operation.as_str())
        .collect();
    assert_eq!(names, ["large", "large2", "small"]);
    near(all.potential_ms, 20.0 + 20.0 + 8.0);
    near(all.total_ms, 210.0);
    assert_eq!(all.suggestions[0].priority, Priority::Medium);
}

#[test]
fn priorities_follow_the_share_of_the_whole() {
    let share = |idle_ns: f64, other_ns: f64| {
        let other = operation("other", "cpu", vec![other_ns; 10]);
        let profile = benchmark(profile(vec![other, idle("f", idle_ns, 0.25)]));
        let optimizer = ProfilerOptimizer::new(&profile);
        let critical = optimizer.get_critical_suggestions().len();
        (optimizer.get_suggestions(1)[0].priority, critical)
    };
    // Half of f goes.
    assert_eq!(share(50.0, 50.0), (Priority::Critical, 1));
    assert_eq!(share(49.0, 51.0), (Priority::High, 0));
    assert_eq!(share(20.0, 80.0), (Priority::High, 0));
    assert_eq!(share(19.0, 81.0), (Priority::Medium, 0));
    assert_eq!(share(4.0, 96.0), (Priority::Medium, 0));
    assert_eq!(share(3.0, 97.0), (Priority::Low, 0));
}

#[test]
fn of_several_suggestions_for_an_operation_the_largest_counts() {
    // Twenty launches of 0.5 ms in calls of 1 ms, on a GPU used by a quarter:
    // 0.475 of the time, and half of it.
    let mut f = idle("f", MS, 0.25);
    f.runs[0].samples_ns = vec![MS; 20];
    let mut profile = recorded(profile(vec![f]));
    let mut gpu = peak("cuda:0");
    gpu.launch_ns = Some(500_000.0);
    profile.evidence.peaks = vec![gpu];
    let all = advice(&profile);
    let [first, second, ..] = &all.suggestions[..] else {
        panic!("{all:?}")
    };
    assert_eq!(
        (first.rule, second.rule),
        (Rule::Parallelization, Rule::Batching)
    );
    near(second.saved_ms.unwrap(), 9.5);
    near(all.potential_ms, 10.0);
}

/// A parent of 10 ms holds a child of 9 ms; both idle by half.
#[test]
fn a_parent_does_not_promise_its_childs_time() {
    let mut profile = recorded(profile(vec![
        idle("parent", 10.0 * MS, 0.25),
        idle("child", 9.0 * MS, 0.25),
    ]));
    profile.stacks = vec![
        stack(&["parent"], 10, 100, 10),
        stack(&["parent", "child"], 10, 90, 90),
    ];
    let all = advice(&profile);
    near(all.total_ms, 100.0);
    near(all.suggestions[0].saved_ms.unwrap(), 45.0);
    near(all.suggestions[1].saved_ms.unwrap(), 5.0);
    // Own times in the runs say the same without call paths.
    profile.stacks.clear();
    profile.operations[0].runs[0].self_ns = Some(10.0 * MS);
    near(advice(&profile).potential_ms, 50.0);
}

#[test]
fn advice_without_an_estimate_comes_last_of_its_priority() {
    let profile = recorded(profile(vec![
        operation("many", "cpu", vec![MS / 2.0; 1_000]),
        idle("idle", MS, 0.4),
    ]));
    let all = advice(&profile).suggestions;
    let found: Vec<_> = all
        .iter()
        .map(|each| (each.rank, each.rule, each.priority))
        .collect();
    // The idle one saves 0.04 % of the time: less than the others might.
    let expected = [
        (1, Rule::Batching, Priority::Medium),
        (2, Rule::Caching, Priority::Medium),
        (3, Rule::Parallelization, Priority::Low),
        (4, Rule::Batching, Priority::Low),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_program_is_not_advised_on_what_hardly_takes_time() {
    let minor = |ns| {
        let other = operation("other", "cpu", vec![99_000.0]);
        recorded(profile(vec![other, operation("f", "cpu", vec![ns; 100])]))
    };
    assert_eq!(advice(&minor(10.0)).suggestions.len(), 2);
    assert_eq!(advice(&minor(9.0)).suggestions.len(), 0);
    assert_eq!(advice(&minor(9.0)).looked_at.minor, 1);
    // The rows of a benchmark were chosen.
    let mut rows = benchmark(minor(9.0));
    rows.environment.recorder = None;
    assert_eq!(advice(&rows).looked_at.operations, 2);
}

/// Each operation against each other would take minutes.
#[test]
fn twenty_thousand_sizes_of_one_operation() {
    let sizes = (1..=20_000_u32).map(|size| {
        let mut f = operation("f", "cpu", vec![f64::from(size * size)]);
        f.size = Some(size.into());
        f
    });
    let all = advice(&profile(sizes.collect()));
    assert_eq!(all.suggestions.len(), 1);
    assert_eq!(all.suggestions[0].rule, Rule::Algorithm);
}

/// Operations with few names, devices and sizes, so that rules meet.
fn any_operation() -> impl Strategy<Value = Operation> {
    let key = (0..4usize, 0..3usize, prop::option::of(0..4u32));
    let times = (prop::collection::vec(1.0..2e7, 1..30), 0..=100u32);
    let facts = (prop::option::of(0.0..1.0), 0..1u64 << 30, 0..1u64 << 30);
    (key, times, facts).prop_map(|((name, device, size), (samples, own), facts)| {
        let name = ["f", "g", "h", "i"][name];
        let mut operation = operation(name, ["cpu", "cuda:0", "cuda:1"][device], samples);
        let total: f64 = operation.samples_ns().sum();
        operation.runs[0].self_ns = Some(total * (f64::from(own) / 100.0));
        operation.size = size.map(|size| 1 << (2 * size));
        operation.gpu_use = facts.0;
        (operation.memory_bytes, operation.bytes) = (Some(facts.1), Some(facts.2));
        operation
    })
}

fn any_profile() -> impl Strategy<Value = Profile> {
    let operations = prop::collection::vec(any_operation(), 0..16);
    (operations, any::<bool>(), any::<bool>()).prop_map(|(mut operations, program, peaks)| {
        let mut keys = std::collections::BTreeSet::new();
        operations.retain(|operation| keys.insert(operation.key()));
        let mut profile = profile(operations);
        if peaks {
            let with_launch = |device| {
                let mut peak = peak(device);
                peak.launch_ns = Some(50_000.0);
                peak
            };
            profile.evidence.peaks = ["cpu", "cuda:0"].map(with_launch).to_vec();
        }
        match program {
            true => recorded(profile),
            false => profile,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn together_they_never_save_more_than_there_is(profile in any_profile()) {
        let all = advice(&profile);
        let parts = all.suggestions.iter().filter_map(|each| each.saved_ms);
        prop_assert!(all.potential_ms <= parts.sum::<f64>() * (1.0 + 1e-12));
        prop_assert!(all.potential_ms <= all.total_ms * (1.0 + 1e-12));
        let mut before = (Priority::Critical, f64::INFINITY);
        for (index, each) in all.suggestions.iter().enumerate() {
            prop_assert_eq!(each.rank, index + 1);
            let saved = each.saved_ms.unwrap_or(-1.0);
            // The lower the priority, the further down; then what saves least.
            prop_assert!(each.priority >= before.0);
            prop_assert!(each.priority > before.0 || saved <= before.1);
            before = (each.priority, saved);
            prop_assert!(saved <= all.potential_ms * (1.0 + 1e-12));
            if let Some([least, most]) = each.range_ms {
                prop_assert!(0.0 <= least && least <= most, "{:?}", each);
            }
        }
    }

    /// Peaks and break-even sizes from anyone's file: zero, negative, absurd.
    #[test]
    fn every_figure_is_a_number(
        profile in any_profile(),
        rates in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 7),
        own in any::<bool>(),
    ) {
        let mut profile = profile;
        for peak in &mut profile.evidence.peaks {
            peak.memory_bytes_per_s = Some(rates[0]);
            peak.flops_per_s = Some(rates[1]);
            peak.launch_ns = Some(rates[2]);
            peak.upload_bytes_per_s = Some(rates[3]);
        }
        profile.evidence.break_even = super::break_even("cuda:0", "cpu", Some(rates[4])).break_even;
        profile.evidence.break_even[0].interval = Some([rates[5], rates[6]]);
        for operation in profile.operations.iter_mut().filter(|_| own) {
            operation.runs[0].self_ns = Some(0.0);
        }
        let all = advice(&profile);
        prop_assert!(all.total_ms.is_finite() && all.potential_ms.is_finite());
        for each in &all.suggestions {
            let figures = [each.saved_ms, each.saved_share, each.estimated_time_ms];
            let ends = each.range_ms.into_iter().flatten();
            for figure in figures.into_iter().flatten().chain(ends) {
                prop_assert!(figure.is_finite() && figure >= 0.0, "{:?}", each);
            }
        }
    }

    #[test]
    fn the_order_of_the_file_does_not_matter(
        (profile, turned) in any_profile().prop_flat_map(|profile| {
            let turned = Just(profile.operations.clone()).prop_shuffle();
            (Just(profile), turned)
        })
    ) {
        let turned = Profile { operations: turned, ..profile.clone() };
        let bytes = |profile: &Profile| {
            let mut bytes = Vec::new();
            ProfilerOptimizer::new(profile).write_suggestions(&mut bytes).unwrap();
            bytes
        };
        prop_assert_eq!(bytes(&profile), bytes(&profile));
        prop_assert_eq!(bytes(&profile), bytes(&turned));
    }
}
