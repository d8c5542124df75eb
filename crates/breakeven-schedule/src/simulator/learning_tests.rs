//! What is learned from batches whose tasks differ, in virtual time.

use super::{Load, Scenario, ScenarioGpu, Simulated};
use crate::plan::Model;
use crate::plan::{ExecutionStrategy, Observation, OperationCosts, Order, RanOn};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const TASK_NS: f64 = 50_000.0;
const WORKERS: usize = 8;

/// A GPU that is `ratio` times as fast as the workers together.
fn scenario(costs: Vec<f64>, ratio: f64, launch_ns: f64) -> Scenario {
    let mut scenario = Scenario::new(costs, WORKERS);
    scenario.cpu_task_ns = TASK_NS;
    scenario.gpus = vec![ScenarioGpu {
        launch_ns,
        task_ns: TASK_NS / WORKERS as f64 / ratio,
        ..ScenarioGpu::default()
    }];
    scenario.ideal()
}

/// As [`scenario`], if a launch costs 1 % of the ideal batch time.
fn split(costs: Vec<f64>, ratio: f64) -> Scenario {
    let launch_ns = 0.01 * costs.len() as f64 * TASK_NS / WORKERS as f64 / (1.0 + ratio);
    scenario(costs, ratio, launch_ns)
}

fn run(scenario: &Scenario, costs: &mut Model) -> Simulated {
    let run = scenario.run(ExecutionStrategy::Auto, costs);
    run.expect("Auto needs nothing")
}

fn known(scenario: &Scenario, costs: &Model) -> OperationCosts {
    costs.lookup(
        "simulated",
        scenario.memory_per_task,
        &scenario.names(),
        WORKERS,
    )
}

/// Most of the batch ends before a worker has done its first task.
#[test]
fn what_launches_showed_before_any_task_was_timed_is_no_time() {
    let (scenario, mut costs) = (scenario(vec![1.0; 200], 50.0, 250.0), Model::default());
    let first = run(&scenario, &mut costs);
    assert!(first.gpu_tasks > 180, "{first:?}");
    let known = known(&scenario, &costs);
    let cpu = known.cpu.expect("workers did some").per_task_ns;
    let gpu = known.gpu(0).cost.expect("a GPU did most");
    let off = [
        cpu * WORKERS as f64 / TASK_NS,
        gpu.per_task_ns / scenario.gpus[0].task_ns,
        gpu.fixed_ns / scenario.gpus[0].launch_ns,
    ];
    assert!(off.iter().all(|off| (off - 1.0).abs() < 0.01), "{off:?}");
}

/// 5 % of the tasks near the end have half of the work; only a GPU ever runs them.
#[test]
fn expensive_tasks_that_only_a_gpu_meets_are_no_slow_gpu() {
    let tasks = 20_000;
    let is_expensive = |task| (18_000..19_000).contains(&task);
    let each = |task| if is_expensive(task) { 19.0 } else { 1.0 };
    let (scenario, mut costs) = (
        scenario((0..tasks).map(each).collect(), 20.0, 50_000.0),
        Model::default(),
    );
    for _ in 0..8 {
        let _ = run(&scenario, &mut costs);
    }
    let shape = known(&scenario, &costs).shape.expect("batches showed it");
    let at = |task: usize| shape.places[task * shape.places.len() / tasks];
    // 19 times, reduced by the cheap tasks in the same place.
    assert!(at(18_500) > 12.0 * at(5_000), "{shape:?}");
    let runs = (0..4).map(|_| scenario.ideal_ns() / run(&scenario, &mut costs).makespan_ns);
    let worst = runs.fold(1.0, f64::min);
    assert!(worst > 0.9, "{worst}");
}

/// Halves of which one is expensive, costs that rise or fall, and a block of expensive tasks.
#[test]
fn batches_in_any_order_of_costs_come_close_to_the_ideal() {
    type Order = fn(f64) -> f64;
    let orders: [(&str, Order); 6] = [
        ("even", |_| 1.0),
        (
            "cheap, then expensive",
            |at| if at < 0.5 { 1.0 } else { 9.0 },
        ),
        (
            "expensive, then cheap",
            |at| if at < 0.5 { 9.0 } else { 1.0 },
        ),
        ("ascending", |at| at),
        ("sawtooth", |at| 0.1 + (8.0 * at).fract()),
        ("a block", |at| {
            if (0.45..0.5).contains(&at) { 19.0 } else { 1.0 }
        }),
    ];
    let tasks = 5_000;
    for (order, each) in orders {
        let floors = if order == "even" {
            [0.93, 0.95]
        } else {
            [0.85, 0.92]
        };
        for ratio in [1.0, 5.0, 20.0] {
            let each = (0..tasks).map(|task| each((task as f64 + 0.5) / tasks as f64));
            let (scenario, mut costs) = (split(each.collect(), ratio), Model::default());
            let runs = (0..6).map(|_| scenario.ideal_ns() / run(&scenario, &mut costs).makespan_ns);
            let runs: Vec<f64> = runs.collect();
            let (cold, warm) = (runs[0], runs[5]);
            assert!(
                cold >= floors[0] && warm >= floors[1],
                "{order} at {ratio}:1: {cold} cold, {warm} warm"
            );
        }
    }
}

