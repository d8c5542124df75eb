//! Decides how to react to a device's error.
//!
//! | error | reaction |
//! |---|---|
//! | out of memory, never fits | half the span, down to one task, which the CPU runs; the size that worked is remembered; after three single tasks in a row that do not fit, the CPU runs the remaining tasks |
//! | refused input | half the span, down to the refused task, which the CPU runs |
//! | launch, other | the CPU runs the span. After three in a row, or one on a device that is being tried, the CPU runs the remaining tasks; after a launch error the device is quarantined, after another error this operation avoids it for a while |
//! | compile, unsupported, panic, wrong result | the CPU runs the remaining tasks; the operation avoids this device for a while |
//! | lost, timeout, unavailable | the CPU runs the remaining tasks; the device is quarantined |
//!
//! If there are more GPUs, they can also take what the failed device has not begun.

use std::ops::Range;

use super::{LaunchTime, Ns, Schedule, Span};
use crate::error::DeviceErrorKind;

/// Consecutive failures after which a device gets no more tasks.
const MOST_FAILURES: u32 = 3;

/// Most consecutive single tasks that a working device may refuse.
const MOST_MISFITS: u32 = 32;

/// What a launch showed about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It finished a launch.
    Works,
    /// The operation avoids the device.
    LeaveOperation,
    /// The device is quarantined for every operation.
    Quarantine,
}

/// What follows from the end of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct After {
    /// Workers must look again: there is work for them.
    pub wakes: bool,
    /// What to report about the device.
    pub standing: Option<Standing>,
    /// More tasks fell back than allowed: the batch must fail with the device's error.
    pub is_denied: bool,
    /// The driver must abandon everything in flight, and give its spans back.
    pub drops_flights: bool,
}

/// A device's failures in one batch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Failures {
    in_a_row: u32,
    misfits_in_a_row: u32,
    works: bool,
    /// Largest launch before spans were halved, and the known fit, until the halves have ended.
    pub(super) fitted_before: Option<(usize, Option<usize>)>,
    /// Tasks that fitted one launch after a larger one ran out of memory.
    fits: Option<usize>,
}

impl Failures {
    /// Returns the tasks that fitted one launch after a larger one ran out of memory.
    pub(super) fn fits(&self) -> Option<usize> {
        self.fits.filter(|fits| *fits > 0)
    }
}

impl Schedule {
    /// Returns the least number of tasks that fitted one launch of a GPU after a larger one ran out
    /// of memory.
    pub fn fits(&self) -> Option<usize> {
        self.gpus.iter().filter_map(|gpu| gpu.faults.fits()).min()
    }

    /// Records that a launch succeeded.
    pub fn gpu_succeeded(
        &mut self,
        index: usize,
        start: usize,
        tasks: usize,
        took: LaunchTime,
        now: Ns,
    ) -> After {
        self.flight_ended(index, start, now);
        let wakes = self.gpu_did(index, start..start + tasks, took, now);
        let gpu = &mut self.gpus[index];
        let record = &mut gpu.faults;
        (record.in_a_row, record.misfits_in_a_row) = (0, 0);
        record.fits = record.fits.map(|fits| fits.max(tasks));
        let is_new = !std::mem::replace(&mut record.works, true);
        After {
            wakes,
            // A launch from before does not rehabilitate a device that was given up meanwhile.
            standing: (is_new && !gpu.is_gone).then_some(Standing::Works),
            ..After::default()
        }
    }

