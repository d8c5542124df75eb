//! The GPU's side of a schedule.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::{GpuState, GpuTurn, Mode, Ns, Schedule, whole};
use crate::plan::LEAST_GAIN;

/// Part of the GPU's share that it takes at once when the rates were measured …
const KNOWN_PART: f64 = 0.8;

/// … and when they were not.
const GUESSED_PART: f64 = 0.4;

/// Launches' cost that another launch is worth: below so many of them, the GPU's
/// share is taken whole.
const WORTH_LAUNCHES: f64 = 30.0;

/// Most tasks of the GPU's first span where nothing is known of it.
const PROBE_TASKS: usize = 32;

/// How many times as large as the last one a launch may be while little is known.
const GROWTH: usize = 4;

/// Part of a launch's cost that the GPU waits for the first times of the CPU,
/// where nothing is known of either.
const PATIENCE: f64 = 0.1;

/// Times the predicted time from which a device's prediction has failed.
const FAILED_PREDICTION: f64 = 2.0;

impl Schedule {
    /// The next span of the GPU, which has `in_flight` launches.
    pub(in crate::execute) fn take_gpu(&self, now: Ns, in_flight: usize) -> GpuTurn {
        if self.gone.load(Ordering::Relaxed) || self.spans.left() == 0 {
            return GpuTurn::Done;
        }
        let state = self.gpu.lock().unwrap_or_else(PoisonError::into_inner);
        let mode = match self.terms.mode {
            Mode::Gpu if self.joined.load(Ordering::Relaxed) => Mode::Both,
            mode => mode,
        };
        let on_trial = self.terms.on_probation && state.successes == 0;
        if on_trial && in_flight > 0 {
            return GpuTurn::Wait(now);
        }
        let span = self.spans.take_front(|left| {
            let mine = match mode {
                Mode::Split { gpu } => gpu.saturating_sub(left.start).min(left.len()),
                _ => left.len(),
            };
            let size = match mode {
                Mode::Cpu => 0,
                _ if mine == 0 => 0,
                Mode::Gpu | Mode::Split { .. } => self.gpu_size(&state, mine, mine),
                // What was reserved was decided before workers took theirs.
                Mode::Both => match self.reserved.load(Ordering::Relaxed) {
                    0 => self.balanced_size(&state, left.len(), now, in_flight),
                    reserved => reserved.min(left.len()),
                },
            };
            let most = if on_trial {
                1
            } else {
                self.fits.load(Ordering::Relaxed)
            };
            size.min(most.max(1))
        });
        match span {
            Some(span) => GpuTurn::Run(span),
            None if mode == Mode::Both && self.spans.left() > 0 => {
                let left = self.horizon(self.spans.left(), now).unwrap_or(0.0);
                let look = now + (left / 8.0).max(50_000.0);
                let patient = state.rate.fixed_ns().map(|launch| PATIENCE * launch);
                let patient = patient.filter(|until| *until > now);
                GpuTurn::Wait(patient.map_or(look, |until| until.min(look)))
            }
            None => GpuTurn::Done,
        }
    }

    /// Tasks to launch now out of the GPU's `share`: a part, so that rates that
    /// change are met, or the whole where another launch is not worth it.
    fn gpu_size(&self, state: &GpuState, share: usize, left: usize) -> usize {
        if !self.terms.corrects && !self.terms.is_watched {
            return share;
        }
        let (Some(fixed), Some(each)) = (state.rate.fixed_ns(), state.rate.task_ns()) else {
            // Nothing known, and nothing to lose: it all runs here anyway.
            return share.min((left / 4).max(PROBE_TASKS));
        };
        if each * share as f64 <= WORTH_LAUNCHES * fixed {
            return share;
        }
        let part = if state.rate.is_measured() {
            KNOWN_PART
        } else {
            GUESSED_PART
        };
        whole(share as f64 * part).max(1)
    }

    /// Tasks to launch now so that both devices end together.
    pub(super) fn balanced_size(
        &self,
        state: &GpuState,
        left: usize,
        now: Ns,
        in_flight: usize,
    ) -> usize {
        let workers = self.terms.workers.max(1) as f64;
        let probe = self.terms.probe_tasks.clamp(1, left.max(1));
        let Some(each) = state.rate.task_ns() else {
            // One probe at a time.
            let is_worth_it = self.could_pay(state.rate.fixed_ns(), left, now);
            return if in_flight == 0 && is_worth_it {
                probe
            } else {
                0
            };
        };
        // A worker that has not ended its first task takes at least this long.
        let Some(task) = self.task_ns.get().or((now > 0.0).then_some(now)) else {
            return if in_flight == 0 { probe } else { 0 };
        };
        let busy = self.gpu_busy(now);
        if in_flight > 0 && !state.rate.is_nearly_done(busy) {
            return 0;
        }
        // The workers leave all of it to the GPU, so it must not leave it to them.
        if self.ends_after_the_gpu(left, now) {
            return left;
        }
        let fixed = state.rate.fixed_ns().unwrap_or(0.0);
        let alone = left as f64 * task / workers;
        let probes = self.terms.probes_gpu && state.launches == 0;
        let share = (alone - busy - fixed) / (each + task / workers);
        if share >= 1.0 {
            let mut share = share.min(left as f64);
            // Workers do whole tasks: what they could not end in time is the GPU's.
            let ends = busy + fixed + share * each;
            let theirs = workers * (ends / task).floor();
            share = share.max((left as f64 - theirs).min(left as f64));
            let ends = busy + fixed + share * each;
            if (alone - ends) >= LEAST_GAIN * alone {
                if state.rate.tells_fixed() {
                    return self.gpu_size(state, whole(share).max(1), left);
                }
                let part = whole(share * GUESSED_PART).max(1);
                return part
                    .max(self.trusted_growth(state, alone, each))
                    .min(whole(share).max(1));
            }
        }
        if !state.rate.tells_fixed() && state.last_tasks > 0 && in_flight == 0 {
            return self.trusted_growth(state, alone, each).min(left);
        }
        if probes && in_flight == 0 { probe } else { 0 }
    }

