//! Random walks through a schedule, as `engine` and `driver` go through it but
//! in virtual time: devices that take up to three times longer or shorter than
//! usual, launches that fail, workers that come when they like. Somebody always
//! goes on until nothing is left.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use super::rates::{CpuRate, GpuRate};
use super::schedule::{GpuTurn, Mode, Ns, Schedule, Terms};
use super::spans::Span;

/// Walks of one run.
const WALKS: u64 = 200_000;

/// Looks of the driver in a row that come to nothing while nobody works.
const PATIENCE: usize = 200;

/// A time between 100 ns and 100 µs, any order of magnitude as likely.
fn any_time(random: &mut Random) -> Ns {
    10_f64.powf(random.random_range(2.0..5.0))
}

fn any_terms(random: &mut Random) -> Terms {
    let most = [2, 40, 400][random.random_range(0..3)];
    let tasks = random.random_range(1..=most);
    let mode = match random.random_range(0..6) {
        0 => Mode::Gpu,
        1 => Mode::Split {
            gpu: random.random_range(0..=tasks),
        },
        _ => Mode::Both,
    };
    let cpu = match random.random_bool(0.5) {
        true => CpuRate::known(any_time(random), random.random()),
        false => CpuRate::default(),
    };
    let gpu = match random.random_range(0..4) {
        0 => GpuRate::known(any_time(random), any_time(random), random.random()),
        1 => GpuRate::unknown(Some(any_time(random))),
        2 => GpuRate::unknown(Some(0.0)),
        _ => GpuRate::unknown(None),
    };
    Terms {
        tasks,
        workers: random.random_range(1..=4),
        mode,
        corrects: random.random(),
        probes_cpu: random.random_bool(0.3),
        probes_gpu: random.random_bool(0.3),
        probe_tasks: random.random_range(1..=40),
        on_probation: random.random_bool(0.1),
        is_watched: random.random_bool(0.2),
        fits: match random.random_bool(0.3) {
            true => random.random_range(1..=tasks),
            false => usize::MAX,
        },
        cpu,
        gpu,
    }
}

macro_rules! say {
    ($walk:expr, $($text:tt)*) => {
        if let Some(said) = &mut $walk.said {
            said.push(format!($($text)*));
        }
    };
}

/// Threads around a schedule, one step of one of them at a time.
struct Walk {
    random: Random,
    terms: Terms,
    schedule: Schedule,
    now: Ns,
    /// Workers' jobs in the pool that have not looked for a span yet.
    turns: usize,
    /// Spans that workers have, since when, and until when at least.
    busy: Vec<(Span, Ns, Ns)>,
    flights: VecDeque<(Span, Ns, Ns)>,
    /// A worker's task, a launch and one of its tasks take about that long.
    times: [Ns; 3],
    retry: Vec<Span>,
    /// Launches fail now and then.
    fails: bool,
    /// The device was left.
    has_left: bool,
    driver: Driver,
    done: usize,
    /// Who did what, where somebody wants to know.
    said: Option<Vec<String>>,
}

/// What the driver's thread does while nothing is in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Driver {
    Looks,
    Sleeps(Ns),
    HasEnded,
}

impl Walk {
    fn new(seed: u64, said: bool) -> Self {
        let mut random = Random::seed_from_u64(seed);
        let terms = any_terms(&mut random);
        Self {
            schedule: Schedule::new(terms),
            fails: random.random_bool(0.3),
            times: [(); 3].map(|()| any_time(&mut random)),
            random,
            terms,
            now: 0.0,
            turns: if terms.mode == Mode::Gpu {
                0
            } else {
                terms.workers
            },
            busy: Vec::new(),
            flights: VecDeque::new(),
            retry: Vec::new(),
            has_left: false,
            driver: Driver::Looks,
            done: 0,
            said: said.then(Vec::new),
        }
    }

    /// A time of about so long.
    fn lasts(&mut self, ns: Ns) -> Ns {
        ns * 3_f64.powf(self.random.random_range(-1.0..1.0))
    }

    fn wake(&mut self) {
        self.turns += self.terms.workers;
    }

    fn worker_looks(&mut self) {
        self.turns -= 1;
        match self.schedule.take_cpu(self.now) {
            Some(span) => {
                say!(self, "{:.0} worker takes {span:?}", self.now);
                let lasts = self.lasts(self.times[0] * span.len() as f64);
                self.busy.push((span, self.now, self.now + lasts));
            }
            None => {
                say!(self, "{:.0} worker finds nothing", self.now);
                self.wake_driver();
            }
        }
    }

    fn wake_driver(&mut self) {
        if let Driver::Sleeps(_) = self.driver {
            self.driver = Driver::Looks;
        }
    }

    fn worker_ends(&mut self) {
        let due = |(_, _, until): &&(Span, Ns, Ns)| *until <= self.now;
        let Some((span, since, _)) = self
            .busy
            .iter()
            .position(|b| due(&b))
            .map(|which| self.busy.swap_remove(which))
        else {
            return;
        };
        self.schedule.cpu_did(span.len(), self.now - since);
        say!(
            self,
            "{:.0} worker did {span:?} in {:.0}",
            self.now,
            self.now - since
        );
        self.done += span.len();
        self.turns += 1;
        if self.schedule.is_empty() {
            self.wake_driver();
        }
    }

