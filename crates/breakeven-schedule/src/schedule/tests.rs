//! Random walks through a schedule, as the executor does, but in virtual time: one to four GPUs
//! that are up to three times slower or faster than usual, fail or stall, and workers that come at
//! any time and give tails back. Some thread always makes progress until nothing is left, and every
//! task is done once.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use super::test_setups::{any_setup, any_time};
use super::{GpuSetup, GpuTurn, LaunchTime, Ns, Schedule, Setup, Span};
use crate::error::DeviceErrorKind;
use crate::plan::{Order, PLACES, Shape};

/// Walks of one run; unoptimised ones take long.
const WALKS: u64 = if cfg!(debug_assertions) {
    20_000
} else {
    200_000
};

/// Steps in a row in which no task is done.
const PATIENCE: usize = 2_000;

const KINDS: [DeviceErrorKind; 6] = [
    DeviceErrorKind::OutOfMemory,
    DeviceErrorKind::NeverFits,
    DeviceErrorKind::Refused,
    DeviceErrorKind::Launch,
    DeviceErrorKind::Compile,
    DeviceErrorKind::DeviceLost,
];

/// What a driver's thread does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Driver {
    Looks,
    Sleeps(Ns),
    HasEnded,
}

/// A span in progress, with its begin and end.
#[derive(Debug)]
struct Held {
    span: Span,
    since: Ns,
    until: Ns,
}

#[derive(Debug)]
struct Device {
    driver: Driver,
    flights: VecDeque<Held>,
    /// What a launch and one of its tasks take.
    times: [Ns; 2],
    fails: bool,
    stalls: bool,
}

