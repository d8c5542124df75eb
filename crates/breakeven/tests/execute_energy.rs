//! Objectives that count energy: measured with made-up counters, stated, or not known.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::hardware::Fact;
use breakeven::hardware::sensors::EnergyMeter;
use breakeven::plan::{ExecutionStrategy, Objective, Outcome, Power};
use breakeven::testing::{SimulatedGpu, SimulatedSpec};
use breakeven::{Costs, ErrorKind, WorkloadProfile};
use tempfile::TempDir;

type Never = std::convert::Infallible;
type Manager = StrategyManager<RayonCpu, SimulatedGpu<u64, u64>>;

const TASKS: usize = 40;
const WORKERS: usize = 2;

/// What a worker of the made-up processor draws at work, W.
const PER_WORKER: f64 = 20.0;

/// A processor whose counter of energy goes round when it has drawn ten joules. Each task
/// counts its own energy, so that a busy machine, on which it lasts longer, changes no watts.
struct Processor {
    root: TempDir,
    zone: PathBuf,
    microjoules: Mutex<u64>,
}

impl Processor {
    const RANGE: u64 = 262_143_328_850;

    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let zone = root.path().join("sys/class/powercap/intel-rapl:0");
        fs::create_dir_all(&zone).unwrap();
        fs::write(zone.join("name"), "package-0\n").unwrap();
        fs::write(
            zone.join("max_energy_range_uj"),
            format!("{}\n", Self::RANGE),
        )
        .unwrap();
        let processor = Self {
            root,
            zone,
            microjoules: Mutex::new(Self::RANGE - 10_000_000),
        };
        processor.count(Duration::ZERO);
        processor
    }

    /// Counts what a worker draws in that time.
    fn count(&self, worked: Duration) {
        let mut all = self.microjoules.lock().unwrap();
        // A watt is a microjoule a microsecond.
        let drawn = worked.mul_f64(PER_WORKER).as_micros();
        *all = (*all + u64::try_from(drawn).unwrap()) % Self::RANGE;
        // In one step: a reader never sees half a number.
        let new = self.zone.join("new");
        fs::write(&new, format!("{all}\n")).unwrap();
        fs::rename(new, self.zone.join("energy_uj")).unwrap();
    }

    fn meter(&self) -> Arc<EnergyMeter> {
        Arc::new(EnergyMeter::of_files(self.root.path()))
    }

    /// A task of a millisecond.
    fn task(&self, task: &u64) -> Result<u64, Never> {
        let began = Instant::now();
        thread::sleep(Duration::from_millis(1));
        self.count(began.elapsed());
        Ok(task + 1)
    }
}

/// A GPU that does a task in a fifth of the time, and draws that much.
fn manager(power: Fact<Power>) -> Manager {
    let spec = SimulatedSpec {
        power,
        ..SimulatedSpec::new(Duration::from_micros(20), Duration::from_micros(200))
    };
    let gpu = SimulatedGpu::new(spec, |task: &u64| task + 1);
    let workers = rayon::ThreadPoolBuilder::new().num_threads(WORKERS);
    let cpu = RayonCpu::with_pool(Arc::new(workers.build().unwrap()));
    StrategyManager::new(Arc::new(cpu), Arc::new(gpu)).with_costs(Arc::new(Costs::new()))
}

fn power(busy_watts: f64, idle_watts: f64) -> Power {
    Power {
        busy_watts,
        idle_watts,
    }
}

fn workload() -> WorkloadProfile {
    WorkloadProfile::from_task_count(TASKS)
}

/// Runs batches until the objective was weighed; the last one's strategy and explanation.
fn until_weighed(
    manager: &Manager,
    objective: Objective,
    task: impl Fn(&u64) -> Result<u64, Never> + Sync,
) -> (ExecutionStrategy, String) {
    let tasks: Vec<u64> = (0..TASKS as u64).collect();
    for _ in 0..200 {
        let batch = manager.operation("energy").workload(workload());
        let result = batch.objective(objective).execute(&tasks, &task).unwrap();
        assert_eq!(result.outputs[TASKS - 1], TASKS as u64);
        let aim = result.decision.aim.as_ref().expect("it is aimed at energy");
        if aim.outcome == Outcome::Least {
            return (result.decision.strategy, result.explain().to_string());
        }
    }
    panic!("it was never weighed");
}

#[test]
fn the_power_of_an_operation_is_measured_and_weighed() {
    let processor = Processor::new();
    // Far more than the workers, whose tasks last longer on a busy machine.
    let manager = manager(Fact::Known(power(15_000.0, 5.0))).with_energy_meter(processor.meter());
    let task = |task: &u64| processor.task(task);
    let (strategy, explained) = until_weighed(&manager, Objective::Energy, task);
    assert_eq!(strategy, ExecutionStrategy::CpuOnly, "{explained}");
    assert!(explained.contains(" J in "), "{explained}");
    let predicted = explained
        .lines()
        .filter(|line| line.contains(" predicted "));
    assert_eq!(
        predicted.filter(|line| line.ends_with('J')).count(),
        3,
        "{explained}"
    );
    let memory = workload().memory_per_task;
    let known = manager
        .costs()
        .lookup("energy", memory, &["simulated"], WORKERS);
    let watts = known.cpu_watts.expect("it was measured");
    // Both workers draw 40 W at work, less where other programs hold them up between tasks.
    assert!((1.0..=40.0).contains(&watts), "{watts}");
    assert_eq!(known.gpu(0).watts, None, "what is stated is not measured");
}

#[test]
fn what_is_stated_is_weighed_without_a_meter() {
    let manager = manager(Fact::Known(power(20.0, 1.0))).with_cpu_power(power(200.0, 1.0));
    let task = |task: &u64| {
        thread::sleep(Duration::from_millis(1));
        Ok::<_, Never>(task + 1)
    };
    let (strategy, _) = until_weighed(&manager, Objective::Energy, task);
    assert_eq!(strategy, ExecutionStrategy::GpuOnly);
}

#[test]
fn what_nothing_reports_is_an_error_that_says_what_would() {
    let nothing = tempfile::tempdir().unwrap();
    let meter = Arc::new(EnergyMeter::of_files(nothing.path()));
    let tasks = [0_u64; TASKS];
    let refused = |manager: Manager| {
        let manager = manager.with_objective(Objective::Energy);
        let decided = manager
            .operation("energy")
            .workload(workload())
            .decide(tasks);
        let error = decided.expect_err("nothing reports energy");
        assert_eq!(error.kind(), ErrorKind::Unmeasured);
        error.to_string()
    };
    let stated = Fact::Known(power(20.0, 1.0));
    let said = refused(manager(stated).with_energy_meter(Arc::clone(&meter)));
    assert!(
        said.starts_with("the energy of the CPU cannot be measured: no energy counter"),
        "{said}"
    );
    assert!(said.contains("; or state its power ("), "{said}");
    let unknown = manager(Fact::Unknown).with_cpu_power(power(20.0, 1.0));
    let said = refused(unknown.with_energy_meter(meter));
    let expected = "the energy of simulated cannot be measured: nothing counts it here";
    assert!(said.starts_with(expected), "{said}");
    // Time is decided without any of it.
    assert!(
        manager(Fact::Unknown)
            .operation("energy")
            .decide(tasks)
            .is_ok()
    );
}
