//! How a batch would go, in virtual time: a discrete-event simulation that
//! drives the schedule of the real executor.
//!
//! It has a pool of workers, one GPU, and tasks of known cost. What it leaves
//! out: the time that taking a span takes (well below a microsecond), noise,
//! and that both devices may hinder each other. The bench `execute` runs some of
//! its points for real beside it.

use std::time::SystemTime;

use super::schedule::{GpuTurn, Ns, Schedule};
use super::spans::Span;
use super::terms::Given;
use crate::error::Error;
use crate::hardware::Fact;
use crate::plan::{
    Basis, Costs, Decision, ExecutionStrategy, GpuSpec, Machine, Observation, ProfilingHeuristics,
    RanOn, decide_for,
};
use crate::workload::WorkloadProfile;

/// The name of the simulated GPU.
const GPU: &str = "simulated";

/// A batch and the devices it could run on.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Cost of each task, as a multiple of the mean.
    task_costs: Prefix,
    /// CPU workers.
    pub workers: usize,
    /// Time of a mean task on one worker that works alone, ns.
    pub cpu_task_ns: f64,
    /// Part of the CPU's work that workers can do at once (Amdahl's law), 0 to 1.
    /// The GPU does the rest on one lane.
    pub parallelization: f64,
    /// What a launch costs, ns.
    pub launch_ns: f64,
    /// Time of a mean task on the GPU, transfers included, ns.
    pub gpu_task_ns: f64,
    /// From when on the CPU is slower, ns, and how many times.
    pub cpu_load: Option<(f64, f64)>,
    /// From when on the GPU is slower, ns, and how many times.
    pub gpu_load: Option<(f64, f64)>,
}

/// Sums of costs, so that a span's is a difference.
#[derive(Debug, Clone)]
struct Prefix(Vec<f64>);

impl Prefix {
    fn of(&self, span: &Span) -> f64 {
        let range = span.range();
        self.0[range.end] - self.0[range.start]
    }
}

/// How a simulated batch went.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// From the beginning to the last output, ns.
    pub makespan_ns: f64,
    /// Tasks that the GPU did.
    pub gpu_tasks: usize,
    /// Launches.
    pub launches: usize,
    /// Spans of the workers.
    pub cpu_spans: usize,
    /// What was decided.
    pub decision: Decision,
}

/// How many times slower than a worker a GPU's single lane is.
const LANE_SLOWDOWN: f64 = 4.0;

impl Scenario {
    /// So many tasks of these costs (relative to each other) on that many workers.
    pub fn new(costs: impl IntoIterator<Item = f64>, workers: usize) -> Self {
        let mut sums = vec![0.0];
        for cost in costs {
            let sum = sums.last().copied().unwrap_or(0.0);
            sums.push(sum + cost.max(0.0));
        }
        let mean = sums.last().copied().unwrap_or(0.0) / (sums.len() - 1).max(1) as f64;
        if mean > 0.0 {
            sums.iter_mut().for_each(|sum| *sum /= mean);
        }
        Self {
            task_costs: Prefix(sums),
            workers: workers.max(1),
            cpu_task_ns: 10_000.0,
            parallelization: 1.0,
            launch_ns: 20_000.0,
            gpu_task_ns: 10_000.0,
            cpu_load: None,
            gpu_load: None,
        }
    }

    /// Tasks in the batch.
    pub fn tasks(&self) -> usize {
        self.task_costs.0.len() - 1
    }

    /// Time of a mean task on one worker while all work, ns: each waits for the
    /// sequential parts of the others.
    pub fn shared_task_ns(&self) -> f64 {
        let workers = self.workers as f64;
        self.cpu_task_ns * ((1.0 - self.parallelization) * workers + self.parallelization)
    }

    /// Time of a mean task on the GPU, its sequential part on one lane, ns.
    pub fn lane_task_ns(&self) -> f64 {
        let sequential = (1.0 - self.parallelization) * LANE_SLOWDOWN * self.cpu_task_ns;
        self.gpu_task_ns * self.parallelization + sequential
    }

