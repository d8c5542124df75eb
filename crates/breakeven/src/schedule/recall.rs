//! Launches that the CPU takes back.

use super::{GpuTurn, Mode, Ns, Schedule, Span};

impl Schedule {
    /// Launches that the CPU takes back.
    ///
    /// Of a first launch nobody knows how long it takes: it may compile for a second
    /// what the CPU does in a millisecond; and a device may stall. When nothing is free,
    /// and the launch has taken as long as the workers would take for its tasks and
    /// far longer than predicted, they do them, the launch that was made last first.
    /// In any case they do so early enough that the batch is over in `most_delay` times
    /// what the CPU would take for all of it. None where nothing is in their way.
    pub(super) fn recall(&mut self, index: usize, now: Ns) -> Option<GpuTurn> {
        let tuning = self.terms.tuning;
        if !self.terms.corrects {
            return None;
        }
        let gpu = &self.gpus[index];
        let (oldest, newest) = (gpu.flights.front()?, *gpu.flights.back()?);
        let predicted = gpu
            .rate
            .predict(oldest.work)
            .or(gpu.rate.fixed())
            .unwrap_or(0.0);
        let (began, overdue) = (
            gpu.began(),
            gpu.began() + tuning.failed_prediction * predicted,
        );
        if !self.is_shared() {
            if self.terms.mode != Mode::Gpu || predicted <= 0.0 {
                return None;
            }
            if now < overdue {
                return Some(GpuTurn::Wait(overdue));
            }
            (self.joined, self.wakes) = (true, true);
        }
        if !self.is_empty() || !self.cpu.is_idle() {
            return None;
        }
        let waves = newest.tasks.div_ceil(self.terms.workers.max(1)) as f64;
        let task =
            self.density.work(newest.start..newest.start + newest.tasks) / newest.tasks as f64;
        let redone = self.density.is_known().then(|| waves * task * self.pace());
        let at = match (redone, self.alone(self.density.work(0..self.terms.tasks))) {
            (Some(redone), Some(all)) => {
                let latest = tuning.most_delay * all - redone;
                (began + redone).max(overdue).min(latest.max(overdue))
            }
            // Nothing says how long the CPU would take.
            _ => overdue,
        };
        Some(if now < at {
            GpuTurn::Wait(at)
        } else {
            GpuTurn::Recall
        })
    }

    /// True, once, where workers that found nothing are to look again.
    pub(crate) fn take_wakes(&mut self) -> bool {
        std::mem::take(&mut self.wakes)
    }

    /// The launch that was made last was given up, and this is its span.
    pub(crate) fn gpu_recalled(&mut self, index: usize, span: Span, now: Ns) {
        self.recalled += span.len();
        let _ = self.flight_ended(index, span.range().start, now);
        self.gpus[index].is_gone = true;
        self.fallen.push(span);
    }
}
