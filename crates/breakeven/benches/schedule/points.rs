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
        let other = crate::regret::another_size(&point);
        let costs2 = Costs::new();
        for _ in 0..20 {
            let _ = run(&point.quiet, ExecutionStrategy::Auto, &costs2);
        }
        let second = other.run(ExecutionStrategy::Auto, &costs2).unwrap();
        let o2 = least(&times(&other));
        let stated = crate::regret::run_stated(&scenario, point.number);
        println!("SECOND {:?} launch {} par {} loaded {} tasks {}->{} mem {} regret {:.1} {} {:?} {:?} gpu {} {} cpu {} pred {:?} oracle {:?} | cpu {} gpu {} | stated {:.1}",
            point.quiet.gpus[0].task_ns, point.quiet.gpus[0].launch_ns, point.quiet.parallelization, point.is_loaded, point.quiet.tasks(), other.tasks(), other.memory_per_task,
            100.0 * (second.makespan_ns / o2 - 1.0).max(0.0), second.decision.strategy, second.decision.basis, second.decision.probe, second.gpu_tasks, second.launches, second.cpu_spans,
            second.decision.candidates.iter().map(|c| c.predicted_ns.unwrap_or(0.0).round()).collect::<Vec<_>>(), o2,
            other.run_fixed(ExecutionStrategy::CpuOnly).unwrap(), other.run_fixed(ExecutionStrategy::GpuOnly).unwrap(),
            100.0 * (stated / oracle - 1.0).max(0.0));
        println!(
            "POINT {:?} ratio {:?} launch {} par {} loaded {} tasks {} warm {:.1} cold {:.1} last {:?}/{:?} gpu {} launches {} spans {} | cold gpu {} launches {} spans {}",
            point.shape, point.quiet.gpus[0].task_ns, point.quiet.gpus[0].launch_ns, point.quiet.parallelization, point.is_loaded, point.quiet.tasks(),
            100.0 * warm, 100.0 * (cold.makespan_ns / oracle - 1.0),
            last.decision.strategy, last.decision.basis, last.gpu_tasks, last.launches, last.cpu_spans,
            cold.gpu_tasks, cold.launches, cold.cpu_spans,
        );
    }
}
