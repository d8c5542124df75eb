//! The workers' side of a schedule.

use super::{Mode, Ns, Schedule, Span, Terms, whole};

/// What is known of the workers.
#[derive(Debug)]
pub(super) struct Workers {
    /// Time that a worker takes for a unit of work.
    pace: f64,
    held: Vec<Held>,
    /// Tasks in the middle of the batch that are looked at first, the next one last.
    pub(super) marks: Vec<usize>,
    /// Some device looked for work in vain while others have much of it.
    hungry: usize,
    probes: bool,
}

/// A span that a worker has.
#[derive(Debug, Clone, Copy)]
struct Held {
    start: usize,
    began: Ns,
    work: f64,
}

impl Workers {
    pub(super) fn new(terms: &Terms) -> Self {
        Self {
            pace: 1.0,
            held: Vec::new(),
            marks: Vec::new(),
            hungry: 0,
            probes: terms.probes_cpu,
        }
    }

    /// True where no worker has a span.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }
}

impl Schedule {
    /// Chooses the places in the middle that are looked at first. Between them GPUs
    /// need launches of their own, so there are as many as that is worth: the more
    /// even the devices, the more a stretch of dear tasks costs that one of them has
    /// taken unseen.
    pub(super) fn mark(&mut self) {
        let Terms {
            tasks,
            workers,
            tuning,
            ..
        } = self.terms;
        if self.terms.mode != Mode::Both || tasks < 8 * workers {
            return;
        }
        let alone = self.density.mean() * tasks as f64 / workers as f64;
        let marks = match self.end_of(self.free_work(0..tasks), 0.0, None) {
            Some(end) if self.density.is_known() && end < alone => {
                let gpus = self.gpus.iter().filter_map(|gpu| gpu.rate.fixed());
                let launch = gpus.fold(0.0, f64::max).max(1.0);
                // Time that is lost where the GPUs have all of what was not seen.
                let risk = end / (alone - end).max(f64::MIN_POSITIVE);
                whole(tuning.marks_cost * end / launch * (1.0 + risk)).min(whole(12.0 * risk))
            }
            Some(_) => 0,
            None => 4,
        };
        let marks = marks.min(tuning.marks).min(tasks / 8);
        self.cpu.marks = (1..=marks)
            .rev()
            .map(|mark| mark * tasks / (marks + 1))
            .collect();
    }

    /// The next span of a worker; none where there is nothing for it now.
    pub(crate) fn cpu_turn(&mut self, now: Ns) -> Option<Span> {
        let found = self.cpu_span(now);
        match &found {
            Some(span) => {
                let range = span.range();
                self.cpu.held.push(Held {
                    start: range.start,
                    began: now,
                    work: self.density.work(range),
                });
            }
            None => self.cpu.hungry += 1,
        }
        found
    }

    fn cpu_span(&mut self, now: Ns) -> Option<Span> {
        if let Some(span) = self.fallen.pop() {
            let work = self.density.work(span.range());
            let size = self.worker_size(span.range(), self.alone(work), now);
            let (span, rest) = span.split(size);
            self.fallen.extend(rest);
            return Some(span);
        }
        let start = self.cpu_start();
        let range = self.free.ranges().next_back();
        let range = range.filter(|range| range.end > start);
        let Some(range) = range else {
            return self.probe();
        };
        if self.is_shared() && self.has_gpus() {
            if self.gpus_end_before_a_task(now) {
                return self.probe();
            }
            if let Some(span) = self.sample() {
                return Some(span);
            }
        }
        let range = range.start.max(start)..range.end;
        let work = self.free_work(start..self.terms.tasks);
        let horizon = match self.is_shared() && self.has_gpus() {
            // All may end soon: nobody takes what lasts long beside what has passed.
            true if self
                .gpus
                .iter()
                .any(|gpu| !gpu.is_gone && !gpu.rate.tells_fixed()) =>
            {
                self.alone(work).map(|alone| alone.min(now))
            }
            true => self.end_of(work, now, None),
            false => self.alone(work),
        };
        let size = self.worker_size(range.clone(), horizon, now);
        self.free.take(range.end - size..range.end)
    }

    /// The next place in the middle that nobody has looked at.
    fn sample(&mut self) -> Option<Span> {
        while let Some(mark) = self.cpu.marks.pop() {
            let range = self.free.ranges().find(|range| range.contains(&mark));
            if let Some(range) = range {
                let task = self.density.mean();
                let size = match self.density.is_known() {
                    true => whole(self.terms.tuning.least_span_ns / task).clamp(1, 4),
                    false => 1,
                };
                return self.free.take(mark..range.end.min(mark + size));
            }
        }
        None
    }

    /// A task for one worker whatever the rates promise, where that is asked for.
    fn probe(&mut self) -> Option<Span> {
        if !self.cpu.probes || self.free.tasks() < 2 {
            return None;
        }
        let last = self.free.ranges().next_back()?.end;
        self.cpu.probes = false;
        self.free.take(last - 1..last)
    }

