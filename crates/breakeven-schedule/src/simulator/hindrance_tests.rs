//! Devices that hinder each other, in virtual time: what both do at once takes longer.

use super::{Scenario, ScenarioGpu, Simulated};
use crate::plan::ExecutionStrategy;
use crate::plan::Model;

/// A thousand tasks; the GPU alone is `ratio` times as fast as the CPU alone.
fn scenario(ratio: f64, hindrance: f64) -> Scenario {
    let mut scenario = Scenario::new([1.0; 1_000], 8);
    scenario.cpu_task_ns = 50_000.0;
    scenario.gpus = vec![ScenarioGpu {
        launch_ns: 20_000.0,
        task_ns: 6_250.0 / ratio,
        ..ScenarioGpu::default()
    }];
    scenario.hindrance = hindrance;
    scenario.ideal()
}

fn run(scenario: &Scenario, costs: &mut Model) -> Simulated {
    let run = scenario.run(ExecutionStrategy::Auto, costs);
    run.expect("Auto needs nothing")
}

#[test]
fn the_faster_device_is_left_alone_where_a_split_gains_nothing() {
    for (ratio, alone) in [
        (0.25, ExecutionStrategy::CpuOnly),
        (0.5, ExecutionStrategy::CpuOnly),
        (2.0, ExecutionStrategy::GpuOnly),
        (4.0, ExecutionStrategy::GpuOnly),
    ] {
        let (scenario, mut costs) = (scenario(ratio, 2.0), Model::default());
        let best = scenario.run_fixed(alone).expect("a strategy");
        let runs: Vec<_> = (0..30).map(|_| run(&scenario, &mut costs)).collect();
        let shown = runs
            .iter()
            .position(|run| run.decision.orders.gpus_wait_ns > 0.0);
        assert!(shown.is_some_and(|batch| batch < 12), "{ratio}: {shown:?}");
        let (mut sum, mut strays) = (0.0, 0);
        for run in &runs[20..] {
            sum += run.makespan_ns / best;
            strays += usize::from(run.decision.strategy != alone);
        }
        assert!(sum <= 10.6 && strays <= 1, "{ratio}: {sum} {strays}");
    }
}

#[test]
fn devices_that_hinder_each_other_no_longer_share_batches_again() {
    let mut costs = Model::default();
    let hindered = scenario(2.0, 2.0);
    (0..20).for_each(|_| _ = run(&hindered, &mut costs));
    let free = scenario(2.0, 1.0);
    let is_split =
        |run: &Simulated| matches!(run.decision.strategy, ExecutionStrategy::Hybrid { .. });
    let again = (0..100).find(|_| is_split(&run(&free, &mut costs)));
    assert!(again.is_some());
    let later: Vec<_> = (0..5).map(|_| run(&free, &mut costs)).collect();
    assert!(later.iter().all(is_split), "{:?}", later[0].decision);
}

#[test]
fn where_nothing_hinders_anybody_the_look_at_it_costs_little() {
    for ratio in [0.5, 1.0, 4.0, 20.0] {
        let (scenario, mut costs) = (scenario(ratio, 1.0), Model::default());
        let runs: Vec<_> = (0..60).map(|_| run(&scenario, &mut costs)).collect();
        let usual = runs[3].makespan_ns;
        let looks = runs
            .iter()
            .filter(|run| run.decision.orders.gpus_wait_ns > 0.0);
        let looks: Vec<f64> = looks.map(|run| run.makespan_ns / usual).collect();
        assert!(looks.len() <= 5, "{ratio}: {looks:?}");
        assert!(looks.iter().all(|times| *times < 1.1), "{ratio}: {looks:?}");
    }
}
