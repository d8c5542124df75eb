//! The GPUs' side of a schedule.

use std::collections::VecDeque;
use std::ops::Range;

use super::{GpuTerms, Mode, Ns, Rate, Schedule, Span};

/// What a GPU's driver is to do.
#[derive(Debug, PartialEq)]
pub(crate) enum GpuTurn {
    /// Launch this span.
    Run(Span),
    /// Nothing now; ask again then, or when a launch has ended.
    Wait(Ns),
    /// Give the launch up that was made last and give its span back.
    Recall,
    /// Nothing any more, unless it is woken.
    Done,
}

/// What is known of a GPU during a batch.
#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) rate: Rate,
    terms: GpuTerms,
    pub(super) is_gone: bool,
    /// Spans to try again, smaller ones.
    pub(super) retry: Vec<Span>,
    pub(super) flights: VecDeque<Flight>,
    /// When all that is in flight should be done.
    busy_until: Ns,
    /// When the last launch ended.
    last_end: Ns,
    launches: u64,
    successes: u64,
    /// Work of the last launch.
    last_work: f64,
    /// Most tasks in a launch.
    pub(super) fits: usize,
    pub(super) faults: super::faults::Record,
}

/// A launch that has not ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    pub(super) start: usize,
    pub(super) tasks: usize,
    pub(super) work: f64,
    pub(super) began: Ns,
}

impl Gpu {
    pub(super) fn new(terms: &GpuTerms, rate: Rate, mode: Mode) -> Self {
        Self {
            rate,
            is_gone: terms.is_refused || mode == Mode::Cpu,
            retry: Vec::new(),
            flights: VecDeque::with_capacity(2),
            busy_until: 0.0,
            last_end: 0.0,
            launches: 0,
            successes: 0,
            last_work: rate.one_size().unwrap_or(0.0),
            fits: terms.fits.max(1),
            faults: super::faults::Record::default(),
            terms: *terms,
        }
    }

    /// The unit of work is another.
    pub(super) fn rescale(&mut self, times: f64) {
        self.rate.rescale(times);
        self.last_work *= times;
        for flight in &mut self.flights {
            flight.work *= times;
        }
    }

    /// For how long it has work, ns. A launch that should have ended long ago lasts, as
    /// far as anybody knows, as long again as it is late.
    pub(super) fn busy(&self, now: Ns) -> Ns {
        match self.flights.is_empty() {
            true => 0.0,
            false => (self.busy_until - now).abs(),
        }
    }

    fn in_flight(&self) -> usize {
        self.flights.len()
    }

    fn on_trial(&self) -> bool {
        self.terms.on_probation && self.successes == 0
    }

    /// When the oldest launch began, as far as the device is concerned.
    pub(super) fn began(&self) -> Ns {
        let first = self.flights.front().map_or(0.0, |flight| flight.began);
        first.max(self.last_end)
    }
}

impl Schedule {
    /// The next step of a GPU.
    pub(crate) fn gpu_turn(&mut self, index: usize, now: Ns) -> GpuTurn {
        let in_flight = self.gpus[index].in_flight();
        if in_flight > 0
            && let Some(turn) = self.recall(index, now)
        {
            return turn;
        }
        let gpu = &mut self.gpus[index];
        if gpu.is_gone {
            return GpuTurn::Done;
        }
        if in_flight >= gpu.terms.depth || in_flight > 0 && gpu.on_trial() {
            return GpuTurn::Wait(Ns::INFINITY);
        }
        if let Some(span) = gpu.retry.pop() {
            self.launched(index, &span, now);
            return GpuTurn::Run(span);
        }
        if in_flight == 0 {
            // No half of a span that was too large is left.
            self.gpus[index].faults.fitted_before = None;
        }
        let end = self.gpu_end();
        let range = self.free.ranges().next();
        let range = range.map(|range| range.start..range.end.min(end));
        let Some(range) = range.filter(|range| !range.is_empty()) else {
            return self.nothing_free(index, now);
        };
        let tasks = self.gpu_size(index, range.clone(), now);
        let gpu = &self.gpus[index];
        let most = if gpu.on_trial() { 1 } else { gpu.fits };
        let tasks = tasks.min(most.max(1)).min(range.len());
        match self.free.take(range.start..range.start + tasks) {
            Some(span) => {
                self.launched(index, &span, now);
                GpuTurn::Run(span)
            }
            None => GpuTurn::Wait(self.next_look(index, now)),
        }
    }

