//! The workers' side of a schedule.

use std::ops::Range;

use super::calls::Calls;
use super::{Ns, Order, Schedule, Setup, Span};
use crate::plan::{Shape, Tuning};
use crate::whole;

/// Fewest tasks that tell how far tasks differ.
const FEWEST_TASKS: f64 = 8.0;

/// The longest call of a batch that is watched, ns, unless calls cost more.
pub const LONGEST_CALL: Ns = 1e6;

/// What is known of the workers.
#[derive(Debug, Default)]
pub(super) struct Workers {
    held: Vec<Held>,
    /// What the last spans took over what was expected of them.
    recent: f64,
    /// What spans took, ns, and how many tasks of the mean they were taken for.
    pub(super) took: f64,
    pub(super) weight: f64,
    /// What spans took per task of the mean, ns, before the GPUs began and then, where
    /// these wait to see that.
    paces: [Vec<Ns>; 2],
    /// Tasks that they did, and what the dearest of them took, ns.
    pub(super) done: f64,
    dearest: f64,
    /// Tasks in the middle of the batch that are looked at first, the next one last.
    marks: Vec<usize>,
    /// How many looked for work in vain since somebody gave some.
    pub(super) hungry: usize,
    /// A worker is to get a task whatever the rates promise.
    pub(super) probes: bool,
}

/// A span that a worker has.
#[derive(Debug, Clone, Copy)]
struct Held {
    start: usize,
    began: Ns,
    work: f64,
}

