//! What a decision costs.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use breakeven::Costs;
use breakeven::WorkloadProfile;
use breakeven::execute::{Device, GpuExecutor, RayonCpu, StrategyManager};
use breakeven::hardware::{Fact, SystemLoad};
use breakeven::plan::{
    Decision, GpuSpec, Machine, Observation, OperationCosts, ProfilingHeuristics, RanOn,
    decide as decide_by,
};
use breakeven::profile::profile::Operation;
use breakeven::profile::recorder::Clock;

use crate::metric::metric;
use crate::samples::Samples;

/// Operations in the cost model.
const OPERATIONS: u64 = 100;

const GPU: &str = "cuda:0";
const WORKERS: usize = 16;

/// All that a decision is made from.
pub(crate) struct Case {
    workload: WorkloadProfile,
    machine: Machine,
    heuristics: ProfilingHeuristics,
    costs: Costs,
    names: Vec<String>,
}

impl Case {
    pub(crate) fn new() -> Self {
        let gpu = GpuSpec {
            memory_bytes: Fact::Known(32 << 30),
            memory_used_bytes: Fact::Known(2 << 30),
            ..GpuSpec::named(GPU)
        };
        let workload = WorkloadProfile::from_task_count(1_000);
        let names: Vec<String> = (0..OPERATIONS).map(|n| format!("operation {n}")).collect();
        Self {
            costs: costs(&names, workload.memory_per_task),
            machine: Machine {
                cores: WORKERS,
                memory_bytes: Fact::Known(64 << 30),
                cpu_power: Fact::Unknown,
                gpus: vec![gpu],
            },
            workload,
            heuristics: ProfilingHeuristics::default(),
            names,
        }
    }

    /// The rule's: nothing was measured.
    pub(crate) fn by_rule(&self) -> Decision {
        self.decided(&OperationCosts::default())
    }

    /// The model's, with the costs of the operation of that number looked up.
    pub(crate) fn by_model(&self, number: usize) -> Decision {
        let name = &self.names[number % self.names.len()];
        let memory = self.workload.memory_per_task;
        let known = self.costs.lookup(name, memory, &[GPU], WORKERS);
        self.decided(&known)
    }

    fn decided(&self, costs: &OperationCosts) -> Decision {
        let workload = black_box(&self.workload);
        let decision = decide_by(workload, &self.machine, &self.heuristics, costs);
        *decision.expect("the case can be decided")
    }
}

/// A model in which every operation ran on both devices at several sizes.
fn costs(names: &[String], memory_per_task: usize) -> Costs {
    let costs = Costs::new();
    for (name, number) in names.iter().zip(1..) {
        for tasks in [100, 200, 500, 1_000, 2_000, 5_000] {
            let seen = |ns| Observation {
                at: SystemTime::now(),
                tasks,
                ns,
                transfer_ns: None,
                workers: WORKERS,
                shared: false,
            };
            let cpu = seen(number * 100 * tasks);
            let gpu = seen(20_000 + 1_000 * tasks);
            costs.observe(name, memory_per_task, RanOn::Cpu, &cpu);
            costs.observe(name, memory_per_task, RanOn::Gpu(GPU), &gpu);
        }
    }
    costs
}

/// A GPU that says how much of its memory is in use as CUDA's do: by a look at
/// the machine's load.
struct Asking(GpuSpec);

impl Device for Asking {
    fn spec(&self) -> &GpuSpec {
        &self.0
    }

    fn memory_used(&self) -> Fact<u64> {
        black_box(SystemLoad::sample());
        Fact::Known(2 << 30)
    }
}

impl GpuExecutor<u64, u64> for Asking {
    type Flight = std::future::Ready<Result<Vec<u64>, breakeven::DeviceError>>;

    fn start(&self, tasks: &[u64]) -> Result<Self::Flight, breakeven::DeviceError> {
        Ok(std::future::ready(Ok(tasks.to_vec())))
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(self)
    }
}

pub(crate) fn decide(quick: bool) -> Vec<Operation> {
    let clock = Clock::new();
    let case = Case::new();
    let rounds = if quick { 100_000 } else { 1_000_000 };
    let manager = StrategyManager::new(
        Arc::new(RayonCpu::current()),
        Arc::new(Asking(GpuSpec::named(GPU))),
    )
    .with_costs(Arc::new(Costs::new()))
    .with_device(GpuSpec::named(GPU));
    let [mut clock_alone, mut rule, mut model, mut detect] = [(); 4].map(|()| Samples::default());
    for number in 0..rounds {
        clock_alone.time(&clock, || ());
        black_box(rule.time(&clock, || case.by_rule()));
        black_box(model.time(&clock, || case.by_model(number)));
        let detected = detect.time(&clock, || manager.detect_strategy(&case.workload));
        assert!(black_box(detected).is_ok());
    }
    // What the clock itself takes is in all of them.
    metric("choose_clock_median", clock_alone.median(), "ns");
    rule.print("choose_rule", "ns", 1.0);
    model.print("choose_model", "ns", 1.0);
    detect.print("choose_detect", "ns", 1.0);
    whole(quick, &manager, &clock);
    // So many that the gate can do without most of them.
    let kept = model.0.into_iter().step_by(rounds / 10_000).collect();
    let mut operation = Samples(kept).operation("choose", Some(OPERATIONS));
    operation.workload = Some("a lookup and a decision by the model".to_owned());
    vec![operation]
}

/// A whole decision as `execute` makes it, with all that surrounds it: a batch
/// without tasks. One every 2 ms, so that one in fifty has the load's refresh
/// in it, and the 99th percentile shows it.
fn whole(quick: bool, manager: &StrategyManager<RayonCpu, Asking>, clock: &Clock) {
    let mut samples = Samples::default();
    for _ in 0..if quick { 500 } else { 5_000 } {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(2) {
            std::hint::spin_loop();
        }
        let batch = manager.operation("nothing");
        let none: [u64; 0] = [];
        let done = samples.time(clock, || batch.execute(none, |task| Ok::<_, ()>(*task)));
        assert!(done.is_ok_and(|done| done.outputs.is_empty()));
    }
    samples.print("choose_in_execute", "us", 1e3);
    metric("choose_in_execute_max", samples.quantile(1.0) / 1e3, "us");
    let mut refresh = Samples::default();
    for _ in 0..if quick { 5 } else { 30 } {
        std::thread::sleep(Duration::from_millis(110));
        black_box(refresh.time(clock, SystemLoad::sample));
    }
    metric("load_refresh_median", refresh.median() / 1e3, "us");
}
