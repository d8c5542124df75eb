//! Points of the simulator's grid, run for real: one worker and the simulated
//! GPU, whose host thread has a core of its own.

use std::sync::Arc;
use std::time::Duration;

use breakeven::Costs;
use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::plan::ExecutionStrategy;
use breakeven::profile::recorder::Clock;
use breakeven::testing::{Scenario, ScenarioGpu};
use breakeven::testing::{SimulatedGpu, SimulatedSpec};
use breakeven_schedule::plan::Model;
use rayon::ThreadPoolBuilder;

use crate::metric::metric;
use crate::samples::Samples;
use crate::spin::{spin, steps_of};

/// Time of a task on the worker.
const TASK: Duration = Duration::from_micros(20);

/// A GPU's rate over the worker's, and its launch.
const DEVICES: [(f64, u64); 3] = [(0.5, 50), (2.0, 50), (10.0, 500)];

const TASKS: [u64; 2] = [100, 2_000];

/// Batches until a cost model is warm.
const WARM: usize = 8;

pub(crate) fn real(quick: bool) {
    let rounds = if quick { 3 } else { 15 };
    let pool = ThreadPoolBuilder::new().num_threads(1).build();
    let cpu = Arc::new(RayonCpu::with_pool(Arc::new(pool.expect("a pool of one"))));
    let (mut cold_ratios, mut warm_ratios) = (Vec::new(), Vec::new());
    for (number, (ratio, launch)) in DEVICES.into_iter().enumerate() {
        for tasks in TASKS {
            let launch = Duration::from_micros(launch);
            let on_gpu = TASK.div_f64(ratio);
            let mut scenario = Scenario::new((0..tasks).map(|_| 1.0), 1);
            scenario.cpu_task_ns = TASK.as_nanos() as f64;
            scenario.gpus = vec![ScenarioGpu {
                task_ns: on_gpu.as_nanos() as f64,
                launch_ns: launch.as_nanos() as f64,
                ..ScenarioGpu::default()
            }];
            let [cold, warm] = simulated(&scenario);
            let spec = SimulatedSpec {
                name: format!("real {number}"),
                ..SimulatedSpec::new(launch, on_gpu)
            };
            let [really_cold, really_warm] = really(&cpu, &spec, tasks, rounds);
            let point = format!("{tasks}/{ratio}:1/{}us", launch.as_micros());
            metric(
                &format!("real_vs_simulated/{point}/cold"),
                really_cold / cold,
                "",
            );
            metric(
                &format!("real_vs_simulated/{point}/warm"),
                really_warm / warm,
                "",
            );
            cold_ratios.push(really_cold / cold);
            warm_ratios.push(really_warm / warm);
        }
    }
    for (name, ratios) in [("cold", cold_ratios), ("warm", warm_ratios)] {
        let median = breakeven::profile::stats::median(&ratios).expect("there are points");
        metric(&format!("real_vs_simulated_median/{name}"), median, "");
    }
}

/// The first batch and a later one in virtual time, ns.
fn simulated(scenario: &Scenario) -> [f64; 2] {
    let mut model = Model::default();
    let mut run = || {
        let run = scenario.run(ExecutionStrategy::Auto, &mut model);
        run.expect("Auto can be decided").makespan_ns
    };
    let cold = run();
    (1..WARM).for_each(|_| _ = run());
    [cold, run()]
}

/// The same for real: medians of several, each with a cost model of its own.
fn really(cpu: &Arc<RayonCpu>, spec: &SimulatedSpec, tasks: u64, rounds: usize) -> [f64; 2] {
    let clock = Clock::new();
    let steps = steps_of(TASK);
    let inputs: Vec<u64> = (0..tasks).collect();
    let (mut cold, mut warm) = (Samples::default(), Samples::default());
    for _ in 0..rounds {
        // Its outputs are not the CPU's: computing those would take the other core.
        let gpu = SimulatedGpu::new(spec.clone(), |task: &u64| *task);
        let manager =
            StrategyManager::new(Arc::clone(cpu), Arc::new(gpu)).with_costs(Arc::new(Costs::new()));
        let run = |samples: &mut Samples| {
            let batch = manager.operation("real");
            let result = samples.time(&clock, || {
                batch.execute(&inputs, |task| Ok::<_, ()>(spin(steps, *task)))
            });
            assert!(result.is_ok());
        };
        run(&mut cold);
        (1..WARM).for_each(|_| run(&mut Samples::default()));
        run(&mut warm);
    }
    [cold.median(), warm.median()]
}
