//! One scenario, run by run: `-- one TASKS RATIO LAUNCH SHAPE PARALLEL LOADED`.
use breakeven::plan::{Costs, ExecutionStrategy};
use breakeven::schedule::Tuning;
use breakeven::testing::{Load, Scenario, ScenarioGpu};

use crate::batches::{Shape, TASK_NS, WORKERS};

pub(crate) fn print(tuning: Tuning, args: &[String]) {
    let number = |index: usize| args[index].parse::<f64>().expect("a number");
    let shape = match args[3].as_str() {
        "uniform" => Shape::Uniform,
        "skewed" => Shape::Skewed,
        "onehuge" => Shape::OneHuge,
        "cheap" => Shape::CheapThenDear,
        "dear" => Shape::DearThenCheap,
        "asc" => Shape::Ascending,
        "desc" => Shape::Descending,
        "saw" => Shape::Sawtooth,
        other => Shape::Block(other.parse().expect("a place")),
    };
    let tasks: usize = args[0].parse().expect("a number");
    let costs_of = shape.costs(tasks, 17);
    let mut scenario = Scenario::new(costs_of, WORKERS);
    scenario.cpu_task_ns = TASK_NS;
    scenario.tuning = tuning;
    scenario.parallelization = number(4);
    let task_ns = TASK_NS / WORKERS as f64 / number(1);
    let mut launch_ns = number(2);
    if launch_ns < 1.0 {
        launch_ns *= number(0) / (1.0 / (TASK_NS / WORKERS as f64) + 1.0 / task_ns);
    }
    scenario.gpus = vec![ScenarioGpu {
        task_ns,
        launch_ns,
        ..ScenarioGpu::default()
    }];
    let quiet = scenario.clone();
    if number(5) > 0.0 {
        scenario.cpu_load = Some(Load {
            from_ns: 0.5 * scenario.ideal_ns(),
            times: 2.0,
        });
    }
    println!("ideal {:.0}", scenario.ideal_ns());
    for strategy in [
        "cpu-only",
        "gpu-only",
        "hybrid:20/80",
        "hybrid:50/50",
        "hybrid:80/20",
        "hybrid:95/5",
    ] {
        println!(
            "{strategy} {:.0}",
            scenario
                .run_fixed(strategy.parse().expect("one"))
                .expect("runs")
        );
    }
    let costs = Costs::new();
    for run in 0..24 {
        let which = if run % 4 == 3 { &scenario } else { &quiet };
        let known = costs.lookup("simulated", 10240, &["simulated0"], WORKERS);
        let r = which.run(ExecutionStrategy::Auto, &costs).expect("runs");
        println!(
            "{run} {:.0} {} {:?} {:?} gpu {} in {} cpu spans {} predicted {:?} | cpu {:?} gpu {:?}",
            r.makespan_ns,
            r.decision.strategy,
            r.decision.basis,
            r.decision.probe,
            r.gpu_tasks,
            r.launches,
            r.cpu_spans,
            r.decision
                .candidates
                .iter()
                .map(|c| c.predicted_ns.map(|n| n.round()))
                .collect::<Vec<_>>(),
            known
                .cpu
                .map(|c| (c.fixed_ns.round(), c.per_task_ns.round(), c.observations)),
            known.gpu(0).cost.map(|c| (
                c.fixed_ns.round(),
                c.per_task_ns.round(),
                c.observations,
                c.fewest,
                c.most,
                c.beside
            ))
        );
    }
}
