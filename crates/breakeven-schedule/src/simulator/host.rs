//! The host of a simulated batch: cores that workers, drivers and software GPUs share.

use crate::schedule::Ns;

/// Costs of the host's threads. Every thread that computes has a core, or waits for one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Host {
    /// Cores; 0 for as many as there are workers.
    pub cores: usize,
    /// Core time of a worker to take a span, ns.
    pub span_ns: f64,
    /// Core time of a driver to poll a launch and ask what is next, ns.
    pub look_ns: f64,
    /// Delay until a woken thread runs, ns, if a core is free.
    pub wake_ns: f64,
    /// The mean delay while all cores compute.
    pub crowded_wake_ns: f64,
}

impl Host {
    /// A host on which threads cost nothing and never wait: schedules are compared on it.
    pub const IDEAL: Self = Self {
        cores: usize::MAX,
        span_ns: 0.0,
        look_ns: 0.0,
        wake_ns: 0.0,
        crowded_wake_ns: 0.0,
    };
}

impl Default for Host {
    /// Two cores of an AMD EPYC in a virtual machine (`simulator_error` in
    /// `docs/performance.md`).
    fn default() -> Self {
        Self {
            cores: 0,
            span_ns: 500.0,
            look_ns: 1_000.0,
            wake_ns: 30_000.0,
            crowded_wake_ns: 100_000.0,
        }
    }
}

/// From some time on a device is slower.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// When it begins, ns.
    pub from_ns: f64,
    /// How many times slower the device is then; infinite if it stalls.
    pub times: f64,
}

/// A thread that computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Worker(usize),
    /// The driver of a GPU.
    Driver(usize),
    /// A software GPU's threads.
    Device(usize),
}

/// What a thread computes.
#[derive(Debug, Clone, Copy)]
struct Job {
    who: Who,
    /// Remaining time, ns of one core, or of all its threads.
    left: Ns,
    threads: f64,
    load: Option<Load>,
}

/// The cores, and what computes on them. Drivers come first: a thread that sleeps most of the time
/// runs before those that compute all the time. The remaining threads share the remaining cores.
#[derive(Debug)]
pub(super) struct Cores {
    count: f64,
    now: Ns,
    jobs: Vec<Job>,
}

impl Cores {
    /// Creates the cores of a host with that many workers.
    pub(super) fn of(host: &Host, workers: usize) -> Self {
        let count = match host.cores {
            0 => workers,
            cores => cores,
        };
        Self {
            count: count as f64,
            now: 0.0,
            jobs: Vec::new(),
        }
    }

    pub(super) fn start(&mut self, who: Who, work: Ns, threads: f64, load: Option<Load>) {
        self.jobs.push(Job {
            who,
            left: work,
            threads,
            load,
        });
    }

    /// Returns the remaining time of a thread's work.
    pub(super) fn left(&self, who: Who) -> Ns {
        let job = self.jobs.iter().find(|job| job.who == who);
        job.map_or(0.0, |job| job.left)
    }

    /// Shortens a thread's work, or lengthens it if `by` is negative.
    pub(super) fn shorten(&mut self, who: Who, by: Ns) {
        if let Some(job) = self.jobs.iter_mut().find(|job| job.who == who) {
            job.left -= by;
        }
    }

    pub(super) fn end(&mut self, who: Who) {
        self.jobs.retain(|job| job.who != who);
    }

    /// Returns true while no core is free.
    pub(super) fn are_crowded(&self) -> bool {
        self.jobs.iter().map(|job| job.threads).sum::<f64>() >= self.count
    }

    /// Returns the speeds of drivers and of all other threads.
    fn rates(&self) -> [f64; 2] {
        let is_driver = |job: &&Job| matches!(job.who, Who::Driver(_));
        let drivers = self.jobs.iter().filter(is_driver).count() as f64;
        let all: f64 = self.jobs.iter().map(|job| job.threads).sum();
        let first = (self.count / drivers.max(1.0)).min(1.0);
        let left = self.count - drivers * first;
        [first, (left / (all - drivers).max(1.0)).min(1.0)]
    }

    fn rate(&self, job: &Job, [drivers, others]: [f64; 2]) -> f64 {
        let share = match job.who {
            Who::Driver(_) => drivers,
            Who::Worker(_) | Who::Device(_) => others,
        };
        match job.load {
            Some(load) if self.now >= load.from_ns => share / load.times,
            _ => share,
        }
    }

    /// Returns when the next thread is done, and which; no thread if a load begins before that.
    pub(super) fn next(&self) -> Option<(Ns, Option<Who>)> {
        let rates = self.rates();
        let ends = self.jobs.iter().map(|job| {
            let end = self.now + job.left.max(0.0) / self.rate(job, rates);
            match job.load {
                Some(load) if self.now < load.from_ns && load.from_ns < end => (load.from_ns, None),
                _ => (end, Some(job.who)),
            }
        });
        let ends = ends.filter(|(at, _)| at.is_finite());
        ends.min_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// Advances the time; no thread is done before `to`.
    pub(super) fn pass(&mut self, to: Ns) {
        let (rates, passed) = (self.rates(), to - self.now);
        for index in 0..self.jobs.len() {
            let rate = self.rate(&self.jobs[index], rates);
            self.jobs[index].left -= passed * rate;
        }
        self.now = to;
    }
}
