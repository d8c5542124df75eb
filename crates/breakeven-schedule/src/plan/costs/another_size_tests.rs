//! What one size of task shows about another, and one device about another.

use super::costs_tests::{GPU, gpu, look, on_cpu, on_gpu, seen};
use super::{Cost, Model, Observation, OperationCosts, RanOn};

fn larger(costs: &Model) -> OperationCosts {
    costs.lookup("blur", 8 * 4096, &[GPU], 4)
}

#[test]
fn a_device_of_which_nothing_is_known_at_a_size_is_like_at_the_nearest_one() {
    let mut costs = Model::default();
    for tasks in [100, 200, 400] {
        on_cpu(&mut costs, seen(tasks, tasks, 10_000 * tasks));
        on_gpu(&mut costs, seen(tasks, tasks, 20_000 + 1_000 * tasks));
    }
    let before = larger(&costs);
    let seen = seen(500, 100, 1_000_000);
    costs.observe("blur", 8 * 4096, RanOn::Gpu(GPU), &seen);
    let after = larger(&costs);
    assert_eq!(after.cpu, before.cpu);
    let cost = after.gpu(0).cost.expect("it was observed");
    assert_eq!((cost.observations, cost.scale), (1, 1.0));
}

#[test]
fn a_launch_that_was_taken_back_is_no_launch_without_tasks() {
    let mut costs = Model::default();
    for (second, tasks) in [(1, 1), (2, 5)] {
        // As long as it was waited for, whatever its tasks.
        let seen = seen(second, tasks, 500_000);
        costs.observe_or_recall("blur", 4096, RanOn::Gpu(GPU), &seen, true);
    }
    assert!(gpu(&costs).is_bound);
    let larger = larger(&costs).gpu(0).cost.expect("a size like it was seen");
    let times = larger.predict_ns(5) / gpu(&costs).predict_ns(5);
    assert!((times - 8.0).abs() < 0.01, "{larger:?}");
    // A launch that ended shows more.
    on_gpu(&mut costs, seen(3, 5, 600_000));
    assert!(!gpu(&costs).is_bound);
}

#[test]
fn what_a_launch_of_one_size_took_beyond_its_tasks_on_a_worker_is_mostly_the_launchs() {
    let mut costs = Model::default();
    // A millisecond for two tasks, each of which takes a worker 10 µs.
    on_gpu(&mut costs, seen(1, 2, 1_000_000));
    let unknown = gpu(&costs);
    on_cpu(&mut costs, seen(2, 400, 1_000_000));
    let known = gpu(&costs);
    let took = |cost: Cost| cost.predict_ns(2);
    assert!(
        (took(known) / took(unknown) - 1.0).abs() < 1e-9,
        "{known:?}"
    );
    assert!(
        unknown.per_task_ns > 200_000.0 && known.per_task_ns < 31_000.0,
        "{known:?}"
    );
    // Launches of two sizes show it themselves.
    on_gpu(&mut costs, seen(3, 20, 10_000_000));
    assert!(
        look(&costs)
            .gpu(0)
            .cost
            .is_some_and(|cost| cost.per_task_ns > 400_000.0)
    );
}

#[test]
fn moving_the_data_of_the_tasks_is_not_the_launchs() {
    let mut costs = Model::default();
    // Of a millisecond for two tasks, 100 µs moved the data of each.
    let moved = Observation {
        transfer_ns: Some(200_000),
        ..seen(1, 2, 1_000_000)
    };
    on_gpu(&mut costs, moved);
    // A worker needs 10 µs for one.
    on_cpu(&mut costs, seen(2, 400, 1_000_000));
    let beside = gpu(&costs);
    assert_eq!(
        (beside.per_task_ns, beside.fixed_ns),
        (100_000.0, 800_000.0)
    );
    let known = look(&costs).with_reported_launches([Some(1e9)]).gpu(0).cost;
    let known = known.expect("it was observed");
    assert_eq!((known.per_task_ns, known.fixed_ns), (100_000.0, 800_000.0));
}