/// Threads around a schedule, one step of one of them at a time.
struct Walk {
    random: Random,
    schedule: Schedule,
    now: Ns,
    task_ns: Ns,
    /// Idle workers that have not looked for a span yet, and all idle ones.
    turns: usize,
    idle: usize,
    busy: Vec<Held>,
    devices: Vec<Device>,
    done: Vec<bool>,
    /// Tasks that were taken back from a GPU.
    recalled: Vec<bool>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut random = Random::seed_from_u64(seed);
        let setup = any_setup(&mut random);
        let may_stall = setup.orders.cpu == Order::AsMuchAsPays && setup.orders.by_prediction;
        let device = |_: &GpuSetup| Device {
            driver: Driver::Looks,
            flights: VecDeque::new(),
            times: [any_time(&mut random), any_time(&mut random)],
            fails: random.random_bool(0.3),
            stalls: may_stall && random.random_bool(0.2),
        };
        let devices = setup.gpus.iter().map(device).collect();
        Self {
            now: 0.0,
            task_ns: any_time(&mut random),
            turns: setup.workers,
            idle: setup.workers,
            busy: Vec::new(),
            devices,
            done: vec![false; setup.tasks],
            recalled: vec![false; setup.tasks],
            schedule: Schedule::new(setup),
            random,
        }
    }

    /// A time of about so long.
    fn until(&mut self, ns: Ns) -> Ns {
        self.now + ns * 3_f64.powf(self.random.random_range(-1.0..1.0))
    }

    fn wake_workers(&mut self) {
        self.turns = self.idle;
    }

    fn wake_drivers(&mut self) {
        for device in &mut self.devices {
            // A driver that has ended for want of work is not asked again.
            if device.driver != Driver::HasEnded || !device.flights.is_empty() {
                device.driver = Driver::Looks;
            }
        }
    }

    fn is_done(&mut self, tasks: Range<usize>) {
        for task in &mut self.done[tasks] {
            assert!(!std::mem::replace(task, true), "a task was done twice");
        }
    }

    fn worker_looks(&mut self) {
        self.turns -= 1;
        match self.schedule.cpu_turn(self.now) {
            Some(span) => {
                self.idle -= 1;
                let until = self.until(self.task_ns * span.len() as f64);
                self.busy.push(Held {
                    span,
                    since: self.now,
                    until,
                });
            }
            None => self.wake_drivers(),
        }
    }

    fn worker_ends(&mut self, index: usize) {
        let Held { span, since, .. } = self.busy.swap_remove(index);
        self.schedule.cpu_did(span.range(), self.now - since);
        self.is_done(span.range());
        (self.idle, self.turns) = (self.idle + 1, self.turns + 1);
        if self.schedule.is_empty() {
            self.wake_drivers();
        }
    }

    /// A worker looks up from its span, and gives the tail back if it must.
    fn worker_looks_up(&mut self) {
        let index = self.random.random_range(0..self.busy.len());
        let Range { start, end } = self.busy[index].span.range();
        let left = self.random.random_range(0..end - start);
        let patience = self.schedule.cpu_patience(start);
        let is_overdue = self.now - self.busy[index].since > patience;
        if left == 0 || !is_overdue && !self.schedule.cpu_look(left) {
            return;
        }
        let Held { span, since, .. } = self.busy.swap_remove(index);
        let (done, tail) = span.split(end - start - left);
        self.schedule.cpu_did(done.range(), self.now - since);
        self.is_done(done.range());
        let tail = tail.expect("it gives some");
        self.schedule.give_back(tail);
        self.idle += 1;
        self.wake_workers();
        self.wake_drivers();
    }

    fn driver_looks(&mut self, gpu: usize) {
        let turn = self.schedule.gpu_turn(gpu, self.now);
        if self.schedule.take_wakes() {
            self.wake_workers();
        }
        match turn {
            GpuTurn::Run(span) => {
                let is_taken_back = self.recalled[span.range()].contains(&true);
                assert!(!is_taken_back, "a GPU gets what is the CPU's");
                let [launch, each] = self.devices[gpu].times;
                let until = match self.devices[gpu].stalls && self.random.random_bool(0.3) {
                    true => Ns::INFINITY,
                    false => self.until(launch + each * span.len() as f64),
                };
                let flights = &mut self.devices[gpu].flights;
                let last = flights.back().map_or(0.0, |last| last.until);
                flights.push_back(Held {
                    span,
                    since: self.now,
                    until: until.max(last),
                });
            }
            GpuTurn::Recall => {
                let recalled = self.devices[gpu].flights.pop_back().expect("it flies");
                self.recalled[recalled.span.range()].fill(true);
                self.schedule.gpu_recalled(gpu, recalled.span, self.now);
                self.wake_workers();
            }
            GpuTurn::Wait(until) => self.devices[gpu].driver = Driver::Sleeps(until),
            GpuTurn::Done => self.devices[gpu].driver = Driver::HasEnded,
        }
    }

    fn launch_ends(&mut self, gpu: usize) {
        let Some(Held { span, since, .. }) = self.devices[gpu].flights.pop_front() else {
            return;
        };
        let after = match self.devices[gpu].fails && self.random.random_bool(0.3) {
            true => {
                let kind = KINDS[self.random.random_range(0..KINDS.len())];
                self.schedule.gpu_failed(gpu, span, kind, self.now)
            }
            false => {
                self.is_done(span.range());
                let ns = self.random.random_bool(0.9).then_some(self.now - since);
                let (start, tasks) = (span.range().start, span.len());
                let took = LaunchTime {
                    ns,
                    is_joint: self.random.random_bool(0.1),
                    moved: self.random.random_bool(0.1).then_some(1_000.0),
                };
                self.schedule
                    .gpu_succeeded(gpu, start, tasks, took, self.now)
            }
        };
        self.devices[gpu].driver = Driver::Looks;
        if after.drops_flights {
            for flight in std::mem::take(&mut self.devices[gpu].flights) {
                let _ = self.schedule.gpu_dropped(gpu, flight.span, self.now);
            }
        }
        if after.wakes {
            self.wake_workers();
            self.wake_drivers();
        }
    }

    /// Makes one possible step; returns false if there is none.
    fn step(&mut self) -> bool {
        let now = self.now;
        let is_due = |held: &Held| held.until <= now;
        let ends = |device: &Device| device.flights.front().is_some_and(is_due);
        let looks = |device: &Device| match device.driver {
            Driver::Looks => true,
            Driver::Sleeps(until) => until <= now,
            Driver::HasEnded => false,
        };
        let due = self.busy.iter().position(is_due);
        let ending = self.devices.iter().position(ends);
        let looking = (0..self.devices.len()).filter(|&gpu| looks(&self.devices[gpu]));
        let looking: Vec<usize> = looking.collect();
        let (ends, look) = (due.is_some(), !looking.is_empty());
        let can = [self.turns > 0, ends, ending.is_some(), look];
        if !can.contains(&true) {
            return self.waits();
        }
        self.now += 100.0;
        let looks_up = if self.schedule.is_hungry() { 0.3 } else { 0.1 };
        if !self.busy.is_empty() && self.random.random_bool(looks_up) {
            self.worker_looks_up();
            return true;
        }
        let mut who = self.random.random_range(0..can.len());
        while !can[who] {
            who = (who + 1) % can.len();
        }
        match who {
            0 => self.worker_looks(),
            1 => self.worker_ends(due.expect("one can")),
            2 => self.launch_ends(ending.expect("one can")),
            _ => {
                let gpu = looking[self.random.random_range(0..looking.len())];
                self.driver_looks(gpu);
            }
        }
        true
    }

    /// Advances the time to the next possible step; returns false if there is none.
    fn waits(&mut self) -> bool {
        let workers = self.busy.iter().map(|held| held.until);
        let devices = self.devices.iter().flat_map(|device| {
            let sleeps = match device.driver {
                Driver::Sleeps(until) => until,
                Driver::Looks | Driver::HasEnded => Ns::INFINITY,
            };
            let ends = device.flights.front().map(|flight| flight.until);
            [sleeps, ends.unwrap_or(Ns::INFINITY)]
        });
        let times = workers.chain(devices).filter(|at| at.is_finite());
        let next = times.min_by(f64::total_cmp);
        self.now = next.map_or(self.now, |next| next + 1.0);
        next.is_some()
    }

    /// The batch is stopped: what fell back and was not done counts no more.
    fn stop(mut self) {
        let flights = self
            .devices
            .iter_mut()
            .flat_map(|gpu| gpu.flights.drain(..));
        for held in self.busy.drain(..).chain(flights) {
            self.schedule.give_back(held.span);
        }
        self.schedule.forget_unrun();
        let (all, of_gpus) = (self.schedule.fallback, self.schedule.fallback_of_gpus());
        assert_eq!(all, of_gpus.iter().sum::<usize>(), "{of_gpus:?}");
        let done = self.done.iter().filter(|done| **done).count();
        assert!(all <= done, "{all} of {done} tasks fell back");
        while let Some(span) = self.schedule.take_any() {
            self.is_done(span.range());
        }
        assert!(self.done.iter().all(|done| *done), "a task is lost");
    }

    /// Walks to the end: how many tasks were not done.
    fn run(&mut self) -> usize {
        let left = |walk: &Self| walk.done.iter().filter(|done| !**done).count();
        let (mut before, mut steps) = (usize::MAX, 0);
        while left(self) > 0 && steps < PATIENCE && self.step() {
            let left = left(self);
            steps = if left == before { steps + 1 } else { 0 };
            before = left;
        }
        left(self)
    }
}

