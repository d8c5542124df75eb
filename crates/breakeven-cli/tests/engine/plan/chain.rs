//! Where the stages of a chain should run.

use breakeven::Costs;
use breakeven_profile::profile::Peak;

use crate::command::{directory, line};

#[test]
fn what_follows_from_peaks_is_heuristic() {
    let directory = directory();
    let (costs, _) = Costs::load(&directory.path().join("costs.json"));
    let peak = Peak {
        device: "cpu".to_owned(),
        memory_bytes_per_s: Some(20e9),
        flops_per_s: Some(1e12),
        ..Peak::default()
    };
    costs.keep_peaks(&[peak]).unwrap();
    let plan = line("plan --chain conv2d,pixel_entropy --format json")
        .env("BREAKEVEN_CACHE_DIR", directory.path())
        .run();
    let plan = plan.quietly(0).json();
    for stage in plan["placement"]["stages"].as_array().unwrap() {
        assert_eq!(stage["time"]["observations"], 0, "{plan:#}");
        assert_eq!(stage["time"]["evidence"], "heuristic", "{plan:#}");
    }
}