    fn driver_looks(&mut self) {
        let pause = self.top_up();
        self.driver = Driver::Looks;
        if let Some((span, since, until)) = self.flights.pop_front() {
            if until > self.now {
                self.flights.push_front((span, since, until));
            } else {
                self.launch_ends(span, self.now - since);
            }
        } else {
            self.driver = match pause {
                Some(until) => Driver::Sleeps(until),
                None => Driver::HasEnded,
            };
        }
        say!(self, "{:.0} driver {:?}", self.now, self.driver);
    }

    fn top_up(&mut self) -> Option<Ns> {
        while !self.has_left && self.flights.len() < 2 {
            if let Some(span) = self.retry.pop() {
                self.submit(span);
                continue;
            }
            let turn = self.schedule.take_gpu(self.now, self.flights.len());
            say!(self, "{:.0} driver {turn:?}", self.now);
            if self.schedule.end_reserve() {
                self.wake();
            }
            match turn {
                GpuTurn::Run(span) => self.submit(span),
                GpuTurn::Wait(until) => return Some(until),
                GpuTurn::Done => return None,
            }
        }
        None
    }

    fn submit(&mut self, span: Span) {
        self.schedule.gpu_launched(span.len(), self.now);
        if self.fails && self.random.random_bool(0.2) {
            self.fails(span);
            return;
        }
        let [_, launch, each] = self.times;
        let lasts = self.lasts(launch + each * span.len() as f64);
        self.flights.push_back((span, self.now, self.now + lasts));
    }

    fn launch_ends(&mut self, span: Span, took: Ns) {
        if self.fails && self.random.random_bool(0.3) {
            self.fails(span);
            return;
        }
        say!(self, "{:.0} launch of {span:?} did", self.now);
        self.done += span.len();
        let in_flight = self.flights.len();
        if self
            .schedule
            .gpu_did(span.len(), Some(took), self.now, in_flight)
        {
            self.wake();
        }
    }

    fn fails(&mut self, span: Span) {
        self.schedule.gpu_failed(self.now, self.flights.len());
        say!(self, "{:.0} fails {span:?}", self.now);
        match self.random.random_range(0..3) {
            0 if span.len() > 1 && !self.has_left => {
                let half = span.len().div_ceil(2);
                self.schedule.limit(half);
                let (first, rest) = span.split(half);
                self.retry.extend(rest);
                self.retry.push(first);
            }
            0 | 1 => {
                self.schedule.spans().give_back(span);
                self.wake();
            }
            _ => {
                self.schedule.spans().give_back(span);
                self.has_left = true;
                self.schedule.gpu_is_gone();
                for (span, ..) in std::mem::take(&mut self.flights) {
                    self.schedule.spans().give_back(span);
                }
                for span in std::mem::take(&mut self.retry) {
                    self.schedule.spans().give_back(span);
                }
                self.wake();
            }
        }
    }

    /// A step of anybody who can take one; false where nobody is left.
    fn step(&mut self) -> bool {
        let worker_looks = self.turns > 0 && self.busy.len() < self.terms.workers;
        let now = self.now;
        let worker_ends = self.busy.iter().any(|(_, _, until)| *until <= now);
        let driver_looks = self.driver == Driver::Looks;
        let wakes = matches!(self.driver, Driver::Sleeps(until) if until <= self.now);
        let flies = self.flights.front().map(|(_, _, until)| *until);
        let driver_looks = (driver_looks && flies.is_none_or(|until| until <= now)) || wakes;
        let can = [worker_looks, worker_ends, driver_looks];
        if !can.contains(&true) {
            let sleeps = match self.driver {
                Driver::Sleeps(until) => Some(until),
                _ => None,
            };
            let next = self
                .busy
                .iter()
                .map(|(_, _, until)| *until)
                .chain(flies)
                .chain(sleeps);
            let Some(next) = next.min_by(f64::total_cmp) else {
                return false;
            };
            self.now = next + 1.0;
            return true;
        }
        self.now += 100.0;
        loop {
            let who = self.random.random_range(0..3);
            match who {
                _ if !can[who] => continue,
                0 => self.worker_looks(),
                1 => self.worker_ends(),
                _ => self.driver_looks(),
            }
            return true;
        }
    }

    /// Walks to the end; an error tells who did what before nobody went on.
    fn run(&mut self) -> Result<(), String> {
        let (mut before, mut looks) = (usize::MAX, 0);
        while self.step() {
            let works = !self.busy.is_empty() || !self.flights.is_empty() || self.turns > 0;
            if works || self.done != before {
                (before, looks) = (self.done, 0);
                continue;
            }
            looks += 1;
            if looks > PATIENCE {
                return Err(format!(
                    "nobody goes on: {:?}\n{:?}\n{:?}",
                    self.terms, self.schedule, self.said
                ));
            }
        }
        Ok(())
    }
}

#[test]
fn somebody_always_goes_on() {
    for seed in 0..WALKS {
        let mut walk = Walk::new(seed, false);
        if walk.run().is_err()
            && let Err(wrong) = Walk::new(seed, true).run()
        {
            panic!("walk {seed}: {wrong}");
        }
    }
}
