//! Who takes which span next.
//!
//! A state machine that reads no clock: the threads of `engine` drive it and so
//! does the simulator (`simulate`), in virtual time. What it decides with:
//!
//! - `c`, the time that one worker takes for one task, from the spans done;
//! - `F + k·g`, the time of a launch of `k` tasks on the GPU.
//!
//! **Both devices.** With `R` tasks left, `w` workers and a GPU that is busy for
//! another `t`, both end together where the GPU takes
//! `x = (R·c/w − t − F) / (g + c/w)` of them. It takes a part of `x` at once and
//! asks again, so that rates that change are met; the last part is whole, as
//! soon as what it could still correct is less than what launches cost. A worker
//! takes a quarter of the time that is left (guided self-scheduling, Polychronopoulos
//! and Kuck 1987, by time instead of count), at least 20 µs, and nothing where one
//! task would end after the GPU could have done all that is left.
//!
//! **Nothing known.** Each worker begins with one task, the GPU with a few. A
//! first time of `k` tasks does not tell `F` from `g`; until a launch of another
//! size tells, all of it counts as `g`, and launches grow as long as they end in
//! half the time that the CPU would need alone.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::rates::{CpuRate, GpuRate};
use super::spans::{Span, Spans};
use crate::plan::LEAST_GAIN;

/// Time since the batch began, ns.
pub(super) type Ns = f64;

/// What a worker's span takes at the least, so that taking it costs nothing, ns.
const LEAST_SPAN_NS: f64 = 20_000.0;

/// Part of the time left that a worker takes at once.
const WORKER_PART: f64 = 0.25;

/// Part of the GPU's share that it takes at once when the rates were measured …
const KNOWN_PART: f64 = 0.8;

/// … and when they were not.
const GUESSED_PART: f64 = 0.4;

/// Launches' cost that another launch is worth: below so many of them, the GPU's
/// share is taken whole.
const WORTH_LAUNCHES: f64 = 20.0;

/// Most tasks of the GPU's first span where nothing is known of it.
const PROBE_TASKS: usize = 32;

/// How many times as large as the last one a launch may be while little is known.
const GROWTH: usize = 4;

/// Times the predicted time from which a device's prediction has failed.
const FAILED_PREDICTION: f64 = 2.0;

/// Which device has which part in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The CPU has all.
    Cpu,
    /// The GPU has all; the CPU what it fails at.
    Gpu,
    /// The GPU has the first so many tasks, the CPU the others.
    Split {
        /// Tasks of the GPU.
        gpu: usize,
    },
    /// Whoever ends earlier takes more.
    Both,
}

/// What a batch is scheduled by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) tasks: usize,
    pub(super) workers: usize,
    pub(super) mode: Mode,
    /// The mode was chosen by a prediction: where it fails, both devices work.
    pub(super) corrects: bool,
    /// A worker gets one task whatever the rates promise.
    pub(super) probes_cpu: bool,
    /// The GPU gets a first small span whatever the rates promise.
    pub(super) probes_gpu: bool,
    /// The GPU's first span is one task, and nothing follows until it is done.
    pub(super) on_probation: bool,
    /// Spans end often, so that a deadline or a progress bar is looked at.
    pub(super) is_watched: bool,
    /// Most tasks in a launch.
    pub(super) fits: usize,
    pub(super) cpu: CpuRate,
    pub(super) gpu: GpuRate,
}

/// What the GPU's driver is to do.
#[derive(Debug, PartialEq)]
pub(super) enum GpuTurn {
    /// Launch this span.
    Run(Span),
    /// Nothing now; ask again then, or when a launch has ended.
    Wait(Ns),
    /// Nothing any more, unless something is given back.
    Done,
}

/// The schedule of one batch.
#[derive(Debug)]
pub(super) struct Schedule {
    terms: Terms,
    spans: Spans,
    cpu: Mutex<CpuRate>,
    /// Of `cpu`, the time of a task: read by every taker.
    task_ns: AtomicF64,
    /// The same where tasks may be longer than those that were done.
    cautious_ns: AtomicF64,
    gpu: Mutex<GpuState>,
    gpu_view: GpuView,
    /// The CPU may take part although the mode has it wait.
    joined: AtomicBool,
    /// The GPU takes nothing any more.
    gone: AtomicBool,
    /// Most tasks in a launch.
    fits: AtomicUsize,
    /// A worker still gets its one task.
    probes_cpu: AtomicBool,
    /// Tasks at the front that workers leave to the GPU's first launch.
    reserved: AtomicUsize,
}