    /// Records that a launch of this span failed.
    pub fn gpu_failed(
        &mut self,
        index: usize,
        span: Span,
        kind: DeviceErrorKind,
        now: Ns,
    ) -> After {
        self.flight_ended(index, span.range().start, now);
        let tasks = span.len();
        let gpu = &mut self.gpus[index];
        let is_tried = gpu.is_tried();
        let record = &mut gpu.faults;
        match kind {
            DeviceErrorKind::OutOfMemory | DeviceErrorKind::NeverFits
                if tasks > 1 && !gpu.is_gone =>
            {
                let half = tasks.div_ceil(2);
                let before = gpu.fits;
                gpu.fits = before.min(half);
                record.fitted_before.get_or_insert((before, record.fits));
                record.fits.get_or_insert(0);
                self.halve(index, span, half)
            }
            DeviceErrorKind::Refused if tasks > 1 && !gpu.is_gone => {
                self.halve(index, span, tasks.div_ceil(2))
            }
            DeviceErrorKind::OutOfMemory
            | DeviceErrorKind::NeverFits
            | DeviceErrorKind::Refused => {
                // This task alone was too large, not its neighbours.
                if let Some((limit, known)) = record.fitted_before
                    && kind != DeviceErrorKind::Refused
                {
                    gpu.fits = gpu.fits.max(limit);
                    record.fits = known;
                }
                record.misfits_in_a_row += 1;
                // On a device that runs other tasks, the task may be the cause.
                let is_the_tasks = record.works && kind != DeviceErrorKind::OutOfMemory;
                let most = match is_the_tasks {
                    true => MOST_MISFITS,
                    false => MOST_FAILURES,
                };
                let leaves = record.misfits_in_a_row >= most;
                self.give_up(index, span, leaves);
                self.after(None, false)
            }
            DeviceErrorKind::Launch | DeviceErrorKind::Other => {
                record.in_a_row += 1;
                // A device that is being tried gets no second launch.
                let leaves = record.in_a_row >= MOST_FAILURES || is_tried;
                self.give_up(index, span, leaves);
                let standing = match kind {
                    DeviceErrorKind::Launch => Standing::Quarantine,
                    // The operation may be the cause: other operations continue.
                    _ => Standing::LeaveOperation,
                };
                self.after(leaves.then_some(standing), false)
            }
            DeviceErrorKind::Compile | DeviceErrorKind::Unsupported => {
                self.give_up(index, span, true);
                self.after(Some(Standing::LeaveOperation), false)
            }
            DeviceErrorKind::Unavailable { .. }
            | DeviceErrorKind::DeviceLost
            | DeviceErrorKind::Timeout => {
                self.give_up(index, span, true);
                // A device that is lost does not end its launches.
                self.after(Some(Standing::Quarantine), true)
            }
            DeviceErrorKind::Panic | DeviceErrorKind::WrongResult => {
                self.give_up(index, span, true);
                self.after(Some(Standing::LeaveOperation), true)
            }
        }
    }

    /// Records the span of a launch that was abandoned because its device was given up.
    pub fn gpu_dropped(&mut self, index: usize, span: Span, now: Ns) -> After {
        self.flight_ended(index, span.range().start, now);
        self.fall_back(index, span);
        self.after(None, false)
    }

    fn after(&self, standing: Option<Standing>, drops_flights: bool) -> After {
        After {
            wakes: true,
            standing,
            is_denied: self.fallback > self.setup.may_fall_back,
            drops_flights,
        }
    }

    /// Queues both halves for a retry.
    fn halve(&mut self, index: usize, span: Span, half: usize) -> After {
        let (first, rest) = span.split(half);
        let retry = &mut self.gpus[index].retry;
        retry.extend(rest);
        retry.push(first);
        After::default()
    }

    /// Moves this span from the GPU to the CPU.
    fn fall_back(&mut self, index: usize, span: Span) {
        self.count_fallback(index, span.range());
        self.fallen.push(span);
    }

    fn count_fallback(&mut self, index: usize, tasks: Range<usize>) {
        self.fallback += tasks.len();
        self.gpus[index].fallback += tasks.len();
        self.fell.push((tasks, Some(index)));
    }

    /// Moves a span to the CPU. A device that is given up gets no more tasks: the other devices
    /// take what it has not begun.
    fn give_up(&mut self, index: usize, span: Span, leaves: bool) {
        self.fall_back(index, span);
        if !leaves || std::mem::replace(&mut self.gpus[index].is_gone, true) {
            return;
        }
        for span in std::mem::take(&mut self.gpus[index].retry) {
            self.fall_back(index, span);
        }
        if !self.has_gpus() {
            // Free tasks that were promised to GPUs are now the CPU's. GPUs that were tried may fail
            // later than the last one to which tasks were promised.
            let promised = self.free_of_promised();
            let promised: Vec<_> = promised.filter(|tasks| !self.has_fallen(tasks)).collect();
            for range in promised {
                self.count_fallback(index, range);
            }
        }
    }

    /// Moves everything promised to GPUs to the CPU from the start, because no GPU may be used.
    /// Returns false if fallback is not allowed.
    pub fn refuse_gpus(&mut self, promised: usize) -> bool {
        self.refused = promised;
        self.fallback += promised;
        self.fallback <= self.setup.may_fall_back
    }
}
