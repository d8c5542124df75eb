//! What other operations tell of a GPU.

use super::costs_tests::{GPU, look, seen};
use super::{Model, RanOn};

#[test]
fn what_a_launch_costs_is_known_from_other_operations() {
    let mut costs = Model::default();
    let sharpen = |costs: &Model| costs.lookup("sharpen", 64, &[GPU], 4).gpu(0).launch_ns;
    for (second, tasks) in [(1, 10), (2, 10), (3, 10)] {
        // 20 µs a launch, 1 µs a task: of one size, nothing is told.
        costs.observe(
            "blur",
            4096,
            RanOn::Gpu(GPU),
            &seen(second, tasks, 20_000 + 1_000 * tasks),
        );
        assert_eq!(sharpen(&costs), None);
    }
    for (second, tasks) in [(4, 100), (5, 100)] {
        costs.observe(
            "blur",
            4096,
            RanOn::Gpu(GPU),
            &seen(second, tasks, 20_000 + 1_000 * tasks),
        );
    }
    let launch = sharpen(&costs).expect("two sizes tell it");
    assert!((launch / 20_000.0 - 1.0).abs() < 0.01, "{launch}");
    assert_eq!(
        costs
            .lookup("sharpen", 64, &["another"], 4)
            .gpu(0)
            .launch_ns,
        None
    );
    // Who was measured itself knows better.
    assert_eq!(look(&costs).gpu(0).launch_ns, None);
}