    /// Nothing is free: workers may have a tail to give, or fail at something.
    fn nothing_free(&mut self, index: usize, now: Ns) -> GpuTurn {
        let _ = (index, now);
        GpuTurn::Done
    }

    /// When a GPU that takes nothing now asks again.
    fn next_look(&self, index: usize, now: Ns) -> Ns {
        let left = self.alone(self.free_work(0..self.gpu_end())).unwrap_or(0.0);
        let look = now + (left / 8.0).max(50_000.0);
        let launch = self.gpus[index].rate.fixed();
        let patient = launch.map(|launch| self.terms.tuning.patience * launch);
        let patient = patient.filter(|until| *until > now && !self.density.is_known());
        patient.map_or(look, |until| until.min(look))
    }

    /// Notes a launch.
    fn launched(&mut self, index: usize, span: &Span, now: Ns) {
        let work = self.density.work(span.range());
        let gpu = &mut self.gpus[index];
        gpu.launches += 1;
        gpu.last_work = work;
        let begins = now.max(if gpu.flights.is_empty() {
            now
        } else {
            gpu.busy_until
        });
        let predicted = gpu.rate.predict(work).unwrap_or(0.0);
        gpu.busy_until = begins + predicted;
        gpu.flights.push_back(Flight {
            start: span.range().start,
            tasks: span.len(),
            work,
            began: now,
        });
    }

    /// Tasks to launch now of a range, on a GPU.
    fn gpu_size(&self, index: usize, range: Range<usize>, now: Ns) -> usize {
        let is_alone =
            !self.is_shared() && self.gpus.iter().filter(|gpu| !gpu.is_gone).count() == 1;
        let gpu = &self.gpus[index];
        if is_alone {
            if !self.terms.corrects && !self.terms.is_watched {
                return range.len();
            }
            if !gpu.rate.tells_fixed() {
                // Nothing is known, and nothing is to lose: it all runs here anyway.
                return (range.len() / 4).max(self.terms.tuning.probe_tasks);
            }
        }
        let work = self.balanced_work(index, now);
        if work <= 0.0 {
            return 0;
        }
        self.density.tasks_of(range, work)
    }

    /// Work to launch now so that all devices end together.
    fn balanced_work(&self, index: usize, now: Ns) -> f64 {
        let tuning = &self.terms.tuning;
        let gpu = &self.gpus[index];
        let in_flight = gpu.in_flight();
        let task = self.density.mean();
        let left = self.free_work(0..self.gpu_end());
        let probe = task * gpu.terms.probe_tasks.max(1) as f64;
        let Some(per_work) = gpu.rate.per_work() else {
            // One probe at a time.
            let is_worth_it = in_flight == 0 && self.could_pay(index, left, now);
            return if is_worth_it { probe } else { 0.0 };
        };
        if self.is_shared() && self.cpu_speed(now).is_none() {
            return if in_flight == 0 { probe } else { 0.0 };
        }
        let busy = gpu.busy(now);
        if in_flight > 0 && busy > 0.5 * gpu.rate.predict(gpu.last_work).unwrap_or(0.0) {
            return 0.0;
        }
        // The workers leave all of it to the GPUs, so they must not leave it to them.
        if self.is_shared() && self.gpus_end_before_a_task(now) {
            return left;
        }
        let fixed = gpu.rate.fixed().unwrap_or(0.0);
        let (Some(end), without) = (
            self.end_of(left, now, None),
            self.end_of(left, now, Some(index)).unwrap_or(Ns::INFINITY),
        ) else {
            return left;
        };
        let mut share = ((end - busy - fixed) / per_work).min(left);
        if self.is_shared() {
            // Workers do whole tasks: what they could not end in time is the GPUs'.
            let task_ns = task * self.pace();
            let ends = busy + fixed + share.max(0.0) * per_work;
            let theirs = self.terms.workers as f64 * (ends / task_ns).floor() * task;
            share = share.max((left - theirs).min(left));
        }
        if !self.is_shared() && share > 0.0 {
            share = share.max(task);
        }
        let probes = gpu.terms.probes && gpu.launches == 0;
        if share * (1.0 + 1e-9) >= task.min(left) {
            let ends = busy + fixed + share * per_work;
            if without - ends.min(without) >= tuning.least_gain * without || !self.is_shared() {
                if gpu.rate.tells_fixed() {
                    return self.part(index, share);
                }
                let part = (share * tuning.guessed_part).max(task);
                return part.max(self.growth(index, without)).min(share.max(task));
            }
        }
        if !gpu.rate.tells_fixed() && gpu.last_work > 0.0 && in_flight == 0 {
            return self.growth(index, without).min(left);
        }
        if probes && in_flight == 0 { probe } else { 0.0 }
    }