    /// Runs the batch under a strategy, by what `costs` knows, and tells them
    /// what it took.
    ///
    /// # Errors
    ///
    /// As [`decide`](crate::plan::decide).
    pub fn run(&self, strategy: ExecutionStrategy, costs: &Costs) -> Result<Simulated, Error> {
        let workload = WorkloadProfile::from_task_count(self.tasks())
            .with_parallelization(self.parallelization);
        let machine = Machine {
            cores: self.workers,
            memory_bytes: Fact::Unknown,
            gpus: vec![GpuSpec::named(GPU)],
        };
        let memory = workload.memory_per_task;
        let known = costs.lookup("simulated", memory, Some(GPU), self.workers);
        let heuristics = ProfilingHeuristics::default();
        let decision = decide_for(
            strategy,
            Basis::Asked,
            &workload,
            &machine,
            &heuristics,
            &known,
        )?;
        let given = Given {
            tasks: self.tasks(),
            workers: self.workers,
            decision: &decision,
            costs: &known,
            launch_ns: None,
            fits: usize::MAX,
            is_watched: false,
            on_probation: false,
        };
        let mut run = Run::new(self, Schedule::new(given.terms()));
        run.to_the_end();
        run.teach(costs, memory);
        Ok(Simulated {
            makespan_ns: run.makespan,
            gpu_tasks: run.launches.iter().map(|(tasks, _)| tasks).sum(),
            launches: run.launches.len(),
            cpu_spans: run.cpu_spans,
            decision,
        })
    }

    /// Runs the batch by a decision that the cost model has no part in: the
    /// seven-stage rule's, for instance, with the split kept as it is.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_fixed(&self, strategy: ExecutionStrategy) -> Result<f64, Error> {
        Ok(self.run(strategy, &Costs::new())?.makespan_ns)
    }

    /// The least time that any split could take, ns: with one launch, the best
    /// order of indivisible tasks, and every change of rates foreseen.
    pub fn ideal_ns(&self) -> f64 {
        let all = *self.task_costs.0.last().unwrap_or(&0.0);
        let largest = self
            .task_costs
            .0
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .fold(0.0, f64::max);
        // The work that each side can have done by a time grows with the time.
        let done = |time: Ns| {
            let cpu = self.workers as f64 * worked(time, self.cpu_load) / self.shared_task_ns();
            let gpu = worked((time - self.launch_ns).max(0.0), self.gpu_load) / self.lane_task_ns();
            // One task is on one side as a whole.
            let fits_cpu = worked(time, self.cpu_load) / self.shared_task_ns() >= largest;
            let fits_gpu = gpu >= largest;
            if fits_cpu || fits_gpu { cpu + gpu } else { 0.0 }
        };
        let (mut low, mut high) = (0.0, 1.0);
        while done(high) < all {
            high *= 2.0;
        }
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if done(middle) < all {
                low = middle
            } else {
                high = middle
            }
        }
        high
    }
}

/// Work that is done in `time` at rate 1 that falls from some time on.
fn worked(time: Ns, load: Option<(f64, f64)>) -> f64 {
    match load {
        Some((from, times)) if time > from => from + (time - from) / times,
        _ => time,
    }
}

/// When work begun at `start` that takes `work` at rate 1 is done.
fn ends(start: Ns, work: f64, load: Option<(f64, f64)>) -> Ns {
    let Some((from, times)) = load else {
        return start + work;
    };
    if start >= from {
        return start + work * times;
    }
    let before = from - start;
    if work <= before {
        start + work
    } else {
        from + (work - before) * times
    }
}

/// What happens at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    /// A worker ended a span of so many tasks, begun then.
    Worker { tasks: usize, began: Ns },
    /// The oldest launch ended.
    Launch { tasks: usize, began: Ns },
    /// The driver looks again.
    Look,
}

struct Run<'s> {
    scenario: &'s Scenario,
    schedule: Schedule,
    events: Vec<(Ns, Event)>,
    idle_workers: usize,
    in_flight: usize,
    /// When the device is done with all that was launched.
    device_free: Ns,
    driver_waits: bool,
    launches: Vec<(usize, Ns)>,
    cpu_tasks: usize,
    cpu_spans: usize,
    cpu_busy: f64,
    makespan: Ns,
}

impl<'s> Run<'s> {
    fn new(scenario: &'s Scenario, schedule: Schedule) -> Self {
        Self {
            scenario,
            schedule,
            events: Vec::new(),
            idle_workers: scenario.workers,
            in_flight: 0,
            device_free: 0.0,
            driver_waits: false,
            launches: Vec::new(),
            cpu_tasks: 0,
            cpu_spans: 0,
            cpu_busy: 0.0,
            makespan: 0.0,
        }
    }

