//! The workers' side of a schedule.

use std::ops::Range;

use super::calls::Calls;
use super::{Ns, Order, Schedule, Setup, Span};
use crate::plan::{Shape, Tuning};
use crate::whole;

/// Fewest tasks that show how far tasks differ.
const FEWEST_TASKS: f64 = 8.0;

/// The longest call of a batch that is watched, ns, unless calls cost more.
pub const LONGEST_CALL: Ns = 1e6;

/// What is known about the workers.
#[derive(Debug, Default)]
pub(super) struct Workers {
    held: Vec<Held>,
    /// Recent spans: observed over expected time.
    recent: f64,
    /// Time of the spans, ns, and their expected work in mean tasks.
    pub(super) took: f64,
    pub(super) weight: f64,
    /// Time of spans per mean task, ns, before and after the GPUs began, if the GPUs wait so that
    /// this is measured.
    paces: [Vec<Ns>; 2],
    /// Tasks done, and the longest of them, ns.
    pub(super) done: f64,
    longest: f64,
    /// Tasks in the middle of the batch that are sampled first, the next one last.
    marks: Vec<usize>,
    /// Workers that looked for work in vain since some was last given back.
    pub(super) hungry: usize,
    /// A worker must get a task, whatever the predicted rates.
    pub(super) probes: bool,
}

/// A worker's current span.
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

    /// Returns how far the tasks differed ([`Shape::tail`]); none if there were too few.
    pub(super) fn tail(&self) -> Option<f32> {
        let times = self.longest * self.done / self.took.max(f64::MIN_POSITIVE);
        let is_known = self.done >= FEWEST_TASKS;
        is_known.then(|| (times.max(1.0).ln() / self.done.ln()) as f32)
    }

    /// Returns the slow-down of spans beside the GPUs, if most took clearly longer than any before
    /// the GPUs began, else 1; none if the batch did not show it.
    ///
    /// The threads of a software GPU delay a span or do not touch it. So some spans may not be
    /// slower, and the mean is what the workers lost.
    pub(super) fn hindrance(&self, tuning: &Tuning) -> Option<f64> {
        let [alone, beside] = &self.paces;
        let longest = alone.iter().copied().reduce(f64::max)?;
        let clearly = longest * (1.0 + tuning.least_gain);
        let longer = beside.iter().filter(|pace| **pace > clearly).count();
        let mean = |paces: &[Ns]| paces.iter().sum::<Ns>() / paces.len() as f64;
        let times = mean(beside) / mean(alone).max(f64::MIN_POSITIVE);
        let is_known = 2 * longer > beside.len();
        (!beside.is_empty()).then_some(if is_known { times } else { 1.0 })
    }

    /// Returns true if no worker has a span.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }
}

impl Schedule {
    /// Chooses the places in the middle that are sampled first. Between them GPUs need launches of
    /// their own, so their number depends on the benefit: the more equal the devices, the more it
    /// costs if one of them takes a run of expensive tasks unsampled.
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
                // Time lost if the GPUs take everything that was not sampled.
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

    /// Returns true if sampling the tasks pays: there are enough, a sample costs no call, and it is
    /// not known where the work lies.
    fn samples(&self) -> bool {
        self.calls.is_none() && self.setup.tasks / 8 >= self.setup.workers && !self.knows_shape()
    }

    /// Returns the next span of a worker; none if there is nothing for it now.
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
        // The front belongs to the GPUs as long as there are any.
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
        let is_unknown = |gpu: &super::gpu::Gpu| gpu.takes() && !gpu.rate.is_fixed_known();
        let horizon = match shares {
            // Everything may end soon: no worker takes a span that is long compared with the
            // elapsed time.
            true if self.gpus.iter().any(is_unknown) => {
                self.alone(work).map(|alone| alone.min(now))
            }
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

    /// Returns an unsampled task: behind a launch, where the next one begins, or at a mark.
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

    /// Returns a task for one worker whatever the rates, if requested; in calls, as many tasks as
    /// take no longer than the call itself.
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

    /// Returns true if one task of a worker would end well after the GPUs, at the known rates,
    /// could have done all free work: then the GPUs take it. If tasks differ, the longest task that
    /// the workers would run counts. Both sides call this, so that neither leaves work that the
    /// other would refuse.
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
        end < task || end < self.longest_of_workers(work, now)
    }

    /// Returns the expected time of the workers' longest task if they share `work` with the GPUs,
    /// ns; 0 if tasks are alike.
    fn longest_of_workers(&self, work: f64, now: Ns) -> Ns {
        let tail = Shape::tail_of(self.setup.shape.as_ref());
        if tail <= 0.0 {
            return 0.0;
        }
        let mean = self.density.mean();
        let shared = self.end_of(work, now, None).unwrap_or(0.0);
        let tasks = shared * self.setup.workers as f64 / mean;
        mean * tasks.clamp(1.0, self.setup.tasks as f64).powf(tail)
    }