    /// True where one task of a worker would end well after the GPUs, at the rates
    /// known, could have done all that is free: then they take it. Both sides ask
    /// this, so that neither leaves to the other what that one would not take.
    pub(super) fn gpus_end_before_a_task(&self, now: Ns) -> bool {
        let known = |gpu: &super::gpu::Gpu| !gpu.is_gone && gpu.rate.tells_fixed();
        if !self.density.is_known() || !self.gpus.iter().any(known) {
            return false;
        }
        let task = self.density.mean() * self.cpu.pace;
        let mut vessels: Vec<(Ns, f64)> = Vec::with_capacity(self.gpus.len());
        for gpu in self.gpus.iter().filter(|gpu| known(gpu)) {
            let per_work = gpu.rate.per_work().unwrap_or(f64::INFINITY);
            vessels.push((
                gpu.busy(now) + gpu.rate.fixed().unwrap_or(0.0),
                per_work.recip(),
            ));
        }
        let end = crate::plan::level(&mut vessels, self.free_work(0..self.gpu_end()));
        end.is_some_and(|end| end < (1.0 - self.terms.tuning.least_gain) * task)
    }

    /// Work that the workers do in a nanosecond; none where nothing says how fast they
    /// are.
    pub(super) fn cpu_speed(&self, now: Ns) -> Option<f64> {
        let workers = self.terms.workers.max(1) as f64;
        match self.density.is_known() {
            true => Some(workers / self.cpu.pace),
            // A worker that has not ended its first task takes at least this long.
            false => (now > 0.0).then(|| workers / now),
        }
    }

    /// For how long the workers have work, on average over them, ns.
    pub(super) fn cpu_busy(&self, now: Ns) -> Ns {
        let left = |held: &Held| (held.work * self.cpu.pace - (now - held.began)).max(0.0);
        self.cpu.held.iter().map(left).sum::<f64>() / self.terms.workers.max(1) as f64
    }

    /// Time of that much work on the workers alone.
    pub(super) fn alone(&self, work: f64) -> Option<Ns> {
        let speed = workers_speed(self)?;
        Some(work / speed)
    }

    /// Tasks of a worker's span, the last ones of a range, where all is done in
    /// `horizon`.
    fn worker_size(&self, range: std::ops::Range<usize>, horizon: Option<Ns>, now: Ns) -> usize {
        let _ = now;
        let tuning = &self.terms.tuning;
        let Some(horizon) = horizon.filter(|_| self.density.is_known()) else {
            return 1;
        };
        let seen = match self.terms.cpu {
            Some((_, true)) => f64::INFINITY,
            _ => self.density.count().max(1.0),
        };
        let caution = 1.0 + tuning.caution / seen.sqrt();
        let target = (horizon * tuning.worker_part).max(tuning.least_span_ns);
        let work = target / self.cpu.pace / caution;
        let size = self.density.tasks_of_end(range.clone(), work);
        // Nobody takes what others could share.
        let share = range.len().div_ceil(self.terms.workers.max(1));
        size.min(share).max(1)
    }

    /// A worker that has `left` tasks of its span to begin: how many of them it is to
    /// give back, for those who have nothing.
    pub(crate) fn cpu_look(&mut self, start: usize, left: usize, now: Ns) -> usize {
        let _ = (start, now);
        if self.cpu.hungry == 0 || left == 0 || !self.is_empty() {
            return 0;
        }
        let time = left as f64 * self.density.mean() * self.cpu.pace;
        if time < self.terms.tuning.least_tail_ns {
            return 0;
        }
        let hungry = std::mem::take(&mut self.cpu.hungry);
        (left * hungry).div_ceil(hungry + 1)
    }

    /// Somebody has nothing to do and others may have a tail to give.
    pub(crate) fn is_hungry(&self) -> bool {
        self.cpu.hungry > 0
    }

    /// A worker did the tasks of a span, which began at `start`, in `ns`.
    pub(crate) fn cpu_did(&mut self, done: std::ops::Range<usize>, ns: Ns) {
        let held = self
            .cpu
            .held
            .iter()
            .position(|held| held.start == done.start);
        if let Some(index) = held {
            self.cpu.held.swap_remove(index);
        }
        if done.is_empty() {
            return;
        }
        let was_known = self.density.is_known();
        let expected = self.density.work(done.clone()) * self.cpu.pace;
        if was_known && self.density.knows(done.clone()) {
            // What changed here is the workers' pace.
            let ratio = (ns / expected.max(f64::MIN_POSITIVE)).clamp(0.1, 10.0);
            let weight = 0.5 / self.terms.workers.max(1) as f64;
            self.cpu.pace *= ratio.powf(weight);
        }
        if let Some(times) = self.density.observe(done, ns / self.cpu.pace) {
            for gpu in &mut self.gpus {
                gpu.rescale(times);
            }
            for held in &mut self.cpu.held {
                held.work *= times;
            }
        }
    }
}

fn workers_speed(schedule: &Schedule) -> Option<f64> {
    let workers = schedule.terms.workers.max(1) as f64;
    schedule
        .density
        .is_known()
        .then(|| workers / schedule.cpu.pace)
}