/// A device that turns slow or stalls in the middle of a batch costs at most half as much
/// again as the CPU alone would have taken.
#[test]
fn a_device_that_stalls_is_not_waited_for() {
    let tasks = 2_000;
    let cpu_alone = tasks as f64 * TASK_NS / WORKERS as f64;
    for ratio in [0.5, 5.0, 50.0] {
        let quiet = split(vec![1.0; tasks], ratio);
        for learned in [0, 5] {
            for times in [10.0, 100.0, f64::INFINITY] {
                for part in [0.0, 0.1, 0.5, 0.8] {
                    let mut costs = Model::default();
                    for _ in 0..learned {
                        let _ = run(&quiet, &mut costs);
                    }
                    let mut slow = quiet.clone();
                    let from_ns = part * quiet.ideal_ns();
                    slow.gpus[0].load = Some(Load { from_ns, times });
                    let took = run(&slow, &mut costs).makespan_ns / cpu_alone;
                    assert!(
                        took <= 1.5,
                        "{times} times at {ratio}:1 from {part}: {took}"
                    );
                }
            }
        }
    }
}

/// Tasks that were cheap in every batch are expensive at the end of this one, where workers take
/// long spans of them.
#[test]
fn a_worker_gives_back_a_span_that_lasts_far_longer_than_was_thought() {
    let tasks = 20_000;
    let (even, mut costs) = (scenario(vec![1.0; tasks], 5.0, 50_000.0), Model::default());
    for _ in 0..6 {
        let _ = run(&even, &mut costs);
    }
    let each = |task| if task < tasks - 400 { 1.0 } else { 100.0 };
    let other = even.with_task_costs((0..tasks).map(each));
    let efficiency = other.ideal_ns() / run(&other, &mut costs).makespan_ns;
    assert!(efficiency > 0.8, "{efficiency}");
}

/// A run of expensive tasks that is narrower than a remembered place, at the boundary between the
/// devices: launches there show little about the time of a task.
#[test]
fn launches_among_expensive_and_cheap_tasks_do_not_spoil_what_is_known() {
    for (tasks, ratio, expensive) in [
        (10_000, 5.0, 6_600..6_800),
        (50_000, 2.0, 20_000..21_000),
        (5_000, 2.0, 4_350..4_450),
    ] {
        let each = |task| if expensive.contains(&task) { 30.0 } else { 1.0 };
        let mut costs = Model::default();
        let scenario = split((0..tasks).map(each).collect(), ratio);
        let efficiencies =
            (0..16).map(|_| scenario.ideal_ns() / run(&scenario, &mut costs).makespan_ns);
        let least = efficiencies.fold(1.0, f64::min);
        assert!(least > 0.6, "{tasks} at {ratio}:1: {least}");
    }
}

/// One task in ten is 81 times as expensive as the rest, and the order changes from batch to batch:
/// a worker that tried a cheap one shows nothing about the rest, and one that began an expensive
/// one is waited for.
#[test]
fn tasks_that_differ_stay_on_a_gpu_that_does_all_of_them_sooner_than_a_worker_an_expensive_one() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut draw = || match random.random_bool(0.1) {
        true => 9.0,
        false => 1.0 / 9.0,
    };
    let mut costs = Model::default();
    let (mut auto, mut on_gpu) = (0.0, 0.0);
    for batch in 0..60 {
        let scenario = scenario((0..100).map(|_| draw()).collect(), 50.0, 5_000.0);
        let took = run(&scenario, &mut costs).makespan_ns;
        if batch >= 20 {
            auto += took;
            let gpu = scenario.run_fixed(ExecutionStrategy::GpuOnly);
            on_gpu += gpu.expect("a strategy");
        }
    }
    assert!(auto < 2.0 * on_gpu, "{auto} {on_gpu}");
}