    /// Returns the work that the workers do in a nanosecond; none if their speed is not known.
    pub(super) fn cpu_speed(&self, now: Ns) -> Option<f64> {
        let workers = self.setup.workers.max(1) as f64;
        match self.density.is_known() {
            true => Some(workers),
            // A worker that has not finished its first task takes at least this long.
            false => (now > 0.0).then(|| workers / now),
        }
    }

    /// Returns how long the workers still have work, averaged over them, ns. An overdue span is
    /// expected to take as long again as it is late, as a GPU's launch is.
    pub(super) fn cpu_busy(&self, now: Ns) -> Ns {
        let left = |held: &Held| (held.work - (now - held.began)).abs();
        self.cpu.held.iter().map(left).sum::<f64>() / self.setup.workers.max(1) as f64
    }

    /// Returns the time of `work` on the workers alone.
    pub(super) fn alone(&self, work: f64) -> Option<Ns> {
        let is_known = self.density.is_known();
        is_known.then(|| work / self.setup.workers.max(1) as f64)
    }

    /// Returns the time of `tasks` tasks of `work` each on the workers alone: the last wave takes
    /// as long as any.
    pub(super) fn waves(&self, tasks: usize, work: f64) -> Option<Ns> {
        let waves = tasks.div_ceil(self.setup.workers.max(1));
        self.density.is_known().then_some(waves as f64 * work)
    }

    /// Returns the tasks of a worker's span, from the end of a range, if everything ends within
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

    /// Returns the tasks of a worker's next call; `usual` would be right if a call cost nothing.
    fn call_size(&self, calls: &Calls, range: Range<usize>, usual: usize) -> usize {
        let Setup { tasks, workers, .. } = self.setup;
        let share = range.len().div_ceil(workers);
        // More workers would cost more in calls than they save.
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

    /// Returns how many tasks a worker takes from the end of a range, or from its beginning if
    /// there are no GPUs, if everything ends within `horizon`.
    fn part_of_time(&self, range: Range<usize>, horizon: Ns) -> usize {
        let tuning = &self.setup.tuning;
        let seen = match self.setup.cpu {
            Some(_) => f64::INFINITY,
            None => self.density.count.max(1.0),
        };
        let target = (horizon * tuning.worker_part).max(tuning.least_span_ns);
        let begin = self.setup.orders.gpus_wait_ns;
        let target = match begin > 0.0 && self.gpus.iter().all(super::gpu::Gpu::is_new) {
            // A span that ends before the GPUs begin shows the time without them.
            true => target.min(begin / 2.0),
            false => target,
        };
        let work = target / (1.0 + tuning.caution / seen.sqrt());
        // A worker leaves to the idle workers what they could share, unless sharing takes as long.
        let share = range.len().div_ceil(self.setup.workers.max(1));
        if self.has_gpus() {
            return self.density.tasks_of_end(range, work).min(share);
        }
        let short = (self.density).tasks_of(range.clone(), tuning.least_span_ns / 4.0);
        self.density.tasks_of(range, work).min(share.max(short))
    }

    /// Returns true if a worker with `left` tasks of its span not begun must give them back to idle
    /// workers.
    pub fn cpu_look(&mut self, left: usize) -> bool {
        let is_worth = left as f64 * self.density.mean() >= self.setup.tuning.least_span_ns;
        let gives = self.cpu.hungry > 0 && left > 0 && self.is_empty() && is_worth;
        if gives {
            self.cpu.hungry = 0;
        }
        gives
    }

    /// Returns the time after which a worker must give back the tasks that it has not begun of the
    /// span that begins at `start`, ns: they are far more expensive than expected, so all sizes are
    /// wrong.
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

    /// Returns true while a worker has a span.
    pub fn is_at_work(&self) -> bool {
        !self.cpu.is_idle()
    }

    /// Returns true if some worker is idle while another may have tasks to give back.
    pub fn is_hungry(&self) -> bool {
        self.cpu.hungry > 0
    }

    /// Records that a worker did these tasks of a span in `ns`.
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

    /// Records the calls whose fixed cost is not known.
    pub(super) fn end_calls(&mut self) {
        let rest = self.calls.as_mut().map(Calls::rest).unwrap_or_default();
        for (done, ns) in rest {
            self.tasks_took(done, ns, 0.0);
        }
    }

    /// Records the time of tasks of a span that began at `began`.
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
        // Assumes that only one task of the span differs from the mean.
        let mean = self.cpu.took / self.cpu.done;
        self.cpu.longest = self.cpu.longest.max(ns - (tasks - 1.0) * mean);
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