/// What the driver alone changes.
#[derive(Debug)]
struct GpuState {
    rate: GpuRate,
    launches: u64,
    successes: u64,
    last_tasks: usize,
}

/// What workers see of the GPU.
#[derive(Debug)]
struct GpuView {
    fixed_ns: AtomicF64,
    task_ns: AtomicF64,
    /// When all that is in flight should be done.
    busy_until: AtomicF64,
}

/// A float in an atomic word; NaN where it is not known.
#[derive(Debug)]
struct AtomicF64(AtomicU64);

impl AtomicF64 {
    fn new(value: Option<f64>) -> Self {
        Self(AtomicU64::new(value.unwrap_or(f64::NAN).to_bits()))
    }

    fn get(&self) -> Option<f64> {
        let value = f64::from_bits(self.0.load(Ordering::Relaxed));
        (!value.is_nan()).then_some(value)
    }

    fn set(&self, value: Option<f64>) {
        self.0
            .store(value.unwrap_or(f64::NAN).to_bits(), Ordering::Relaxed);
    }
}

impl Schedule {
    pub(super) fn new(terms: Terms) -> Self {
        let schedule = Self::without_reserve(terms);
        if terms.mode == Mode::Both {
            let state = schedule.gpu.lock().unwrap_or_else(PoisonError::into_inner);
            let first = schedule.balanced_size(&state, terms.tasks, 0.0, 0);
            schedule
                .reserved
                .store(first.min(terms.fits), Ordering::Relaxed);
        }
        schedule
    }

    fn without_reserve(terms: Terms) -> Self {
        Self {
            spans: Spans::new(terms.tasks),
            task_ns: AtomicF64::new(terms.cpu.task_ns()),
            cpu: Mutex::new(terms.cpu),
            cautious_ns: AtomicF64::new(terms.cpu.cautious_ns()),
            gpu_view: GpuView {
                fixed_ns: AtomicF64::new(terms.gpu.fixed_ns()),
                task_ns: AtomicF64::new(terms.gpu.task_ns()),
                busy_until: AtomicF64::new(Some(0.0)),
            },
            gpu: Mutex::new(GpuState {
                rate: terms.gpu,
                launches: 0,
                successes: 0,
                last_tasks: 0,
            }),
            joined: AtomicBool::new(false),
            gone: AtomicBool::new(matches!(terms.mode, Mode::Cpu)),
            fits: AtomicUsize::new(terms.fits),
            probes_cpu: AtomicBool::new(terms.probes_cpu),
            reserved: AtomicUsize::new(0),
            terms,
        }
    }

    /// The queue.
    pub(super) fn spans(&self) -> &Spans {
        &self.spans
    }

    /// True where nobody will ever take a span unless one is given back.
    pub(super) fn is_empty(&self) -> bool {
        self.spans.left() == 0 && !self.spans.has_returned()
    }

    /// The next span of a worker; none where there is nothing for it now.
    pub(super) fn take_cpu(&self, now: Ns) -> Option<Span> {
        let workers = self.terms.workers.max(1) as f64;
        if let Some(span) = self.spans.take_returned(|tasks| {
            let horizon = self.task_ns.get().map(|task| task * tasks as f64 / workers);
            self.worker_size(tasks, horizon)
        }) {
            return Some(span);
        }
        let gone = self.gone.load(Ordering::Relaxed);
        let joined = gone || self.joined.load(Ordering::Relaxed);
        self.spans.take_back(|left| {
            let mine = match self.terms.mode {
                Mode::Gpu if !joined => 0,
                Mode::Split { gpu } if !joined => left.end.saturating_sub(gpu.max(left.start)),
                _ if gone => left.len(),
                _ => left
                    .len()
                    .saturating_sub(self.reserved.load(Ordering::Relaxed)),
            };
            if mine == 0 {
                return 0;
            }
            let alone = self.task_ns.get().map(|task| task * mine as f64 / workers);
            let shared = !gone && (joined || matches!(self.terms.mode, Mode::Both));
            if !shared {
                return self.worker_size(mine, alone);
            }
            if self.ends_after_the_gpu(mine, now) {
                return usize::from(self.probes_cpu.swap(false, Ordering::Relaxed));
            }
            if self.gpu_view.fixed_ns.get().is_none() {
                // All may end soon: nobody takes what lasts long beside what has passed.
                return self.worker_size(mine, alone.map(|alone| alone.min(now)));
            }
            self.worker_size(mine, self.horizon(left.len(), now).or(alone))
                .min(mine)
        })
    }

