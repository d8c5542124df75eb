//! Temporary.
use breakeven::plan::{Costs, ExecutionStrategy};
use breakeven::schedule::Tuning;

use crate::batches::run;
use crate::foresight::{least, times};
use crate::regret::{grid, half_way};

pub(crate) fn print(tuning: Tuning, tasks: &[usize]) {
    for point in grid(tuning, tasks) {
        let mut scenario = point.quiet.clone();
        if point.is_loaded {
            scenario.cpu_load = half_way(&scenario);
        }
        let oracle = least(&times(&scenario));
        let cold = scenario.run(ExecutionStrategy::Auto, &Costs::new()).unwrap();
        let costs = Costs::new();
        for _ in 0..20 {
            let _ = run(&point.quiet, ExecutionStrategy::Auto, &costs);
        }
        let mut warm = 0.0;
        let mut last = None;
        for _ in 0..5 {
            let r = scenario.run(ExecutionStrategy::Auto, &costs).unwrap();
            warm += (r.makespan_ns / oracle - 1.0).max(0.0) / 5.0;
            last = Some(r);
            for _ in 0..3 {
                let _ = run(&point.quiet, ExecutionStrategy::Auto, &costs);
            }
        }
        let last = last.unwrap();
        println!(
            "POINT {:?} ratio {:?} launch {} par {} loaded {} tasks {} warm {:.1} cold {:.1} last {:?}/{:?} gpu {} launches {} spans {} | cold gpu {} launches {} spans {}",
            point.shape, point.quiet.gpus[0].task_ns, point.quiet.gpus[0].launch_ns, point.quiet.parallelization, point.is_loaded, point.quiet.tasks(),
            100.0 * warm, 100.0 * (cold.makespan_ns / oracle - 1.0),
            last.decision.strategy, last.decision.basis, last.gpu_tasks, last.launches, last.cpu_spans,
            cold.gpu_tasks, cold.launches, cold.cpu_spans,
        );
    }
}
