//! Batches in pieces that overlap on a GPU: the gain.

use super::{Scenario, ScenarioGpu};
use crate::plan::{ExecutionStrategy, Model};

/// 100 ms of work, with these fractions for uploads and downloads, and launches of `launch_ns`.
fn scenario(launch_ns: f64, copies: [f64; 2]) -> Scenario {
    let mut scenario = Scenario::new((0..1_000).map(|_| 1.0), 8);
    scenario.cpu_task_ns = 4e7;
    scenario.gpus = vec![ScenarioGpu {
        launch_ns,
        task_ns: 1e5,
        copies,
        ..ScenarioGpu::default()
    }];
    scenario.ideal()
}

/// Times of batches over one launch's, one batch after the other.
fn times(scenario: &Scenario, strategy: ExecutionStrategy) -> Vec<f64> {
    let (mut costs, one) = (Model::default(), scenario.gpus[0].launch_ns + 1e8);
    let run = |seed| {
        let mut scenario = scenario.clone();
        scenario.noise.seed = seed;
        scenario
            .run(strategy, &mut costs)
            .expect("it runs")
            .makespan_ns
            / one
    };
    (0..80).map(run).collect()
}

#[test]
fn three_phases_that_overlap_are_met_in_pieces() {
    for strategy in [ExecutionStrategy::GpuOnly, ExecutionStrategy::Auto] {
        for launch_ns in [5e4, 3e5, 1e6] {
            let times = times(&scenario(launch_ns, [1.0 / 3.0; 2]), strategy);
            let slowest = times[8..].iter().copied().fold(0.0, f64::max);
            assert!(slowest < 1.0 / 1.5, "{strategy} {launch_ns}: {slowest}");
        }
    }
}

#[test]
fn a_device_that_overlaps_nothing_loses_nothing() {
    for launch_ns in [2e4, 3e5, 1e6, 2e7] {
        let times = times(&scenario(launch_ns, [0.0; 2]), ExecutionStrategy::GpuOnly);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let worst = times.into_iter().fold(0.0, f64::max);
        // An occasional trial. Launches of one size do not show that each costs 20 %.
        let most = if launch_ns > 1e6 { 1.2 } else { 1.02 };
        assert!(
            worst <= most && mean <= 1.02,
            "{launch_ns}: {worst}, {mean}"
        );
    }
}

#[test]
fn times_that_vary_do_not_hide_that_pieces_overlap() {
    // Without noise they take 0.37 to 0.49, and batches vary by a tenth.
    for (launch_ns, most) in [(5e4, 0.5), (1e6, 0.6)] {
        let mut scenario = scenario(launch_ns, [1.0 / 3.0; 2]);
        scenario.noise.deviation = 0.1;
        let times = times(&scenario, ExecutionStrategy::GpuOnly);
        let mean = times[8..].iter().sum::<f64>() / times[8..].len() as f64;
        assert!(mean < most, "{launch_ns}: {mean}");
    }
}
