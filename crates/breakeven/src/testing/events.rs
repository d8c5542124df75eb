//! The events of a simulated batch.

use std::collections::VecDeque;
use std::time::SystemTime;

use super::noise::Factors;
use super::scenario::{Scenario, Simulated, ends};
use crate::error::DeviceErrorKind;
use crate::plan::{Decision, ExecutionStrategy, Learned, OperationCosts, Took};
use crate::schedule::{GpuTurn, LaunchTime, Ns, Schedule, Span};
use crate::store::Costs;

/// How often a worker looks up from its span, ns: the executor's own.
const LOOK_NS: f64 = 100_000.0;

/// Most events per task, and more for few: a batch in which nobody goes on does not end.
const STEPS: usize = 100;

/// What happens at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    /// A worker ends its span, or looks up from it.
    Worker { index: usize, turn: u64 },
    /// A worker's span lasts far longer than was thought.
    Overdue { index: usize, turn: u64 },
    /// The oldest launch of a GPU ended.
    Launch { gpu: usize, turn: u64 },
    /// A driver looks again.
    Look { gpu: usize },
}

/// A worker's span.
#[derive(Debug)]
struct Busy {
    span: Span,
    began: Ns,
    /// Time of a unit of cost while it was taken.
    unit: f64,
    turn: u64,
}

#[derive(Debug)]
struct Flight {
    span: Span,
    began: Ns,
    turn: u64,
}

#[derive(Debug, Default)]
struct Device {
    flights: VecDeque<Flight>,
    /// When its upload, its compute and its download are done with all that was launched.
    free: [Ns; 3],
    /// When the last launch ended.
    last_end: Ns,
    waits: bool,
}

pub(super) struct Run<'s> {
    scenario: &'s Scenario,
    schedule: Schedule,
    /// The CPU has a part of the batch from its beginning.
    cpu_works: bool,
    events: Vec<(Ns, Event)>,
    workers: Vec<Option<Busy>>,
    devices: Vec<Device>,
    noise: Factors,
    turns: u64,
    launches: usize,
    gpu_tasks: usize,
    cpu_spans: usize,
    cpu_tasks: usize,
    cpu_busy: Ns,
    gpu_busy: Vec<Ns>,
    makespan: Ns,
}

impl<'s> Run<'s> {
    pub(super) fn new(
        scenario: &'s Scenario,
        strategy: ExecutionStrategy,
        schedule: Schedule,
    ) -> Self {
        Self {
            scenario,
            schedule,
            cpu_works: strategy != ExecutionStrategy::GpuOnly,
            events: Vec::new(),
            workers: (0..scenario.workers).map(|_| None).collect(),
            devices: scenario.gpus.iter().map(|_| Device::default()).collect(),
            noise: Factors::new(scenario.noise),
            turns: 0,
            launches: 0,
            gpu_tasks: 0,
            cpu_spans: 0,
            cpu_tasks: 0,
            cpu_busy: 0.0,
            gpu_busy: vec![0.0; scenario.gpus.len()],
            makespan: 0.0,
        }
    }

    pub(super) fn run(&mut self) {
        self.drive_all(0.0);
        self.wake_workers(0.0);
        for _ in 0..STEPS.saturating_mul(self.scenario.tasks() + STEPS) {
            let Some((now, event)) = self.next_event() else {
                if self.schedule.is_empty() {
                    if self.cpu_tasks + self.gpu_tasks == self.scenario.tasks() {
                        return;
                    }
                    break;
                }
                // The executor's last step: the CPU does what is left.
                self.schedule.leave_all_gpus();
                self.wake_workers(self.makespan);
                continue;
            };
            match event {
                Event::Worker { index, turn } => self.worker(index, turn, now),
                Event::Overdue { index, turn } => {
                    let is_one = |busy: &Busy| busy.turn == turn;
                    if self.workers[index].as_ref().is_some_and(is_one) {
                        self.give_tail(index, now, |_, left| left);
                    }
                }
                Event::Launch { gpu, turn } => self.launch_ended(gpu, turn, now),
                Event::Look { gpu } => {
                    if std::mem::take(&mut self.devices[gpu].waits) {
                        self.drive(gpu, now);
                    }
                }
            }
        }
        self.makespan = Ns::INFINITY;
    }

