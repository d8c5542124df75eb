//! The events of a simulated batch.

use std::collections::VecDeque;
use std::time::SystemTime;

use super::{GPU, Scenario};
use crate::execute::schedule::{GpuTurn, Ns, Schedule};
use crate::execute::spans::Span;
use crate::plan::{Costs, Observation, RanOn};

/// What happens at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    /// A worker ended a span of so many tasks, begun then.
    Worker { tasks: usize, began: Ns },
    /// The oldest launch ended, begun then.
    Launch { began: Ns },
    /// The driver looks again.
    Look,
}

pub(super) struct Run<'s> {
    scenario: &'s Scenario,
    schedule: Schedule,
    events: Vec<(Ns, Event)>,
    idle_workers: usize,
    flights: VecDeque<(Span, Ns)>,
    /// When the device is done with all that was launched.
    device_free: Ns,
    driver_waits: bool,
    pub(super) launches: Vec<(usize, Ns)>,
    /// Launches that were taken back, and when.
    recalled: Vec<(usize, Ns)>,
    cpu_tasks: usize,
    pub(super) cpu_spans: usize,
    cpu_busy: f64,
    pub(super) makespan: Ns,
}

impl<'s> Run<'s> {
    pub(super) fn new(scenario: &'s Scenario, schedule: Schedule) -> Self {
        Self {
            scenario,
            schedule,
            events: Vec::new(),
            idle_workers: scenario.workers,
            flights: VecDeque::new(),
            recalled: Vec::new(),
            device_free: 0.0,
            driver_waits: false,
            launches: Vec::new(),
            cpu_tasks: 0,
            cpu_spans: 0,
            cpu_busy: 0.0,
            makespan: 0.0,
        }
    }

    pub(super) fn run(&mut self) {
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
                Event::Launch { began } => {
                    self.makespan = self.makespan.max(now);
                    let tasks = self.flights.pop_front().map_or(0, |(span, _)| span.len());
                    self.launches.push((tasks, now - began));
                    if self
                        .schedule
                        .gpu_did(tasks, Some(now - began), now, self.flights.len())
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
            self.recall(now);
        }
    }

    /// Takes back what is in flight when it lasts too long, all else being done.
    fn recall(&mut self, now: Ns) {
        let Some(&(_, began)) = self.flights.front() else {
            return;
        };
        let tasks = self.flights.iter().map(|(span, _)| span.len()).sum();
        let is_idle = self.idle_workers == self.scenario.workers;
        let Some(at) = self.schedule.recall_at(tasks, began).filter(|_| is_idle) else {
            return;
        };
        if now < at {
            self.events.push((at, Event::Look));
            return;
        }
        self.events
            .retain(|(_, event)| !matches!(event, Event::Launch { .. }));
        self.schedule.gpu_is_gone();
        for (span, began) in std::mem::take(&mut self.flights) {
            self.recalled.push((span.len(), now - began));
            self.schedule.spans().give_back(span);
        }
        self.wake_workers(now);
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
        let active = self.scenario.workers - self.idle_workers;
        let work = self.scenario.task_costs.of(&span) * self.scenario.shared_task_ns(active);
        let end = ends(now, work, self.scenario.cpu_load);
        let tasks = span.len();
        self.cpu_tasks += tasks;
        self.cpu_spans += 1;
        self.events.push((end, Event::Worker { tasks, began: now }));
        true
    }

    /// The driver's turn.
    fn drive(&mut self, now: Ns) {
        while self.flights.len() < 2 {
            let is_over = match self.schedule.take_gpu(now, self.flights.len()) {
                GpuTurn::Run(span) => {
                    let tasks = span.len();
                    self.schedule.gpu_launched(tasks, now);
                    let began = now.max(self.device_free);
                    let work = self.scenario.task_costs.of(&span) * self.scenario.lane_task_ns();
                    self.flights.push_back((span, began));
                    let end = ends(
                        began + self.scenario.launch_ns,
                        work,
                        self.scenario.gpu_load,
                    );
                    self.device_free = end;
                    self.events.push((end, Event::Launch { began }));
                    false
                }
                GpuTurn::Wait(until) => {
                    if self.flights.is_empty() {
                        self.driver_waits = true;
                        self.events.push((until.max(now + 1.0), Event::Look));
                    }
                    true
                }
                GpuTurn::Done => true,
            };
            if self.schedule.end_reserve() {
                self.wake_workers(now);
            }
            if is_over {
                return;
            }
        }
    }

    pub(super) fn teach(&self, costs: &Costs, memory: usize, is_known: bool) {
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
        let tried = !self.launches.is_empty() || !self.recalled.is_empty();
        if self.cpu_tasks > 0 {
            tell(
                RanOn::Cpu,
                self.cpu_tasks,
                match tried {
                    false => self.makespan,
                    true => self.cpu_busy / workers,
                },
            );
        }
        // They would have taken at least so long.
        for (tasks, ns) in self.launches.iter().take(8).chain(&self.recalled) {
            tell(RanOn::Gpu(GPU), *tasks, *ns);
        }
        if self.cpu_tasks > 0 && !self.launches.is_empty() && is_known {
            tell(RanOn::Both(GPU), self.scenario.tasks(), self.makespan);
        }
        let gpu = tried.then_some(GPU);
        costs.note_run(
            "simulated",
            memory,
            ns_of(self.makespan),
            self.cpu_tasks > 0,
            gpu,
        );
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

#[expect(clippy::cast_sign_loss, reason = "a time is not negative")]
fn ns_of(ns: f64) -> u64 {
    ns.round() as u64
}