    /// True where one task of a worker would end well after the GPU, at the rates
    /// known, could have done all `left`: then the GPU takes them. Both sides ask
    /// this, so that neither leaves to the other what that one would not take.
    fn ends_after_the_gpu(&self, left: usize, now: Ns) -> bool {
        let (Some(task), Some(fixed), Some(each)) = (
            self.task_ns.get(),
            self.gpu_view.fixed_ns.get(),
            self.gpu_view.task_ns.get(),
        ) else {
            return false;
        };
        let gpu = self.gpu_busy(now) + fixed + each * left as f64;
        gpu < (1.0 - LEAST_GAIN) * task
    }

    /// For how long the GPU is busy, ns.
    fn gpu_busy(&self, now: Ns) -> Ns {
        let until = self.gpu_view.busy_until.get().unwrap_or(now);
        (until - now).max(0.0)
    }

    /// When all `left` tasks are done with both devices at them, ns from now.
    fn horizon(&self, left: usize, now: Ns) -> Option<Ns> {
        let workers = self.terms.workers.max(1) as f64;
        let task = self.task_ns.get()?.max(f64::MIN_POSITIVE);
        let alone = left as f64 * task / workers;
        let (Some(fixed), Some(each)) = (self.gpu_view.fixed_ns.get(), self.gpu_view.task_ns.get())
        else {
            return Some(alone);
        };
        let begins = self.gpu_busy(now) + fixed;
        let each = each.max(f64::MIN_POSITIVE);
        let both = (left as f64 + begins / each) / (workers / task + 1.0 / each);
        Some(if both > begins {
            both.min(alone)
        } else {
            alone
        })
    }

    /// Tasks of a worker's span out of `left`, all of which end in `horizon`.
    fn worker_size(&self, left: usize, horizon: Option<Ns>) -> usize {
        let (Some(task), Some(horizon)) = (self.cautious_ns.get(), horizon) else {
            return 1;
        };
        let task = task.max(f64::MIN_POSITIVE);
        let target = (horizon * WORKER_PART).max(LEAST_SPAN_NS);
        let size = whole(target / task).max(1);
        // Nobody takes what others could share.
        let share = left.div_ceil(self.terms.workers.max(1));
        size.min(share).max(1)
    }

    /// Notes that a worker did `tasks` tasks in `ns`.
    pub(super) fn cpu_did(&self, tasks: usize, ns: Ns) {
        // Another worker's is as good as this one's.
        let Ok(mut rate) = self.cpu.try_lock() else {
            return;
        };
        rate.observe(tasks, ns);
        self.task_ns.set(rate.task_ns());
        self.cautious_ns.set(rate.cautious_ns());
    }