#[test]
fn somebody_always_goes_on_and_every_task_is_done_once() {
    for seed in 0..WALKS {
        let mut walk = Walk::new(seed);
        let left = walk.run();
        assert_eq!(
            left, 0,
            "walk {seed}: nobody goes on at {}: {:?}\n{:?}\n{:?}",
            walk.now, walk.schedule, walk.devices, walk.busy
        );
    }
}

#[test]
fn a_task_falls_back_once_however_many_gpus_fail() {
    for seed in 0..WALKS {
        let mut walk = Walk::new(seed);
        walk.devices.iter_mut().for_each(|gpu| gpu.fails = true);
        let _ = walk.run();
        let fell = walk.schedule.fell.iter().filter(|(_, gpu)| gpu.is_some());
        let fell: Vec<usize> = fell.flat_map(|(tasks, _)| tasks.clone()).collect();
        let once: HashSet<_> = fell.iter().collect();
        assert_eq!(fell.len(), once.len(), "walk {seed}: {:?}", walk.schedule);
    }
}

#[test]
fn what_is_stopped_counts_what_was_done_in_a_gpus_place() {
    for seed in 0..WALKS {
        let mut walk = Walk::new(seed);
        walk.devices.iter_mut().for_each(|gpu| gpu.fails = true);
        for _ in 0..walk.random.random_range(1..200) {
            let _ = walk.step();
        }
        walk.stop();
    }
}

#[test]
fn launches_count_by_their_work() {
    let mut places = [0.5; PLACES];
    places[PLACES / 2..].fill(1.5);
    let mut random = Random::seed_from_u64(1);
    let shape = Shape {
        places,
        spread: 0.0,
        tail: 0.0,
    };
    let setup = Setup {
        tasks: 640,
        cpu: Some(1_000.0),
        shape: Some(Arc::new(shape)),
        ..any_setup(&mut random)
    };
    let schedule = Schedule::new(setup);
    assert_eq!(schedule.weigh(0..320, None), Some(160));
    assert_eq!(schedule.weigh(320..640, None), Some(480));
}
