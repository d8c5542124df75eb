//! The events of a simulated batch: workers and drivers act as the executor's threads do, on cores
//! that they share.

use std::collections::VecDeque;
use std::time::SystemTime;

use super::host::{Cores, Who};
use super::noise::Factors;
use super::scenario::{Scenario, Simulated};
use crate::error::DeviceErrorKind;
use crate::plan::Model;
use crate::plan::{Decision, ExecutionStrategy, Learned, OperationCosts, Took};
use crate::schedule::{Driver, Ns, Pause, Schedule, Span, Step, until_look};

/// How often a worker looks up from its span, ns: the executor's own.
const LOOK_NS: Ns = 100_000.0;

/// Most events per task, and more if there are few: a batch without progress does not end.
const STEPS: usize = 1_000;

/// An event at a time, unless a computation ends before it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    /// A woken worker looks for a span.
    Worker(usize),
    /// A worker's span takes far longer than expected.
    Overdue { worker: usize, turn: u64 },
    /// A driver's sleep is over.
    Slept { gpu: usize, turn: u64 },
    /// A driver that is awake has a core.
    Driver(usize),
    /// The oldest launch of a GPU is done on the device.
    Launch { gpu: usize, turn: u64 },
}

/// A worker.
#[derive(Debug)]
enum Worker {
    Idle,
    /// Woken, and not running yet.
    Wakes,
    Busy(Busy),
}

/// A worker's span.
#[derive(Debug)]
struct Busy {
    span: Span,
    began: Ns,
    /// Core time of a unit of cost, and of taking the span.
    unit: Ns,
    fixed: Ns,
    turn: u64,
    /// Tasks until the next poll, and of the chunk that ends there.
    until: usize,
    chunk: usize,
    /// Another worker is idle, or the span is overdue: at the next poll it may give tasks back.
    looks: bool,
    is_overdue: bool,
}

#[derive(Debug)]
struct DeviceJob {
    span: Span,
    began: Ns,
    turn: u64,
    /// When the device is done with it, if known.
    end: Ns,
}

/// What a driver is doing.
#[derive(Debug)]
enum At {
    /// It waits for a core.
    Wakes,
    Sleeps(u64),
    /// It copies inputs and launches, since then, beside workers or not.
    Submits(Span, Ns, bool),
    /// It copies the outputs of the oldest launch.
    Collects,
    /// It looks again at once.
    Spins,
    /// It has returned.
    Returned,
}

#[derive(Debug)]
struct Device {
    driver: Driver,
    at: At,
    flights: VecDeque<DeviceJob>,
    /// Work of a software GPU's threads, launch by launch.
    queue: VecDeque<(u64, Ns)>,
    /// When its upload, its compute and its download are done with everything launched.
    free: [Ns; 3],
    launches: usize,
}

