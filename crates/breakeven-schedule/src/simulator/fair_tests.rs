//! Two processes that use one GPU at the same time, in virtual time: each has its own cores and
//! cost model, and learns of the other process only from the times of its launches.

use super::{Load, Scenario, ScenarioGpu, Simulated};
use crate::plan::ExecutionStrategy;
use crate::plan::Model;

const TASKS: usize = 2_000;
const WORKERS: usize = 8;

/// A task on the GPU takes an eighth of one on a worker: alone they share the work equally.
const ON_GPU_NS: f64 = 6_250.0;

/// A batch while another process uses the GPU for that fraction of the time: a driver that
/// alternates between both makes each wait for the other.
fn batch(costs: &mut Model, used_by_other: f64) -> Simulated {
    let mut scenario = Scenario::new([1.0; TASKS], WORKERS);
    scenario.cpu_task_ns = 8.0 * ON_GPU_NS;
    scenario.gpus = vec![ScenarioGpu {
        task_ns: ON_GPU_NS,
        load: Some(Load {
            from_ns: 0.0,
            times: 1.0 + used_by_other,
        }),
        ..ScenarioGpu::default()
    }];
    let run = scenario.ideal().run(ExecutionStrategy::Auto, costs);
    run.expect("Auto needs nothing")
}

/// The fraction of the batch time for which it keeps the GPU busy.
fn used(batch: &Simulated) -> f64 {
    (batch.gpu_tasks as f64 * ON_GPU_NS / batch.makespan_ns).min(1.0)
}

fn share(batch: &Simulated) -> f64 {
    batch.gpu_tasks as f64 / TASKS as f64
}

#[test]
fn two_processes_on_one_gpu_both_get_on_and_give_way_to_each_other() {
    let (mut first, mut second) = (Model::default(), Model::default());
    let mut alone = batch(&mut first, 0.0);
    for _ in 0..10 {
        alone = batch(&mut first, 0.0);
    }
    let on_cpu_ns = TASKS as f64 * ON_GPU_NS;
    // With both there is one share s at which each ends together with its cores: what the
    // GPU gives it takes s·(1 + s/(1 − s)), its cores 1 − s, so s = (1 − s)².
    let fair = 0.5 * (3.0 - 5.0f64.sqrt());
    let mut now = [alone.clone(), batch(&mut second, used(&alone))];
    for round in 0..40 {
        let next = batch(&mut first, used(&now[1]));
        now = [next.clone(), batch(&mut second, used(&next))];
        if round < 20 {
            continue;
        }
        for process in &now {
            assert!(
                (share(process) - fair).abs() < 0.06,
                "{round}: {}",
                share(process)
            );
            assert!(
                process.makespan_ns < 0.75 * on_cpu_ns,
                "{round}: {process:?}"
            );
        }
    }
    assert!(share(&alone) > 0.46, "{}", share(&alone));
    // The other one has ended.
    let after: Vec<f64> = (0..20).map(|_| share(&batch(&mut first, 0.0))).collect();
    assert!(after[10..].iter().all(|share| *share > 0.46), "{after:?}");
}