impl Workers {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            recent: 1.0,
            probes: matches!(setup.orders.cpu, Order::Try(_)),
            ..Self::default()
        }
    }

    /// How far the tasks differed ([`Shape::tail`]); none where there were too few to tell.
    pub(super) fn tail(&self) -> Option<f32> {
        let times = self.dearest * self.done / self.took.max(f64::MIN_POSITIVE);
        let is_told = self.done >= FEWEST_TASKS;
        is_told.then(|| (times.max(1.0).ln() / self.done.ln()) as f32)
    }

    /// How many times as long spans took beside the GPUs as before these began, where most
    /// took clearly longer than any before; none where the batch did not tell.
    ///
    /// Where a GPU is software, spans are held up by its threads or not at all: so some of
    /// them may not have taken longer, and their mean is what the workers lost.
    pub(super) fn hindrance(&self, tuning: &Tuning) -> Option<f64> {
        let [alone, beside] = &self.paces;
        let longest = alone.iter().copied().reduce(f64::max)?;
        let clearly = longest * (1.0 + tuning.least_gain);
        let longer = beside.iter().filter(|pace| **pace > clearly).count();
        let mean = |paces: &[Ns]| paces.iter().sum::<Ns>() / paces.len() as f64;
        let times = mean(beside) / mean(alone).max(f64::MIN_POSITIVE);
        let is_told = 2 * longer > beside.len();
        (!beside.is_empty()).then_some(if is_told { times } else { 1.0 })
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
        let Setup { tasks, tuning, .. } = self.setup;
        if !self.is_shared() || !self.samples() {
            return;
        }
        let alone = self.alone(self.density.work(0..tasks));
        let alone = alone.unwrap_or(Ns::INFINITY);
        let marks = match self.end_of(self.free_work(0..tasks), 0.0, None) {
            Some(end) if end < alone => {
                let launches = self.gpus.iter().filter_map(|gpu| gpu.rate.fixed);
                let launch = launches.fold(1.0, f64::max);
                // Time that is lost where the GPUs have all of what was not seen.
                let risk = end / (alone - end).max(f64::MIN_POSITIVE);
                let most = tuning.marks as f64;
                whole((tuning.least_gain * end / launch * (1.0 + risk)).min(most * risk.min(1.0)))
            }
            Some(_) => 0,
            None => tuning.marks / 4,
        };
        let marks = marks.min(tasks / 8);
        let places = (1..=marks).map(|mark| mark * tasks / (marks + 1));
        self.cpu.marks = places.rev().collect();
    }

    /// True where samples of the tasks are worth something: there are enough, a sample costs no
    /// call, and it is not known where the work lies.
    fn samples(&self) -> bool {
        self.calls.is_none() && self.setup.tasks / 8 >= self.setup.workers && !self.knows_shape()
    }

    /// The next span of a worker; none where there is nothing for it now.
    pub fn cpu_turn(&mut self, now: Ns) -> Option<Span> {
        let Some(span) = self.cpu_span(now) else {
            self.cpu.hungry += 1;
            return None;
        };
        if let Some(calls) = &mut self.calls {
            calls.made(span.len());
        }
        self.cpu.held.push(Held {
            start: span.range().start,
            began: now,
            work: self.density.work(span.range()),
        });
        Some(span)
    }

    fn cpu_span(&mut self, now: Ns) -> Option<Span> {
        if let Some(span) = self.fallen.pop() {
            let work = self.density.work(span.range());
            let size = self.worker_size(span.range(), self.alone(work));
            let (span, rest) = span.split(size);
            self.fallen.extend(rest);
            return Some(span);
        }
        let start = self.cpu_start();
        // The front is the GPUs' as long as there are any.
        let has_gpus = self.has_gpus();
        let (first, last) = (self.free.ranges().next(), self.free.ranges().next_back());
        let next = if has_gpus { last } else { first };
        let Some(range) = next.filter(|range| range.end > start) else {
            return self.probe();
        };
        let shares = self.is_shared() && has_gpus;
        if shares {
            if self.gpus_end_before_a_task(now) {
                return self.probe();
            }
            if let Some(span) = self.sample() {
                return Some(span);
            }
        }
        let range = range.start.max(start)..range.end;
        let work = self.free_work(start..self.setup.tasks);
        let is_untold = |gpu: &super::gpu::Gpu| gpu.takes() && !gpu.rate.tells_fixed();
        let horizon = match shares {
            // All may end soon: nobody takes what lasts long beside what has passed.
            true if self.gpus.iter().any(is_untold) => self.alone(work).map(|alone| alone.min(now)),
            true => self.end_of(work, now, None),
            false => self.alone(work),
        };
        let size = self.worker_size(range.clone(), horizon);
        let from = if has_gpus {
            range.end - size
        } else {
            range.start
        };
        self.free.take(from..from + size)
    }

    /// A task from where nobody has looked: behind a launch, where the next one
    /// begins, or at a mark.
    fn sample(&mut self) -> Option<Span> {
        if !self.samples() {
            return None;
        }
        let gpus = self.gpus.iter().filter(|gpu| gpu.takes());
        let mut ends = gpus.filter_map(|gpu| Some(gpu.flights.back()?.range().end));
        let behind = ends.find_map(|end| {
            self.free.ranges().find(|range| range.start == end)?;
            (self.density.seen_part(end..end + 1) <= 0.0).then(|| end..end + 1)
        });
        if let Some(behind) = behind {
            return self.free.take(behind);
        }
        while let Some(mark) = self.cpu.marks.pop() {
            let range = self.free.ranges().find(|range| range.contains(&mark));
            if range.is_some() {
                return self.free.take(mark..mark + 1);
            }
        }
        None
    }

    /// A task for one worker whatever the rates promise, where that is asked for; of calls as
    /// many as take no longer than the call itself.
    fn probe(&mut self) -> Option<Span> {
        if !std::mem::take(&mut self.cpu.probes) {
            return None;
        }
        let last = self.free.ranges().next_back()?;
        let calls = self.calls.as_ref();
        let tasks = calls.map_or(1, |calls| whole(calls.cost() / self.density.mean()));
        let most = last.len().div_ceil(2 * self.setup.workers);
        self.free.take(last.end - tasks.clamp(1, most)..last.end)
    }

    /// True where one task of a worker would end well after the GPUs, at the rates
    /// known, could have done all that is free: then they take it. Of tasks that differ
    /// it is the dearest of those that the workers would do. Both sides ask
    /// this, so that neither leaves to the other what that one would not take.
    pub(super) fn gpus_end_before_a_task(&self, now: Ns) -> bool {
        if !self.density.is_known() {
            return false;
        }
        let Some(last) = self.free.ranges().next_back() else {
            return false;
        };
        let task = self.density.work(last.end - 1..last.end) * self.cpu.recent;
        let task = task + self.calls.as_ref().map_or(0.0, Calls::cost);
        let work = self.free_work(0..self.gpu_end());
        let Some(end) = self.gpus_alone(work, now) else {
            return false;
        };
        end < task || end < self.dearest_of_workers(work, now)
    }

    /// What the dearest of the workers' tasks takes where they share so much work with the
    /// GPUs, ns; 0 where they are alike.
    fn dearest_of_workers(&self, work: f64, now: Ns) -> Ns {
        let tail = Shape::tail_of(self.setup.shape.as_ref());
        if tail <= 0.0 {
            return 0.0;
        }
        let mean = self.density.mean();
        let shared = self.end_of(work, now, None).unwrap_or(0.0);
        let tasks = shared * self.setup.workers as f64 / mean;
        mean * tasks.clamp(1.0, self.setup.tasks as f64).powf(tail)
    }

    /// Work that the workers do in a nanosecond; none where nothing says how fast they
    /// are.
    pub(super) fn cpu_speed(&self, now: Ns) -> Option<f64> {
        let workers = self.setup.workers.max(1) as f64;
        match self.density.is_known() {
            true => Some(workers),
            // A worker that has not ended its first task takes at least this long.
            false => (now > 0.0).then(|| workers / now),
        }
    }

    /// For how long the workers have work, on average over them, ns. A span that should have
    /// ended lasts as long again as it is late, as a GPU's launch does.
    pub(super) fn cpu_busy(&self, now: Ns) -> Ns {
        let left = |held: &Held| (held.work - (now - held.began)).abs();
        self.cpu.held.iter().map(left).sum::<f64>() / self.setup.workers.max(1) as f64
    }

    /// Time of that much work on the workers alone.
    pub(super) fn alone(&self, work: f64) -> Option<Ns> {
        let is_known = self.density.is_known();
        is_known.then(|| work / self.setup.workers.max(1) as f64)
    }

    /// Time of so many tasks of that much work each on the workers alone: the last wave of
    /// them takes as long as any.
    pub(super) fn waves(&self, tasks: usize, work: f64) -> Option<Ns> {
        let waves = tasks.div_ceil(self.setup.workers.max(1));
        self.density.is_known().then_some(waves as f64 * work)
    }

    /// Tasks of a worker's span, the last ones of a range, where all is done in
    /// `horizon`.
    fn worker_size(&self, range: Range<usize>, horizon: Option<Ns>) -> usize {
        let usual = match horizon.filter(|_| self.density.is_known()) {
            Some(horizon) => self.part_of_time(range.clone(), horizon),
            None => 1,
        };
        let size = match &self.calls {
            Some(calls) => self.call_size(calls, range, usual),
            None => usual,
        };
        size.min(self.most_of_worker).max(1)
    }

    /// Tasks of a worker's next call, where so many would be right if a call cost nothing.
    fn call_size(&self, calls: &Calls, range: Range<usize>, usual: usize) -> usize {
        let Setup { tasks, workers, .. } = self.setup;
        let share = range.len().div_ceil(workers);
        // What others would share costs more calls than it saves.
        let free = workers.saturating_sub(self.cpu.held.len()).max(1);
        let most = range.len().div_ceil(free).min(tasks.div_ceil(workers));
        let (mean, is_watched) = (self.density.mean(), self.setup.is_watched);
        let longest = match is_watched {
            true => whole(LONGEST_CALL / mean),
            false => usize::MAX,
        };
        match calls.fewest(mean) {
            Some(fewest) => usual.min(share).min(longest).max(fewest.min(most)),
            None if is_watched || self.has_gpus() => calls.grown().min(share),
            None if self.setup.cpu.is_some() => calls.one_of_two(most),
            None => most,
        }
    }

    /// Tasks at the end of a range, or at its begin where there are no GPUs, that a worker takes
    /// where all is done in `horizon`.
    fn part_of_time(&self, range: Range<usize>, horizon: Ns) -> usize {
        let tuning = &self.setup.tuning;
        let seen = match self.setup.cpu {
            Some(_) => f64::INFINITY,
            None => self.density.count.max(1.0),
        };
        let target = (horizon * tuning.worker_part).max(tuning.least_span_ns);
        let begin = self.setup.orders.gpus_wait_ns;
        let target = match begin > 0.0 && self.gpus.iter().all(super::gpu::Gpu::is_new) {
            // What ends before they begin tells what it takes alone.
            true => target.min(begin / 2.0),
            false => target,
        };
        let work = target / (1.0 + tuning.caution / seen.sqrt());
        // Nobody takes what others could share, unless sharing takes as long.
        let share = range.len().div_ceil(self.setup.workers.max(1));
        if self.has_gpus() {
            return self.density.tasks_of_end(range, work).min(share);
        }
        let short = (self.density).tasks_of(range.clone(), tuning.least_span_ns / 4.0);
        self.density.tasks_of(range, work).min(share.max(short))
    }

    /// True where a worker that has `left` tasks of its span to begin is to give them back,
    /// for those who have nothing.
    pub fn cpu_look(&mut self, left: usize) -> bool {
        let is_worth = left as f64 * self.density.mean() >= self.setup.tuning.least_span_ns;
        let gives = self.cpu.hungry > 0 && left > 0 && self.is_empty() && is_worth;
        if gives {
            self.cpu.hungry = 0;
        }
        gives
    }

    /// After how long a worker is to give back what it has not begun of the span that begins
    /// there, ns: its tasks are far dearer than was thought, and all sizes with them.
    pub fn cpu_patience(&self, start: usize) -> Ns {
        let held = self.cpu.held.iter().find(|held| held.start == start);
        let tuning = self.setup.tuning;
        match held {
            Some(held) if self.is_shared() && self.has_gpus() && self.density.is_known() => {
                tuning.failed_prediction * held.work.max(tuning.least_span_ns)
            }
            _ => Ns::INFINITY,
        }
    }

    /// True while a worker has a span.
    pub fn is_at_work(&self) -> bool {
        !self.cpu.is_idle()
    }

    /// Somebody has nothing to do and others may have a tail to give.
    pub fn is_hungry(&self) -> bool {
        self.cpu.hungry > 0
    }

    /// A worker did the tasks of a span, which began at `start`, in `ns`.
    pub fn cpu_did(&mut self, done: Range<usize>, ns: Ns) {
        let held = &mut self.cpu.held;
        let found = held.iter().position(|held| held.start == done.start);
        let began = found.map_or(0.0, |index| held.swap_remove(index).began);
        if done.is_empty() {
            return;
        }
        let known = match &mut self.calls {
            Some(calls) => calls.ended(done, ns),
            None => return self.tasks_took(done, ns, began),
        };
        for (done, ns) in known {
            self.tasks_took(done, ns, began);
        }
    }

    /// Notes the calls of which it is not known what they cost.
    pub(super) fn end_calls(&mut self) {
        let rest = self.calls.as_mut().map(Calls::rest).unwrap_or_default();
        for (done, ns) in rest {
            self.tasks_took(done, ns, 0.0);
        }
    }

    /// Tasks of a span that began at `began` took a worker so many ns.
    fn tasks_took(&mut self, done: Range<usize>, ns: Ns, began: Ns) {
        let tasks = done.len() as f64;
        let wait_ns = self.setup.orders.gpus_wait_ns;
        if wait_ns > 0.0 {
            let pace = ns / self.density.expected(done.clone()).max(f64::MIN_POSITIVE);
            let is_beside = began >= wait_ns;
            if is_beside || began + ns <= wait_ns {
                self.cpu.paces[usize::from(is_beside)].push(pace);
            }
        }
        self.cpu.took += ns;
        self.cpu.weight += self.density.expected(done.clone());
        self.cpu.done += tasks;
        // If only one of the span differs from the mean.
        let mean = self.cpu.took / self.cpu.done;
        self.cpu.dearest = self.cpu.dearest.max(ns - (tasks - 1.0) * mean);
        if self.density.is_known() {
            let ratio = ns / self.density.work(done.clone()).max(f64::MIN_POSITIVE);
            self.cpu.recent = (self.cpu.recent * ratio.clamp(0.1, 10.0)).sqrt();
        }
        if let Some(times) = self.density.observe(done, ns) {
            self.gpus.iter_mut().for_each(|gpu| gpu.rescale(times));
            self.cpu.held.iter_mut().for_each(|held| held.work *= times);
        }
    }
}