pub(super) struct Run<'s> {
    scenario: &'s Scenario,
    schedule: Schedule,
    /// The CPU has a share of the batch from the beginning.
    cpu_works: bool,
    now: Ns,
    events: Vec<(Ns, Event)>,
    cores: Cores,
    workers: Vec<Worker>,
    /// A worker found nothing to do while another had much.
    is_hungry: bool,
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
        let device = |_| Device {
            driver: Driver::default(),
            at: At::Wakes,
            flights: VecDeque::new(),
            queue: VecDeque::new(),
            free: [0.0; 3],
            launches: 0,
        };
        Self {
            scenario,
            schedule,
            cpu_works: strategy != ExecutionStrategy::GpuOnly,
            now: 0.0,
            events: Vec::new(),
            cores: Cores::of(&scenario.host, scenario.workers),
            workers: (0..scenario.workers).map(|_| Worker::Idle).collect(),
            is_hungry: false,
            devices: scenario.gpus.iter().map(device).collect(),
            noise: scenario.factors(),
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
        let all = self.scenario.tasks();
        // The executor's first turns, which it takes before the workers begin.
        (0..self.devices.len()).for_each(|gpu| self.drive(gpu));
        self.wake_workers();
        for _ in 0..STEPS.saturating_mul(all + STEPS) {
            if self.cpu_tasks + self.gpu_tasks == all {
                return;
            }
            let times = self.events.iter().enumerate();
            let event = times.min_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b));
            let event = event.map(|(index, (at, _))| (index, *at));
            let event = event.filter(|(_, at)| at.is_finite());
            let done = self.cores.next();
            match (event, done) {
                (Some((index, at)), done) if done.is_none_or(|(end, _)| at <= end) => {
                    let (_, event) = self.events.swap_remove(index);
                    self.pass(at);
                    self.happens(event);
                }
                (_, Some((end, who))) => {
                    self.pass(end);
                    if let Some(who) = who {
                        self.cores.end(who);
                        self.computed(who);
                    }
                }
                (_, None) => {
                    if self.schedule.is_empty() {
                        break;
                    }
                    // The executor's last step: the CPU runs the remaining tasks.
                    self.schedule.leave_all_gpus();
                    self.wake_workers();
                }
            }
        }
        self.makespan = Ns::INFINITY;
    }

    fn pass(&mut self, to: Ns) {
        self.cores.pass(to.max(self.now));
        self.now = to.max(self.now);
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Worker(index) => {
                if matches!(self.workers[index], Worker::Wakes) {
                    self.worker_looks(index);
                }
            }
            Event::Overdue { worker, turn } => {
                if let Worker::Busy(busy) = &mut self.workers[worker]
                    && busy.turn == turn
                {
                    busy.is_overdue = true;
                    self.look_up(worker);
                }
            }
            Event::Slept { gpu, turn } => {
                if matches!(self.devices[gpu].at, At::Sleeps(slept) if slept == turn) {
                    self.wake_driver(gpu);
                }
            }
            Event::Driver(gpu) => self.drive(gpu),
            Event::Launch { gpu, turn } => {
                let flights = &self.devices[gpu].flights;
                if flights.iter().any(|flight| flight.turn == turn) {
                    self.wake_driver(gpu);
                }
            }
        }
    }

    /// A thread has finished its computation.
    fn computed(&mut self, who: Who) {
        match who {
            Who::Worker(index) => self.chunk_ended(index),
            Who::Device(gpu) => {
                let device = &mut self.devices[gpu];
                let Some((turn, _)) = device.queue.pop_front() else {
                    return;
                };
                let next = device.queue.front().copied();
                if let Some(flight) = device.flights.iter_mut().find(|flight| flight.turn == turn) {
                    flight.end = self.now;
                }
                if let Some((_, work)) = next {
                    let threads = self.scenario.gpus[gpu].threads;
                    self.cores.start(who, work, threads as f64, None);
                }
                self.wake_driver(gpu);
            }
            Who::Driver(gpu) => match std::mem::replace(&mut self.devices[gpu].at, At::Wakes) {
                At::Submits(span, began, is_beside) => {
                    self.launched(gpu, span, began, is_beside);
                }
                At::Collects => self.launch_ended(gpu),
                _ => self.drive(gpu),
            },
        }
    }

    fn turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    /// Returns the delay until a thread that is woken now runs.
    fn wake_ns(&mut self) -> Ns {
        let host = &self.scenario.host;
        match self.cores.are_crowded() {
            true => host.crowded_wake_ns * self.noise.delay(),
            false => host.wake_ns,
        }
    }

    /// Idle workers look for spans. The first that is awake wakes the rest.
    fn wake_workers(&mut self) {
        let mut at = self.now;
        for index in 0..self.workers.len() {
            if matches!(self.workers[index], Worker::Idle) {
                self.workers[index] = Worker::Wakes;
                let is_second = at > self.now;
                at = self.now + self.scenario.host.wake_ns * if is_second { 2.0 } else { 1.0 };
                self.events.push((at, Event::Worker(index)));
            }
        }
    }

    /// A worker looks for a span.
    fn worker_looks(&mut self, index: usize) {
        self.workers[index] = Worker::Idle;
        let Some(span) = self.schedule.cpu_turn(self.now) else {
            self.is_hungry = self.schedule.is_hungry();
            if self.is_hungry {
                (0..self.workers.len()).for_each(|index| self.look_up(index));
            }
            return self.wake_drivers();
        };
        // Workers that begin at the same time wait for each other too.
        let is_idle = |worker: &&Worker| matches!(worker, Worker::Idle);
        let active = 1 + self.workers.len() - self.workers.iter().filter(is_idle).count();
        let is_at_work =
            |gpu: &Device| !gpu.flights.is_empty() || matches!(gpu.at, At::Submits(..));
        let is_beside = self.devices.iter().any(is_at_work);
        let unit = self.scenario.shared_task_ns(active) * self.beside(is_beside);
        let (unit, turn) = (unit * self.noise.next(), self.turn());
        let fixed = self.scenario.host.span_ns;
        let overdue = self.now + self.schedule.cpu_patience(span.range().start);
        if overdue.is_finite() {
            let worker = index;
            self.events.push((overdue, Event::Overdue { worker, turn }));
        }
        let busy = Busy {
            began: self.now,
            unit,
            fixed,
            turn,
            until: 1,
            chunk: 1,
            looks: false,
            is_overdue: false,
            span,
        };
        let work = self.work(&busy, busy.span.len());
        let load = self.scenario.cpu_load;
        self.cores.start(Who::Worker(index), work, 1.0, load);
        self.workers[index] = Worker::Busy(busy);
        if self.is_hungry {
            self.look_up(index);
        }
    }

    /// Returns the core time of the first tasks of a worker's span, ns.
    fn work(&self, busy: &Busy, tasks: usize) -> Ns {
        let start = busy.span.range().start;
        let before = &self.scenario.costs_before;
        busy.fixed + busy.unit * (before[start + tasks] - before[start])
    }

    /// Returns the slow-down of work that begins now.
    fn beside(&self, is_beside: bool) -> f64 {
        match is_beside {
            true => self.scenario.hindrance,
            false => 1.0,
        }
    }

    /// Makes a worker stop at its next poll, which may be the end of its span.
    fn look_up(&mut self, index: usize) {
        let Worker::Busy(busy) = &self.workers[index] else {
            return;
        };
        if busy.looks {
            return;
        }
        let tasks = busy.span.len();
        let left = self.cores.left(Who::Worker(index));
        let done = self.work(busy, tasks) - left;
        let (mut until, mut chunk) = (busy.until, busy.chunk);
        // Sums of floats: what is a nanosecond away counts as reached.
        while until < tasks && self.work(busy, until) <= done + 1.0 {
            let each = self.work(busy, until) / until as f64;
            chunk = until_look(chunk, LOOK_NS, each);
            until = (until + chunk).min(tasks);
        }
        let after = self.work(busy, tasks) - self.work(busy, until);
        self.cores.shorten(Who::Worker(index), after);
        if let Worker::Busy(busy) = &mut self.workers[index] {
            (busy.until, busy.chunk, busy.looks) = (until, chunk, true);
        }
    }

    /// Ends a worker's span, or a chunk of it.
    fn chunk_ended(&mut self, index: usize) {
        let Worker::Busy(mut busy) = std::mem::replace(&mut self.workers[index], Worker::Idle)
        else {
            return;
        };
        let tasks = busy.span.len();
        let done = if busy.looks { busy.until } else { tasks };
        let mut tail = None;
        if done < tasks {
            let gives = busy.is_overdue || self.is_hungry && self.schedule.cpu_look(tasks - done);
            self.is_hungry = self.schedule.is_hungry();
            if !gives {
                let left = self.work(&busy, tasks) - self.work(&busy, done);
                busy.looks = false;
                let load = self.scenario.cpu_load;
                self.cores.start(Who::Worker(index), left, 1.0, load);
                self.workers[index] = Worker::Busy(busy);
                if self.is_hungry {
                    self.look_up(index);
                }
                return;
            }
            let (first, rest) = busy.span.split(done);
            (busy.span, tail) = (first, rest);
        }
        self.makespan = self.now;
        self.cpu_tasks += done;
        self.cpu_spans += 1;
        self.cpu_busy += self.now - busy.began;
        self.schedule
            .cpu_did(busy.span.range(), self.now - busy.began);
        if let Some(tail) = tail {
            self.schedule.give_back(tail);
            self.wake_drivers();
            self.wake_workers();
        }
        self.worker_looks(index);
    }

    /// Drivers that sleep look again.
    fn wake_drivers(&mut self) {
        (0..self.devices.len()).for_each(|gpu| self.wake_driver(gpu));
    }

    fn wake_driver(&mut self, gpu: usize) {
        if matches!(self.devices[gpu].at, At::Sleeps(_)) {
            let at = self.now + self.wake_ns();
            self.devices[gpu].at = At::Wakes;
            self.events.push((at, Event::Driver(gpu)));
        }
    }

    fn driver_sleeps(&mut self, gpu: usize, ns: Ns) {
        let turn = self.turn();
        self.devices[gpu].at = At::Sleeps(turn);
        self.events
            .push((self.now + ns, Event::Slept { gpu, turn }));
    }

    /// A driver computes for a while.
    fn driver_computes(&mut self, gpu: usize, at: At, work: Ns) {
        self.devices[gpu].at = at;
        self.cores.start(Who::Driver(gpu), work, 1.0, None);
    }

    /// A driver's turn.
    fn drive(&mut self, gpu: usize) {
        let now = self.now;
        let turn = self.schedule.gpu_turn(gpu, now);
        if self.schedule.take_wakes() {
            self.wake_workers();
        }
        let (what, host) = (&self.scenario.gpus[gpu], self.scenario.host);
        // At the beginning the workers have nothing yet.
        let is_busy = |worker: &Worker| matches!(worker, Worker::Busy(_));
        let is_beside = self.workers.iter().any(is_busy) || now == 0.0 && self.cpu_works;
        let device = &mut self.devices[gpu];
        match device.driver.step(turn, now) {
            Step::Start(span) if span.len() > what.most_tasks => {
                let kind = DeviceErrorKind::OutOfMemory;
                if self.schedule.gpu_failed(gpu, span, kind, now).wakes {
                    self.wake_workers();
                }
                self.driver_computes(gpu, At::Spins, host.look_ns);
            }
            Step::Start(span) => {
                let compiles = self.scenario.compiles && device.launches == 0;
                let first = if compiles { what.compile_ns } else { 0.0 };
                let work = first + what.submit_ns + what.host_ns[0] * span.len() as f64;
                device.launches += 1;
                self.driver_computes(gpu, At::Submits(span, now, is_beside), work);
            }
            Step::Recall => {
                device.driver.gave_up();
                if let Some(flight) = device.flights.pop_back() {
                    self.gpu_busy[gpu] += (now - flight.began).max(0.0);
                    self.schedule.gpu_recalled(gpu, flight.span, now);
                    self.wake_workers();
                }
                self.driver_computes(gpu, At::Spins, host.look_ns);
            }
            Step::Look(until) => {
                let oldest = device.flights.front();
                if let Some(flight) = oldest.filter(|flight| flight.end <= now) {
                    let work = what.host_ns[1] * flight.span.len() as f64 + what.collect_ns;
                    return self.driver_computes(gpu, At::Collects, work);
                }
                match device.driver.pause(now, until, None) {
                    Pause::Spin if host.look_ns > 0.0 => {
                        self.driver_computes(gpu, At::Spins, host.look_ns);
                    }
                    Pause::Spin | Pause::TimedOut => self.driver_sleeps(gpu, LOOK_NS),
                    Pause::Sleep(ns) => self.driver_sleeps(gpu, ns),
                }
            }
            Step::Sleep(ns) => self.driver_sleeps(gpu, ns),
            Step::Return => device.at = At::Returned,
        }
    }

    /// A driver has submitted a launch.
    fn launched(&mut self, gpu: usize, span: Span, began: Ns, is_beside: bool) {
        let mut what = self.scenario.gpus[gpu];
        let unit = self.scenario.lane_task_ns(&what) * self.beside(is_beside);
        let noise = self.noise.next();
        what.launch_ns = what.launch_ns * noise + self.noise.rare();
        let cost = self.scenario.cost(&span) * unit * noise;
        let turn = self.turn();
        let device = &mut self.devices[gpu];
        device.driver.submitted(began);
        let end = match what.threads {
            0 => what.ends(self.now, cost, &mut device.free),
            _ => Ns::INFINITY,
        };
        if what.threads > 0 {
            let work = what.launch_ns + cost;
            device.queue.push_back((turn, work));
            if device.queue.len() == 1 {
                let threads = what.threads as f64;
                self.cores.start(Who::Device(gpu), work, threads, None);
            }
        }
        device.flights.push_back(DeviceJob {
            span,
            began,
            turn,
            end,
        });
        self.events.push((end, Event::Launch { gpu, turn }));
        self.drive(gpu);
    }

    /// A driver has the outputs of the oldest launch.
    fn launch_ended(&mut self, gpu: usize) {
        let device = &mut self.devices[gpu];
        let Some(flight) = device.flights.pop_front() else {
            return;
        };
        let (_, time, took) = device.driver.ended(self.now);
        self.makespan = self.now;
        self.launches += 1;
        let (start, tasks) = (flight.span.range().start, flight.span.len());
        self.gpu_tasks += tasks;
        self.gpu_busy[gpu] += time;
        let after = self
            .schedule
            .gpu_succeeded(gpu, start, tasks, took, self.now);
        if after.wakes {
            self.wake_workers();
        }
        self.drive(gpu);
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

    pub(super) fn teach(&mut self, model: &mut Model, decision: &Decision, known: &OperationCosts) {
        let workers = self.scenario.workers;
        let cpu_busy = self.cpu_busy / workers as f64;
        let mut batch = Learned {
            model,
            operation: "simulated",
            memory_per_task: self.scenario.memory_per_task,
            // Observations count in the order in which they are made.
            at: SystemTime::UNIX_EPOCH,
            workers,
            way: decision.way().map(|way| {
                let predicted = decision.predicted_ns();
                let took = Took {
                    ns: self.makespan,
                    cpu: cpu_busy,
                    gpus: self.gpu_busy.clone(),
                    times: predicted.map_or(1.0, |ns| self.makespan / ns.max(1.0)),
                };
                (way, took)
            }),
        };
        let names = self.scenario.names();
        let took = (self.makespan, decision.predicted_split(known));
        self.schedule
            .teach(&mut batch, &names, self.cpu_tasks, took);
    }
}
