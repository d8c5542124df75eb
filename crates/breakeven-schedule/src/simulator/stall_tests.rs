//! GPUs that stall when Auto gives the batch to GPUs alone, in virtual time: the CPU ends the
//! batch.

use super::{Load, Scenario, ScenarioGpu};
use crate::plan::ExecutionStrategy;
use crate::plan::Model;

/// 200 tasks, each of which takes a worker 50 µs, on a GPU that is fifty times as fast as the
/// eight of them.
fn scenario() -> Scenario {
    let mut scenario = Scenario::new([1.0; 200], 8);
    scenario.cpu_task_ns = 50_000.0;
    scenario.gpus = vec![ScenarioGpu {
        launch_ns: 250.0,
        task_ns: 125.0,
        ..ScenarioGpu::default()
    }];
    scenario.ideal()
}

/// Returns the batch's time over that of the CPU alone, and whether the GPUs had all of it.
fn took(scenario: &Scenario, costs: &mut Model) -> (f64, bool) {
    let alone = scenario.run_fixed(ExecutionStrategy::CpuOnly);
    let run = scenario.run(ExecutionStrategy::Auto, costs);
    let (alone, run) = (alone.expect("it runs"), run.expect("it runs"));
    let on_gpus = run.decision.strategy == ExecutionStrategy::GpuOnly;
    (run.makespan_ns / alone, on_gpus)
}

fn stalled(gpu: ScenarioGpu) -> ScenarioGpu {
    let load = Load {
        from_ns: 0.0,
        times: f64::INFINITY,
    };
    ScenarioGpu {
        load: Some(load),
        ..gpu
    }
}

#[test]
fn a_gpu_of_which_nothing_is_known() {
    let (mut scenario, mut costs) = (scenario(), Model::default());
    for _ in 0..5 {
        let _ = took(&scenario, &mut costs);
    }
    scenario.gpus.push(stalled(scenario.gpus[0]));
    let (took, on_gpus) = took(&scenario, &mut costs);
    assert!(on_gpus && took <= 1.5, "{took}");
}

#[test]
fn a_gpu_beside_one_whose_launches_show_nothing_of_their_work() {
    for launch_ns in [250.0, 2_500.0, 25_000.0] {
        for known in 1..8 {
            let (mut scenario, mut costs) = (scenario(), Model::default());
            scenario.gpus[0].launch_ns = launch_ns;
            scenario.gpus[0].task_ns = 0.5;
            scenario.gpus.push(scenario.gpus[0]);
            for _ in 0..known {
                let _ = took(&scenario, &mut costs);
            }
            scenario.gpus[0] = stalled(scenario.gpus[0]);
            let (took, _) = took(&scenario, &mut costs);
            assert!(took <= 1.5, "{launch_ns} ns, {known} batches: {took}");
        }
    }
}

/// Five tasks are one complete wave of the eight workers: taken back, they would take longer than
/// the launch, which is late.
#[test]
fn a_late_launch_of_few_tasks_is_waited_for_as_long_as_a_wave_leaves() {
    let (mut scenario, mut costs) = (scenario(), Model::default());
    scenario.cpu_task_ns = 1e6;
    scenario.gpus[0].launch_ns = 20_000.0;
    for _ in 0..5 {
        let _ = took(&scenario, &mut costs);
    }
    scenario = scenario.with_task_costs([1.0; 5]);
    let (known, on_gpus) = took(&scenario, &mut costs);
    let _ = took(&scenario, &mut costs);
    assert!(on_gpus && known < 0.05, "{known}");
    scenario.gpus[0].launch_ns = 150_000.0;
    let (late, on_gpus) = took(&scenario, &mut costs);
    assert!(on_gpus && late < 0.2, "{late}");
    scenario.gpus[0] = stalled(scenario.gpus[0]);
    let (never, on_gpus) = took(&scenario, &mut costs);
    assert!(on_gpus && (1.2..1.3).contains(&never), "{never}");
}

/// A GPU that works or not, then stalls for good, in 60 batches: it is tried again from time to
/// time. A GPU that must run everything has as long as its predicted time allows, and the CPU ends
/// the batch; if that is nearly as long as the CPU takes, the total is twice that and more.
#[test]
fn a_gpu_that_stalls_costs_little_however_often_it_is_tried() {
    let mut times = Vec::new();
    for (tasks, known) in [5, 20, 200, 2_000]
        .into_iter()
        .flat_map(|tasks| [0, 1, 3, 20].map(|known| (tasks, known)))
    {
        for (speed, launch_ns) in [0.1, 0.5, 2.0, 20.0]
            .into_iter()
            .flat_map(|speed| [5_000.0, 500_000.0].map(|launch_ns| (speed, launch_ns)))
        {
            let mut scenario = Scenario::new(vec![1.0; tasks], 8).ideal();
            scenario.cpu_task_ns = 1e6;
            scenario.gpus[0].launch_ns = launch_ns;
            scenario.gpus[0].task_ns = 1e6 / 8.0 / speed;
            let mut costs = Model::default();
            for _ in 0..known {
                let _ = took(&scenario, &mut costs);
            }
            scenario.gpus[0] = stalled(scenario.gpus[0]);
            times.extend((0..60).map(|_| took(&scenario, &mut costs).0));
        }
    }
    let long = times.iter().filter(|took| **took > 1.5).count();
    let worst = times.iter().copied().fold(0.0, f64::max);
    assert!(long <= times.len() / 20 && worst <= 3.6, "{long} {worst}");
}