    fn to_the_end(&mut self) {
        self.wake_workers(0.0);
        self.drive(0.0);
        loop {
            let Some(next) = self.next_event() else {
                if self.schedule.is_empty() {
                    return;
                }
                // The executor's last step: the CPU does what is left.
                self.schedule.gpu_is_gone();
                self.wake_workers(self.makespan);
                continue;
            };
            let (now, event) = next;
            match event {
                Event::Worker { tasks, began } => {
                    self.makespan = self.makespan.max(now);
                    self.cpu_busy += now - began;
                    self.schedule.cpu_did(tasks, now - began);
                    self.idle_workers += 1;
                    let worked = self.work(now);
                    if !worked && std::mem::take(&mut self.driver_waits) {
                        self.drive(now);
                    }
                }
                Event::Launch { tasks, began } => {
                    self.makespan = self.makespan.max(now);
                    self.in_flight -= 1;
                    self.launches.push((tasks, now - began));
                    if self
                        .schedule
                        .gpu_did(tasks, now - began, now, self.in_flight)
                    {
                        self.wake_workers(now);
                    }
                    self.drive(now);
                }
                Event::Look => {
                    if self.driver_waits {
                        self.driver_waits = false;
                        self.drive(now);
                    }
                }
            }
        }
    }

    fn next_event(&mut self) -> Option<(Ns, Event)> {
        let times = self.events.iter().enumerate();
        let (index, _) = times.min_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b))?;
        Some(self.events.swap_remove(index))
    }

    fn wake_workers(&mut self, now: Ns) {
        while self.idle_workers > 0 && self.work(now) {}
    }

    /// Gives an idle worker a span, where there is one.
    fn work(&mut self, now: Ns) -> bool {
        let Some(span) = self.schedule.take_cpu(now) else {
            return false;
        };
        self.idle_workers -= 1;
        let work = self.scenario.task_costs.of(&span) * self.scenario.shared_task_ns();
        let end = ends(now, work, self.scenario.cpu_load);
        let tasks = span.len();
        self.cpu_tasks += tasks;
        self.cpu_spans += 1;
        if std::env::var_os("TRACE").is_some() {
            eprintln!("{now:.0} cpu {tasks} -> {end:.0}");
        }
        self.events.push((end, Event::Worker { tasks, began: now }));
        true
    }

    /// The driver's turn.
    fn drive(&mut self, now: Ns) {
        while self.in_flight < 2 {
            match self.schedule.take_gpu(now, self.in_flight) {
                GpuTurn::Run(span) => {
                    let tasks = span.len();
                    self.schedule.gpu_launched(tasks, now);
                    let began = now.max(self.device_free);
                    let work = self.scenario.task_costs.of(&span) * self.scenario.lane_task_ns();
                    let end = ends(
                        began + self.scenario.launch_ns,
                        work,
                        self.scenario.gpu_load,
                    );
                    self.device_free = end;
                    self.in_flight += 1;
                    if std::env::var_os("TRACE").is_some() {
                        eprintln!("{now:.0} GPU {tasks} -> {end:.0}");
                    }
                    self.events.push((end, Event::Launch { tasks, began }));
                }
                GpuTurn::Wait(until) => {
                    if self.in_flight == 0 {
                        self.driver_waits = true;
                        self.events.push((until.max(now + 1.0), Event::Look));
                    }
                    return;
                }
                GpuTurn::Done => return,
            }
        }
    }

    fn teach(&self, costs: &Costs, memory: usize) {
        let tell = |on, tasks: usize, ns: f64| {
            let seen = Observation {
                at: SystemTime::now(),
                tasks: tasks as u64,
                ns: ns_of(ns),
                transfer_ns: None,
                workers: self.scenario.workers,
            };
            costs.observe("simulated", memory, on, &seen);
        };
        let workers = self.scenario.workers as f64;
        if self.cpu_tasks > 0 {
            tell(
                RanOn::Cpu,
                self.cpu_tasks,
                match self.launches.is_empty() {
                    true => self.makespan,
                    false => self.cpu_busy / workers,
                },
            );
        }
        for (tasks, ns) in self.launches.iter().take(8) {
            tell(RanOn::Gpu(GPU), *tasks, *ns);
        }
        if self.cpu_tasks > 0 && !self.launches.is_empty() {
            tell(RanOn::Both(GPU), self.scenario.tasks(), self.makespan);
        }
        let gpu = (!self.launches.is_empty()).then_some(GPU);
        costs.note_run(
            "simulated",
            memory,
            ns_of(self.makespan),
            self.cpu_tasks > 0,
            gpu,
        );
    }
}

#[expect(clippy::cast_sign_loss, reason = "a time is not negative")]
fn ns_of(ns: f64) -> u64 {
    ns.round() as u64
}
