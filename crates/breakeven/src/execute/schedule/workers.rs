//! The workers' side of a schedule.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use super::{Mode, Ns, Schedule, whole};
use crate::execute::spans::Span;
use crate::plan::LEAST_GAIN;

/// What a worker's span takes at the least, so that taking it costs nothing, ns.
const LEAST_SPAN_NS: f64 = 20_000.0;

/// Part of the time left that a worker takes at once.
const WORKER_PART: f64 = 0.25;

impl Schedule {
    /// The next span of a worker; none where there is nothing for it now.
    pub(in crate::execute) fn take_cpu(&self, now: Ns) -> Option<Span> {
        let workers = self.terms.workers.max(1) as f64;
        if let Some(span) = self.spans.take_returned(|tasks| {
            let horizon = self.task_ns.get().map(|task| task * tasks as f64 / workers);
            self.worker_size(tasks, horizon)
        }) {
            return Some(span);
        }
        let gone = self.gone.load(Ordering::Relaxed);
        let joined = gone || self.joined.load(Ordering::Relaxed);
        let probes = Cell::new(false);
        let span = self.spans.take_back(|left| {
            probes.set(false);
            let mine = match self.terms.mode {
                Mode::Gpu if !joined => 0,
                Mode::Split { gpu } if !joined => left.end.saturating_sub(gpu.max(left.start)),
                _ if gone => left.len(),
                _ => left
                    .len()
                    .saturating_sub(self.reserved.load(Ordering::Relaxed)),
            };
            if mine == 0 {
                // The GPU's first launch is a part at least.
                probes.set(self.probes_cpu.load(Ordering::Relaxed) && left.len() > 1);
                return usize::from(probes.get());
            }
            let alone = self.task_ns.get().map(|task| task * mine as f64 / workers);
            let shared = !gone && (joined || matches!(self.terms.mode, Mode::Both));
            if !shared {
                return self.worker_size(mine, alone);
            }
            if self.ends_after_the_gpu(mine, now) {
                probes.set(self.probes_cpu.load(Ordering::Relaxed));
                return usize::from(probes.get());
            }
            let view = &self.gpu_view;
            if view.fixed_ns.get().is_none() || view.task_ns.get().is_none() {
                // All may end soon: nobody takes what lasts long beside what has passed.
                return self.worker_size(mine, alone.map(|alone| alone.min(now)));
            }
            self.worker_size(mine, self.horizon(left.len(), now).or(alone))
                .min(mine)
        });
        if probes.get() && span.is_some() {
            self.probes_cpu.store(false, Ordering::Relaxed);
        }
        span
    }

    /// True where one task of a worker would end well after the GPU, at the rates
    /// known, could have done all `left`: then the GPU takes them. Both sides ask
    /// this, so that neither leaves to the other what that one would not take.
    pub(super) fn ends_after_the_gpu(&self, left: usize, now: Ns) -> bool {
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
    pub(super) fn gpu_busy(&self, now: Ns) -> Ns {
        let until = self.gpu_view.busy_until.get().unwrap_or(now);
        (until - now).max(0.0)
    }

    /// When all `left` tasks are done with both devices at them, ns from now.
    pub(super) fn horizon(&self, left: usize, now: Ns) -> Option<Ns> {
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
    pub(in crate::execute) fn cpu_did(&self, tasks: usize, ns: Ns) {
        // Another worker's is as good as this one's.
        let Ok(mut rate) = self.cpu.try_lock() else {
            return;
        };
        rate.observe(tasks, ns);
        self.task_ns.set(rate.task_ns());
        self.cautious_ns.set(rate.cautious_ns());
    }
}
