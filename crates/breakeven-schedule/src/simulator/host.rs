//! The host of a simulated batch: cores that workers, drivers and software GPUs share.

use crate::schedule::Ns;

/// What the host's threads cost. Every thread that computes has a core, or waits for one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Host {
    /// Cores; as many as there are workers where this is 0.
    pub cores: usize,
    /// What taking a span takes a worker, ns of a core.
    pub span_ns: f64,
    /// What a look at a launch, with the question what is next, takes a driver, ns of a core.
    pub look_ns: f64,
    /// Until a thread that was woken runs, ns, if a core is free.
    pub wake_ns: f64,
    /// The same while all cores compute, in the mean.
    pub crowded_wake_ns: f64,
}

impl Host {
    /// A host on which threads cost nothing and never wait: what schedules are compared on.
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
    /// How many times slower the device is then; infinite for one that stalls.
    pub times: f64,
}

/// Who computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Worker(usize),
    /// The driver of a GPU.
    Driver(usize),
    /// A software GPU's threads.
    Device(usize),
}

/// What somebody computes.
#[derive(Debug, Clone, Copy)]
struct Job {
    who: Who,
    /// What is left of it, ns of one core, or of all its threads.
    left: Ns,
    threads: f64,
    load: Option<Load>,
}

/// The cores, and who computes on them. Drivers come first: a thread that sleeps most of the
/// time runs before those that compute all the time. The others share what is left.
#[derive(Debug)]
pub(super) struct Cores {
    count: f64,
    now: Ns,
    jobs: Vec<Job>,
}

impl Cores {
    /// Those of a host with so many workers.
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

    /// What is left of somebody's work.
    pub(super) fn left(&self, who: Who) -> Ns {
        let job = self.jobs.iter().find(|job| job.who == who);
        job.map_or(0.0, |job| job.left)
    }

    /// Takes so much off somebody's work, or adds it if negative.
    pub(super) fn shorten(&mut self, who: Who, by: Ns) {
        if let Some(job) = self.jobs.iter_mut().find(|job| job.who == who) {
            job.left -= by;
        }
    }

    pub(super) fn end(&mut self, who: Who) {
        self.jobs.retain(|job| job.who != who);
    }

    /// True while no core is free.
    pub(super) fn are_crowded(&self) -> bool {
        self.jobs.iter().map(|job| job.threads).sum::<f64>() >= self.count
    }

    /// How fast drivers, and the others, compute.
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

    /// Who is done next, and when; nobody where a load begins before that.
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

    /// Lets time pass in which nobody is done.
    pub(super) fn pass(&mut self, to: Ns) {
        let (rates, passed) = (self.rates(), to - self.now);
        for index in 0..self.jobs.len() {
            let rate = self.rate(&self.jobs[index], rates);
            self.jobs[index].left -= passed * rate;
        }
        self.now = to;
    }
}
