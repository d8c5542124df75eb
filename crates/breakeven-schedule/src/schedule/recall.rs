//! Launches that the CPU takes back.

use super::gpu::GpuTurn;
use super::{Ns, Schedule, Span};

impl Schedule {
    /// Decides what to do about an overdue launch.
    ///
    /// The time of a first launch is unknown: it may compile for a second what the CPU runs in a
    /// millisecond; the device may stall; or the tasks are more expensive than expected, and it
    /// will soon be done. When there is no other work, the workers take launches back, the newest
    /// first. They do so as late as keeps the batch within `alike` times the CPU's time for all of
    /// it, but not before the launches are overdue or have taken that long. Returns none if nothing
    /// needs to be done.
    pub(super) fn recall(&mut self, index: usize, now: Ns) -> Option<GpuTurn> {
        let tuning = self.setup.tuning;
        if !self.setup.orders.by_prediction {
            return None;
        }
        let gpu = &self.gpus[index];
        let (oldest, newest) = (gpu.flights.front()?, gpu.flights.back()?);
        let predicted = gpu.rate.predict(oldest.work).or(gpu.rate.fixed);
        let predicted = predicted.unwrap_or(0.0);
        let began = gpu.began(oldest);
        let overdue = began + tuning.failed_prediction * predicted;
        if !self.is_shared() {
            if !self.may_join() {
                return None;
            }
            let overdue = match predicted > 0.0 {
                true => overdue,
                // Nothing is known of it: it may take as long as the CPU would for everything.
                false => began + self.waves(self.setup.tasks, self.density.mean())?,
            };
            if now < overdue {
                return Some(GpuTurn::Wait(overdue));
            }
            (self.joined, self.wakes) = (true, true);
        }
        // Smaller spans to retry belong to this device, and it does not get to them.
        if self.free.tasks() > 0 || !self.fallen.is_empty() || !self.cpu.is_idle() {
            return None;
        }
        let mean = self.density.mean_sampled();
        // A stated time may be far too short.
        let is_stated = gpu.setup.is_stated && self.density.count <= 0.0;
        let times = if is_stated { tuning.most_off } else { 1.0 };
        let task = match self.knows_shape() {
            true => self.density.work(newest.range()) / newest.tasks as f64,
            false => 0.0,
        };
        let all = self.waves(self.setup.tasks, times * mean);
        let at = match all.zip(self.waves(newest.tasks, task.max(mean))) {
            Some((all, newest)) => {
                let most = tuning.alike * all;
                (most - newest).max(overdue.min(began + most))
            }
            // The CPU's time is not known.
            None => overdue,
        };
        Some(match now < at {
            true => GpuTurn::Wait(at),
            false => GpuTurn::Recall,
        })
    }

    /// Records that the newest launch was abandoned, and takes its span.
    pub fn gpu_recalled(&mut self, index: usize, span: Span, now: Ns) {
        self.recalled += span.len();
        let gpu = &mut self.gpus[index];
        let began = gpu.flights.back().map_or(0.0, |flight| gpu.began(flight));
        let predicted = gpu.last_predicted();
        let tuning = self.setup.tuning;
        gpu.launch_times
            .recalled(span.len(), now - began, predicted, tuning);
        self.flight_ended(index, span.range().start, now);
        let gpu = &mut self.gpus[index];
        gpu.is_gone = true;
        self.fallen.append(&mut gpu.retry);
        self.fell.push((span.range(), None));
        self.fallen.push(span);
    }
}
