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

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::rates::{CpuRate, GpuRate};
use super::spans::{Span, Spans};

use atomic::AtomicF64;

mod atomic;
mod device;
mod workers;

/// Time since the batch began, ns.
pub(super) type Ns = f64;

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
    /// Tasks of such a span.
    pub(super) probe_tasks: usize,
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

impl Schedule {
    pub(super) fn new(terms: Terms) -> Self {
        let schedule = Self::without_reserve(terms);
        if terms.mode == Mode::Both {
            let state = schedule.gpu.lock().unwrap_or_else(PoisonError::into_inner);
            let first = schedule.balanced_size(&state, terms.tasks, 0.0, 0);
            // A worker that is to be tried gets its task.
            let most = terms.tasks - usize::from(terms.probes_cpu && terms.tasks > 1);
            schedule
                .reserved
                .store(first.min(terms.fits).min(most), Ordering::Relaxed);
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
                last_tasks: terms.gpu.one_size().unwrap_or(0),
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

    /// No launch of more tasks fits the device's memory; what was the limit.
    pub(super) fn limit(&self, fits: usize) -> usize {
        self.fits.fetch_min(fits.max(1), Ordering::Relaxed)
    }

    /// Launches of so many tasks fit after all.
    pub(super) fn lift_limit(&self, fits: usize) {
        self.fits.fetch_max(fits, Ordering::Relaxed);
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
pub(super) fn whole(value: f64) -> usize {
    value as usize
}
