//! A GPU whose pieces overlap is found although a split is the first choice.

use crate::Costs;
use crate::plan::ExecutionStrategy;
use crate::testing::{Scenario, ScenarioGpu};

/// A discrete card whose transfers take as long as its work: alone it is hardly faster than a
/// split, until pieces of the batch overlap.
#[test]
fn a_split_does_not_hide_that_pieces_overlap_on_the_gpu() {
    for (tasks, bytes) in [(4_000, 16_384), (10_000, 16_384)] {
        let mut scenario = Scenario::new(vec![1.0; tasks], 2);
        scenario.cpu_task_ns = 40_000.0;
        scenario.gpus = vec![ScenarioGpu::pcie_discrete(2_000.0, [bytes, bytes])];
        let costs = Costs::new();
        let run = |strategy, costs: &Costs| {
            let run = scenario.run(strategy, costs).expect("a strategy");
            run.makespan_ns
        };
        for _ in 0..10 {
            run(ExecutionStrategy::Auto, &costs);
        }
        let auto: f64 = (0..10).map(|_| run(ExecutionStrategy::Auto, &costs)).sum();
        let alone = Costs::new();
        for _ in 0..10 {
            run(ExecutionStrategy::GpuOnly, &alone);
        }
        let on_gpu: f64 = (0..10)
            .map(|_| run(ExecutionStrategy::GpuOnly, &alone))
            .sum();
        assert!(auto < 1.1 * on_gpu, "{tasks}: {auto} {on_gpu}");
    }
}