    fn next_event(&mut self) -> Option<(Ns, Event)> {
        let times = self.events.iter().enumerate();
        let (index, _) = times.min_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b))?;
        Some(self.events.swap_remove(index)).filter(|(at, _)| at.is_finite())
    }

    fn turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    /// Gives idle workers spans, as far as there are some.
    fn wake_workers(&mut self, now: Ns) {
        let idle = (0..self.workers.len()).filter(|&index| self.workers[index].is_none());
        let (mut woken, mut is_in_vain) = (Vec::new(), false);
        for index in idle {
            let Some(span) = self.schedule.cpu_turn(now) else {
                is_in_vain = true;
                break;
            };
            woken.push((index, span));
        }
        // Those that begin at the same time wait for each other too.
        let active = woken.len() + self.workers.iter().flatten().count();
        for (index, span) in woken {
            self.begin(index, span, active, now);
        }
        if is_in_vain && self.schedule.is_hungry() {
            self.look_up(now);
        }
    }

    /// Gives an idle worker a span, where there is one.
    fn work(&mut self, index: usize, now: Ns) -> bool {
        let Some(span) = self.schedule.cpu_turn(now) else {
            if self.schedule.is_hungry() {
                self.look_up(now);
            }
            return false;
        };
        let active = 1 + self.workers.iter().flatten().count();
        self.begin(index, span, active, now);
        true
    }

    fn begin(&mut self, index: usize, span: Span, active: usize, now: Ns) {
        let is_beside = self.devices.iter().any(|gpu| !gpu.flights.is_empty());
        let unit = self.scenario.shared_task_ns(active) * self.beside(is_beside);
        let unit = unit * self.noise.next();
        let turn = self.turn();
        let cost = self.scenario.cost(&span) * unit;
        let began = now + self.scenario.span_ns;
        let end = ends(began, cost, self.scenario.cpu_load);
        self.events.push((end, Event::Worker { index, turn }));
        let overdue = began + self.schedule.cpu_patience(span.range().start);
        if overdue < end {
            self.events.push((overdue, Event::Overdue { index, turn }));
        }
        self.workers[index] = Some(Busy {
            span,
            began,
            unit,
            turn,
        });
    }

    /// How many times as long what begins now takes.
    fn beside(&self, is_beside: bool) -> f64 {
        match is_beside {
            true => self.scenario.hindrance,
            false => 1.0,
        }
    }

    /// Workers with long spans look up from them, and give tails back.
    fn look_up(&mut self, now: Ns) {
        for index in 0..self.workers.len() {
            let began = self.workers[index].as_ref().map(|busy| busy.began);
            let Some(looks) = began.map(|began| now.max(began + LOOK_NS)) else {
                continue;
            };
            if self.give_tail(index, looks, Schedule::cpu_look) {
                for index in 0..self.workers.len() {
                    if self.workers[index].is_none() && !self.work(index, looks) {
                        break;
                    }
                }
                self.drive_all(looks);
                return;
            }
        }
    }

    /// A worker gives back so many tasks of those that it has not begun at that time.
    fn give_tail(
        &mut self,
        index: usize,
        at: Ns,
        gives: impl FnOnce(&mut Schedule, usize) -> usize,
    ) -> bool {
        let load = self.scenario.cpu_load;
        let Some(busy) = &self.workers[index] else {
            return false;
        };
        let range = busy.span.range();
        let before = &self.scenario.costs_before;
        // The next end of a task after that.
        let first = range.start + 1;
        let is_before = |sum: &f64| {
            let cost = sum - before[range.start];
            ends(busy.began, cost * busy.unit, load) < at
        };
        let begun = first + before[first..range.end].partition_point(is_before);
        let gives = gives(&mut self.schedule, range.end - begun);
        let Some(busy) = self.workers[index].take_if(|_| gives > 0) else {
            return false;
        };
        let (span, tail) = busy.span.split(range.len() - gives);
        let end = ends(busy.began, self.scenario.cost(&span) * busy.unit, load);
        let turn = self.turn();
        self.events.push((end, Event::Worker { index, turn }));
        self.workers[index] = Some(Busy { span, turn, ..busy });
        if let Some(tail) = tail {
            self.schedule.give_back(tail);
        }
        true
    }

    fn worker(&mut self, index: usize, turn: u64, now: Ns) {
        let Some(busy) = self.workers[index].take_if(|busy| busy.turn == turn) else {
            return;
        };
        self.makespan = self.makespan.max(now);
        self.cpu_tasks += busy.span.len();
        self.cpu_spans += 1;
        self.cpu_busy += now - busy.began;
        self.schedule.cpu_did(busy.span.range(), now - busy.began);
        if !self.work(index, now) {
            self.drive_all(now);
        }
    }

    fn launch_ended(&mut self, gpu: usize, turn: u64, now: Ns) {
        let flights = &mut self.devices[gpu].flights;
        let Some(flight) = flights.pop_front_if(|flight| flight.turn == turn) else {
            return;
        };
        self.makespan = self.makespan.max(now);
        let began = flight.began.max(self.devices[gpu].last_end);
        self.devices[gpu].last_end = now;
        let (start, tasks) = (flight.span.range().start, flight.span.len());
        self.launches += 1;
        self.gpu_tasks += tasks;
        self.gpu_busy[gpu] += now - began;
        let took = LaunchTime {
            ns: Some(now - began),
            ..LaunchTime::default()
        };
        let after = self.schedule.gpu_succeeded(gpu, start, tasks, took, now);
        self.drive(gpu, now);
        if after.wakes {
            self.wake_workers(now);
        }
    }

    fn drive_all(&mut self, now: Ns) {
        (0..self.devices.len()).for_each(|gpu| self.drive(gpu, now));
    }

    /// A driver's turn.
    fn drive(&mut self, gpu: usize, now: Ns) {
        loop {
            let turn = self.schedule.gpu_turn(gpu, now);
            if self.schedule.take_wakes() {
                self.wake_workers(now);
            }
            match turn {
                GpuTurn::Run(span) => {
                    let mut what = self.scenario.gpus[gpu];
                    if span.len() > what.most_tasks {
                        let kind = DeviceErrorKind::OutOfMemory;
                        if self.schedule.gpu_failed(gpu, span, kind, now).wakes {
                            self.wake_workers(now);
                        }
                        continue;
                    }
                    // At the beginning the workers have nothing yet.
                    let is_beside =
                        self.workers.iter().any(Option::is_some) || now == 0.0 && self.cpu_works;
                    let unit = self.scenario.lane_task_ns(&what) * self.beside(is_beside);
                    let noise = self.noise.next();
                    what.launch_ns *= noise;
                    let cost = self.scenario.cost(&span) * unit * noise;
                    let (turn, began) = (self.turn(), now);
                    let device = &mut self.devices[gpu];
                    let end = what.ends(now, cost, &mut device.free);
                    device.flights.push_back(Flight { span, began, turn });
                    self.events.push((end, Event::Launch { gpu, turn }));
                }
                GpuTurn::Recall => {
                    let Some(flight) = self.devices[gpu].flights.pop_back() else {
                        return;
                    };
                    let began = flight.began.max(self.devices[gpu].last_end);
                    self.gpu_busy[gpu] += (now - began).max(0.0);
                    self.schedule.gpu_recalled(gpu, flight.span, now);
                    self.wake_workers(now);
                }
                GpuTurn::Wait(until) => {
                    self.devices[gpu].waits = true;
                    self.events
                        .push((until.max(now + 1.0), Event::Look { gpu }));
                    return;
                }
                GpuTurn::Done => return,
            }
        }
    }

    pub(super) fn result(&self, decision: Box<Decision>) -> Simulated {
        Simulated {
            makespan_ns: self.makespan,
            gpu_tasks: self.gpu_tasks,
            launches: self.launches,
            cpu_spans: self.cpu_spans,
            cpu_busy_ns: self.cpu_busy / self.scenario.workers as f64,
            gpu_busy_ns: self.gpu_busy.clone(),
            decision,
        }
    }

    pub(super) fn teach(&mut self, costs: &Costs, decision: &Decision, known: &OperationCosts) {
        let took = (self.makespan, decision.predicted_split(known));
        costs.change(|model| {
            let mut batch = Learned {
                model,
                operation: "simulated",
                memory_per_task: self.scenario.memory_per_task,
                at: SystemTime::now(),
                workers: self.scenario.workers,
                way: decision.way().map(|way| {
                    let took = Took {
                        ns: self.makespan,
                        cpu: self.cpu_busy / self.scenario.workers as f64,
                        gpus: self.gpu_busy.clone(),
                        times: decision
                            .predicted_ns()
                            .map_or(1.0, |ns| self.makespan / ns.max(1.0)),
                    };
                    (way, took)
                }),
            };
            let names = self.scenario.names();
            self.schedule
                .teach(&mut batch, &names, self.cpu_tasks, took);
        });
    }
}