/// A launch of 0.1 ms; upload, compute and download overlap and take 33 ms each.
#[test]
fn the_first_piece_of_a_row_shows_what_a_launch_costs() {
    let (tasks, work_ns) = (10_000, 1e8);
    let mut scenario = scenario(vec![1.0; tasks], 50.0, work_ns / 1e3);
    scenario.cpu_task_ns = 50.0 * WORKERS as f64 * work_ns / tasks as f64;
    scenario.gpus[0].task_ns = work_ns / tasks as f64;
    scenario.gpus[0].copies = [1.0 / 3.0; 2];
    let mut costs = Model::default();
    for tasks in [tasks / 4, tasks] {
        let batch = scenario.with_task_costs(vec![1.0; tasks]);
        let run = batch.run(ExecutionStrategy::GpuOnly, &mut costs);
        assert!(run.is_ok(), "{run:?}");
    }
    let runs: Vec<_> = (0..20).map(|_| run(&scenario, &mut costs)).collect();
    let gpu = known(&scenario, &costs).gpu(0).cost.expect("it was seen");
    let off = gpu.fixed_ns / scenario.gpus[0].launch_ns - 1.0;
    assert!(off.abs() < 0.05, "{gpu:?}");
    // A worker that must be tried gets its task, though all pieces are launched at once.
    let tries = runs
        .iter()
        .filter(|run| matches!(run.decision.orders.cpu, Order::Try(_)));
    let left: Vec<usize> = tries.map(|run| tasks - run.gpu_tasks).collect();
    assert!(
        left.len() >= 2 && left.iter().all(|left| *left == 1),
        "{left:?}"
    );
}

/// The known GPUs, alone and with a new one.
fn with_new(known: ScenarioGpu, new: ScenarioGpu, tasks: usize) -> [Scenario; 2] {
    let mut before = Scenario::new(vec![1.0; tasks], WORKERS);
    before.gpus = vec![known];
    let mut after = before.clone();
    after.gpus.push(new);
    [before, after]
}

#[test]
fn a_gpu_that_is_new_beside_a_known_one_is_tried_with_few_tasks() {
    let slow = ScenarioGpu {
        task_ns: 100_000.0,
        ..ScenarioGpu::default()
    };
    let tasks = 20_000;
    let like_cpu = ScenarioGpu {
        launch_ns: 0.0,
        task_ns: 1_250.0,
        ..ScenarioGpu::default()
    };
    let [_, scenario] = with_new(like_cpu, slow, tasks);
    let mut costs = Model::default();
    let cpu_ns = tasks as f64 * scenario.cpu_task_ns / WORKERS as f64;
    // The first GPU was observed in launches of one size, and of many tasks.
    for second in 1..4 {
        let seen = Observation {
            at: std::time::UNIX_EPOCH + std::time::Duration::from_secs(second),
            tasks: tasks as u64 / 4,
            ns: crate::whole(cpu_ns / 4.0) as u64,
            transfer_ns: None,
            workers: WORKERS,
            shared: false,
        };
        let memory = scenario.memory_per_task;
        costs.observe("simulated", memory, RanOn::Cpu, &seen);
        let first = &scenario.names()[0];
        costs.observe("simulated", memory, RanOn::Gpu(first), &seen);
    }
    let first = run(&scenario, &mut costs);
    assert!(first.makespan_ns < 0.6 * cpu_ns, "{first:?}");
}

#[test]
fn a_gpu_that_is_new_beside_one_that_does_not_pay_is_tried_some_time() {
    let slow = ScenarioGpu {
        launch_ns: 1e9,
        task_ns: 100_000.0,
        ..ScenarioGpu::default()
    };
    let fast = ScenarioGpu {
        task_ns: 10.0,
        ..ScenarioGpu::default()
    };
    // 1.25 ms on the CPU, 30 µs on the new GPU.
    let [before, after] = with_new(slow, fast, 1_000);
    let mut costs = Model::default();
    let before_ns = (0..100)
        .map(|_| run(&before, &mut costs).makespan_ns)
        .last();
    let runs: Vec<Simulated> = (0..40).map(|_| run(&after, &mut costs)).collect();
    let tried = runs.iter().position(|run| run.gpu_busy_ns[1] > 0.0);
    assert!(tried.is_some_and(|runs| runs < 4), "{tried:?}");
    let first = tried.map(|run| runs[run].makespan_ns);
    assert!(first < before_ns.map(|ns| 1.6 * ns), "{first:?}");
    let on_it = runs.iter().filter(|run| run.gpu_tasks > 900).count();
    assert!(on_it > 30, "{on_it}");
}

/// Four images of `pixel_entropy` on an H200 with 16 cores (`docs/performance.md`): 5.4 ms on
/// the CPU, 2.6 ms on the GPU, half of which is the driver's copies on a core of the host.
#[test]
fn four_images_leave_the_cpu_within_ten_batches() {
    let mut images = Scenario::new([1.0; 4], 16);
    images.cpu_task_ns = 5.4e6;
    images.gpus = vec![ScenarioGpu::h200_cuda(0.19e6, [1 << 20; 2])];
    images.memory_per_task = 2 << 20;
    let mut costs = Model::default();
    let last = (0..10).map(|_| run(&images, &mut costs)).last();
    let last = last.expect("ten batches");
    assert!(last.makespan_ns < 1.1 * 2.6e6, "{last:#?}");
}