    /// What of its share a GPU takes at once: a part, so that rates that change are met,
    /// or the whole where another launch is not worth it.
    fn part(&self, index: usize, share: f64) -> f64 {
        let tuning = &self.terms.tuning;
        let rate = &self.gpus[index].rate;
        let (fixed, per_work) = (rate.fixed().unwrap_or(0.0), rate.per_work().unwrap_or(0.0));
        if per_work * share <= tuning.worth_launches * fixed {
            return share;
        }
        share
            * if rate.is_measured() {
                tuning.measured_part
            } else {
                tuning.guessed_part
            }
    }

    /// False where what a launch costs, if that is known, is more than the CPU
    /// needs for all that is left, or where that is not known yet and a short wait
    /// beside the launch may tell.
    fn could_pay(&self, index: usize, left: f64, now: Ns) -> bool {
        if !self.is_shared() {
            return true;
        }
        match (self.gpus[index].rate.fixed(), self.alone(left)) {
            (None, _) => true,
            (Some(launch), None) => now >= self.terms.tuning.patience * launch,
            (Some(launch), Some(alone)) => launch < alone,
        }
    }

    /// A larger launch, to tell its fixed cost from its work: as large as ends, at the
    /// worst, in half the time that the others need for all, or in all of it where the
    /// smaller one was another batch's; else none.
    fn growth(&self, index: usize, without: Ns) -> f64 {
        let gpu = &self.gpus[index];
        let per_work = gpu.rate.per_work().unwrap_or(f64::INFINITY);
        let part = if gpu.launches == 0 { 1.0 } else { 0.5 };
        let work = (part * without / per_work).min(gpu.last_work * self.terms.tuning.growth);
        if work >= 2.0 * gpu.last_work {
            work
        } else {
            0.0
        }
    }

    pub(super) fn pace(&self) -> f64 {
        let speed = self.alone(1.0).unwrap_or(1.0);
        speed * self.terms.workers.max(1) as f64
    }

    /// A launch of so many tasks from `start` on ended: its work and its time, where
    /// that is known.
    pub(super) fn flight_ended(&mut self, index: usize, start: usize, now: Ns) -> Option<f64> {
        let gpu = &mut self.gpus[index];
        let found = gpu
            .flights
            .iter()
            .position(|flight| flight.start == start)?;
        let flight = gpu.flights.remove(found)?;
        gpu.last_end = now;
        let left: f64 = gpu
            .flights
            .iter()
            .filter_map(|flight| gpu.rate.predict(flight.work))
            .sum();
        gpu.busy_until = now + left;
        Some(flight.work)
    }

    /// Notes that a launch was done in `ns`, if that is known. True where the CPU should
    /// look again whether there is work for it.
    pub(super) fn gpu_did(&mut self, index: usize, work: f64, ns: Option<Ns>, now: Ns) -> bool {
        let gpu = &mut self.gpus[index];
        let predicted = gpu.rate.predict(work);
        gpu.successes += 1;
        if let Some(ns) = ns {
            gpu.rate.observe(work, ns);
            let left: f64 = gpu
                .flights
                .iter()
                .filter_map(|flight| gpu.rate.predict(flight.work))
                .sum();
            gpu.busy_until = now + left;
        }
        let failed = ns
            .zip(predicted)
            .is_some_and(|(ns, predicted)| ns > self.terms.tuning.failed_prediction * predicted);
        if failed && self.terms.corrects && self.terms.mode == Mode::Gpu {
            self.joined = true;
        }
        self.is_shared() && !self.is_empty()
    }
}