    /// The next span of the GPU, which has `in_flight` launches.
    pub(super) fn take_gpu(&self, now: Ns, in_flight: usize) -> GpuTurn {
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
            if on_trial {
                return 1;
            }
            let mine = match mode {
                Mode::Split { gpu } => gpu.saturating_sub(left.start).min(left.len()),
                _ => left.len(),
            };
            let size = match mode {
                Mode::Cpu => 0,
                _ if mine == 0 => 0,
                Mode::Gpu | Mode::Split { .. } => self.gpu_size(&state, mine, mine),
                Mode::Both => self.balanced_size(&state, left.len(), now, in_flight),
            };
            size.min(self.fits.load(Ordering::Relaxed).max(1))
        });
        if span.is_none() {
            self.reserved.store(0, Ordering::Relaxed);
        }
        match span {
            Some(span) => GpuTurn::Run(span),
            None if mode == Mode::Both && self.spans.left() > 0 => {
                let left = self.horizon(self.spans.left(), now).unwrap_or(0.0);
                GpuTurn::Wait(now + (left / 8.0).max(50_000.0))
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
    fn balanced_size(&self, state: &GpuState, left: usize, now: Ns, in_flight: usize) -> usize {
        let workers = self.terms.workers.max(1) as f64;
        let probe = (left / 64).clamp(1, PROBE_TASKS);
        let Some(each) = state.rate.task_ns() else {
            // One probe at a time.
            return if in_flight == 0 { probe } else { 0 };
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
        if !state.rate.tells_fixed() && state.launches > 0 && in_flight == 0 {
            return self.trusted_growth(state, alone, each).min(left);
        }
        if probes && in_flight == 0 { probe } else { 0 }
    }

    /// A larger launch, to tell its fixed cost from its tasks': as large as ends,
    /// at the worst, in half the time that the CPU needs for all; else none.
    fn trusted_growth(&self, state: &GpuState, alone: Ns, each: f64) -> usize {
        let most = (state.last_tasks * GROWTH) as f64;
        let size = whole((0.5 * alone / each.max(f64::MIN_POSITIVE)).min(most));
        if size >= 2 * state.last_tasks {
            size
        } else {
            0
        }
    }

    /// Notes that a span was launched at `now`, with `in_flight` before it.
    pub(super) fn gpu_launched(&self, tasks: usize, now: Ns) {
        let mut state = self.gpu.lock().unwrap_or_else(PoisonError::into_inner);
        state.launches += 1;
        self.reserved.store(0, Ordering::Relaxed);
        state.last_tasks = tasks;
        let predicted = state.rate.predict(tasks).unwrap_or(0.0);
        let begins = now + self.gpu_busy(now);
        state.rate.launched(predicted);
        self.gpu_view.busy_until.set(Some(begins + predicted));
    }

    /// Notes that a launch of `tasks` tasks took `ns`, with `in_flight` after it.
    /// True where the CPU should look again whether there is work for it.
    pub(super) fn gpu_did(&self, tasks: usize, ns: Ns, now: Ns, in_flight: usize) -> bool {
        let mut state = self.gpu.lock().unwrap_or_else(PoisonError::into_inner);
        let predicted = state.rate.predict(tasks);
        state.successes += 1;
        state.rate.observe(tasks, ns);
        self.gpu_view.fixed_ns.set(state.rate.fixed_ns());
        self.gpu_view.task_ns.set(state.rate.task_ns());
        if in_flight == 0 {
            self.gpu_view.busy_until.set(Some(now));
        }
        let failed = predicted.is_some_and(|predicted| ns > FAILED_PREDICTION * predicted);
        if failed && self.terms.corrects && matches!(self.terms.mode, Mode::Gpu) {
            self.joined.store(true, Ordering::Relaxed);
        }
        !self.is_empty() && (failed || matches!(self.terms.mode, Mode::Both))
    }

    /// No launch of more tasks fits the device's memory.
    pub(super) fn limit(&self, fits: usize) {
        self.fits.fetch_min(fits.max(1), Ordering::Relaxed);
    }

    /// A launch failed: nothing is in flight of it any more.
    pub(super) fn gpu_failed(&self, now: Ns, in_flight: usize) {
        if in_flight == 0 {
            self.gpu_view.busy_until.set(Some(now));
        }
    }

    /// Tasks that nobody has begun and that were promised to the GPU.
    pub(super) fn owed_to_gpu(&self) -> usize {
        let left = self.spans.left();
        match self.terms.mode {
            Mode::Gpu => left,
            // The CPU takes from the other end: what is left is the GPU's first.
            Mode::Split { gpu } => self.spans.front_before(gpu),
            Mode::Cpu | Mode::Both => 0,
        }
    }

    /// The GPU takes nothing any more: the CPU has the rest.
    pub(super) fn gpu_is_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

/// A float as a count: what is negative or no number is 0.
#[expect(clippy::cast_sign_loss, reason = "a float cast saturates")]
fn whole(value: f64) -> usize {
    value as usize
}