    /// False where what a launch costs, if that is known, is more than the CPU
    /// needs for all `left`, or where that is not known yet and a short wait
    /// beside the launch may tell.
    fn could_pay(&self, launch: Option<Ns>, left: usize, now: Ns) -> bool {
        let workers = self.terms.workers.max(1) as f64;
        match (launch, self.task_ns.get()) {
            (None, _) => true,
            (Some(launch), None) => now >= PATIENCE * launch,
            (Some(launch), Some(task)) => launch < left as f64 * task / workers,
        }
    }

    /// A larger launch, to tell its fixed cost from its tasks': as large as ends,
    /// at the worst, in half the time that the CPU needs for all, or in all of it
    /// where the smaller one was another batch's; else none.
    fn trusted_growth(&self, state: &GpuState, alone: Ns, each: f64) -> usize {
        let most = (state.last_tasks * GROWTH) as f64;
        let part = if state.launches == 0 { 1.0 } else { 0.5 };
        let size = whole((part * alone / each.max(f64::MIN_POSITIVE)).min(most));
        if size >= 2 * state.last_tasks {
            size
        } else {
            0
        }
    }

    /// Ends what was reserved for the first launch, once that was made or
    /// declined. True where workers may have left tasks to it and gone idle: they
    /// are to look again.
    pub(in crate::execute) fn end_reserve(&self) -> bool {
        self.reserved.swap(0, Ordering::Relaxed) > 0
    }

    /// When launches of `tasks` tasks that began `began` are to be taken back, all
    /// else being done: the CPU's workers, idle otherwise, do them then. By then
    /// they have taken longer than the CPU would, and far longer than predicted, so
    /// nothing says that they end sooner than the CPU. None where the strategy is
    /// not ours to change.
    pub(in crate::execute) fn recall_at(&self, tasks: usize, began: Ns) -> Option<Ns> {
        let shared = self.terms.mode == Mode::Both || self.joined.load(Ordering::Relaxed);
        if !self.terms.corrects || !shared || !self.is_empty() {
            return None;
        }
        let rounds = tasks.div_ceil(self.terms.workers.max(1)) as f64;
        let redone = self.cautious_ns.get()? * rounds;
        let state = self.gpu.lock().unwrap_or_else(PoisonError::into_inner);
        let predicted = match state.rate.tells_fixed() {
            true => state.rate.predict(tasks).unwrap_or(0.0),
            false => state.rate.fixed_ns().unwrap_or(0.0),
        };
        Some(began + redone.max(FAILED_PREDICTION * predicted))
    }

    /// Notes that a span was launched at `now`, with `in_flight` before it.
    pub(in crate::execute) fn gpu_launched(&self, tasks: usize, now: Ns) {
        let mut state = self.gpu.lock().unwrap_or_else(PoisonError::into_inner);
        state.launches += 1;
        state.last_tasks = tasks;
        let predicted = state.rate.predict(tasks).unwrap_or(0.0);
        let begins = now + self.gpu_busy(now);
        state.rate.launched(predicted);
        self.gpu_view.busy_until.set(Some(begins + predicted));
    }

    /// Notes that a launch of `tasks` tasks took `ns`, if that is known, with
    /// `in_flight` after it.
    /// True where the CPU should look again whether there is work for it.
    pub(in crate::execute) fn gpu_did(
        &self,
        tasks: usize,
        ns: Option<Ns>,
        now: Ns,
        in_flight: usize,
    ) -> bool {
        let mut state = self.gpu.lock().unwrap_or_else(PoisonError::into_inner);
        let predicted = state.rate.predict(tasks);
        state.successes += 1;
        if let Some(ns) = ns {
            state.rate.observe(tasks, ns);
        }
        self.gpu_view.fixed_ns.set(state.rate.fixed_ns());
        self.gpu_view.task_ns.set(state.rate.task_ns());
        if in_flight == 0 {
            self.gpu_view.busy_until.set(Some(now));
        }
        let failed = ns
            .zip(predicted)
            .is_some_and(|(ns, predicted)| ns > FAILED_PREDICTION * predicted);
        if failed && self.terms.corrects && matches!(self.terms.mode, Mode::Gpu) {
            self.joined.store(true, Ordering::Relaxed);
        }
        let shared = self.joined.load(Ordering::Relaxed) || self.terms.mode == Mode::Both;
        !self.is_empty() && shared
    }
}
