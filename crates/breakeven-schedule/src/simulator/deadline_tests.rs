//! Deadlines over many batches: times of observed batches count, not the means of devices.

use std::time::Duration;

use super::{Scenario, ScenarioGpu, Simulated};
use crate::Fact;
use crate::plan::Model;
use crate::plan::{ExecutionStrategy, Objective, Outcome, Power, Resource};

/// Tasks of which the one at `place` takes as long as `others` of the rest.
fn batch(tasks: usize, place: usize, others: f64) -> Scenario {
    let mut costs = vec![1.0; tasks];
    costs[place] = others;
    let mut scenario = Scenario::new(costs, 8);
    scenario.cpu_task_ns = 50_000.0;
    scenario.cpu_power = Fact::Known(Power {
        busy_watts: 90.0,
        idle_watts: 15.0,
    });
    scenario.gpus = vec![ScenarioGpu {
        launch_ns: 5_000.0,
        task_ns: 50_000.0 / 8.0 / 2.0,
        power: Fact::Known(Power {
            busy_watts: 350.0,
            idle_watts: 30.0,
        }),
        ..ScenarioGpu::default()
    }];
    scenario.ideal()
}

fn within(scenario: &mut Scenario, ns: f64) {
    #[expect(clippy::cast_sign_loss, reason = "a time")]
    let within = Duration::from_nanos(ns as u64);
    let then = Resource::Energy;
    scenario.objective = Objective::Deadline { within, then };
}

#[test]
fn where_all_that_is_known_is_late_other_splits_are_tried_until_one_is_not() {
    let (mut were_late, mut kept, mut all) = (0, 0, 0);
    for place in (25..1_000).step_by(50) {
        let mut scenario = batch(1_000, place, 52.0);
        let splits = (1..20).map(|part| ExecutionStrategy::hybrid(5 * part).expect("a split"));
        let times = splits.map(|split| scenario.run_fixed(split).expect("a split"));
        let deadline = 1.1 * times.fold(f64::INFINITY, f64::min);
        within(&mut scenario, deadline);
        let mut costs = Model::default();
        let run = |_| {
            scenario
                .run(ExecutionStrategy::Auto, &mut costs)
                .expect("a run")
        };
        let runs: Vec<_> = (0..60).map(run).collect();
        let is_late = |run: &Simulated| {
            let aim = run.decision.aim.as_ref();
            aim.is_some_and(|aim| aim.outcome == Outcome::Late)
        };
        were_late += usize::from(runs.iter().any(is_late));
        for run in &runs[40..] {
            all += 1;
            kept += usize::from(run.makespan_ns <= deadline);
        }
    }
    assert!(were_late > 0);
    assert!(kept * 100 >= all * 98, "{kept} of {all}");
}
