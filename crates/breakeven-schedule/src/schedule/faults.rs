//! What is done about a device's error.
//!
//! | error | reaction |
//! |---|---|
//! | out of memory, never fits | half the span, down to one task, which the CPU does; the size that worked is remembered; where memory does not suffice for three single tasks in a row, the CPU does the rest |
//! | refused input | half the span, down to the task that is refused, which the CPU does |
//! | launch, other | the CPU does the span; after three in a row, or one of a device that is tried, it does the rest, and nobody tries this device for a while (launch), or this operation does not (other) |
//! | compile, unsupported, panic, wrong result | the CPU does the rest; the operation does not try this device for a while |
//! | lost, timeout, unavailable | the CPU does the rest; nobody tries this device for a while |
//!
//! Where there are other GPUs, what a device has not begun is theirs too.

use std::ops::Range;

use super::{LaunchTime, Ns, Schedule, Span};
use crate::error::DeviceErrorKind;

/// Failures in a row after which a device gets nothing more.
const MOST_FAILURES: u32 = 3;

/// Single tasks in a row that a device which does others does not take.
const MOST_MISFITS: u32 = 32;

/// What a device was seen to be worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It did a launch.
    Works,
    /// The operation is to leave it alone.
    LeaveOperation,
    /// Everybody is.
    Quarantine,
}

/// What follows from the end of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct After {
    /// Workers are to look again: there is work for them.
    pub wakes: bool,
    /// What others are to know of the device.
    pub standing: Option<Standing>,
    /// More tasks fell back than may: the batch is to fail with the device's error.
    pub is_denied: bool,
    /// The driver is to give up all that is in flight, and its spans back.
    pub drops_flights: bool,
}

/// A device's failures in one batch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Failures {
    in_a_row: u32,
    misfits_in_a_row: u32,
    works: bool,
    /// Tasks that a launch could have before spans were halved, and what was known to
    /// fit, until the halves have ended.
    pub(super) fitted_before: Option<(usize, Option<usize>)>,
    /// Tasks that fitted one launch, after memory had not sufficed for more.
    fits: Option<usize>,
}

impl Failures {
    /// Tasks that fitted one launch, after memory had not sufficed for more.
    pub(super) fn fits(&self) -> Option<usize> {
        self.fits.filter(|fits| *fits > 0)
    }
}

impl Schedule {
    /// The least of what fitted a launch of a GPU, after memory had not sufficed for more.
    pub fn fits(&self) -> Option<usize> {
        self.gpus.iter().filter_map(|gpu| gpu.faults.fits()).min()
    }

    /// A launch ended well.
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
            // One that was left meanwhile is not called good by a launch from before.
            standing: (is_new && !gpu.is_gone).then_some(Standing::Works),
            ..After::default()
        }
    }

    /// A launch of this span failed.
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
                // It was this task that was too large, not those beside it.
                if let Some((limit, known)) = record.fitted_before
                    && kind != DeviceErrorKind::Refused
                {
                    gpu.fits = gpu.fits.max(limit);
                    record.fits = known;
                }
                record.misfits_in_a_row += 1;
                // Of a device that does others, a task may be what is wrong.
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
                // A device that is tried has no second launch.
                let leaves = record.in_a_row >= MOST_FAILURES || is_tried;
                self.give_up(index, span, leaves);
                let standing = match kind {
                    DeviceErrorKind::Launch => Standing::Quarantine,
                    // As likely the operation's mistake: other operations go on.
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
                // A device that is gone does not end what is in flight.
                self.after(Some(Standing::Quarantine), true)
            }
            DeviceErrorKind::Panic | DeviceErrorKind::WrongResult => {
                self.give_up(index, span, true);
                self.after(Some(Standing::LeaveOperation), true)
            }
        }
    }

    /// The span of a launch that was given up because its device was left.
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

    /// Has both halves tried next.
    fn halve(&mut self, index: usize, span: Span, half: usize) -> After {
        let (first, rest) = span.split(half);
        let retry = &mut self.gpus[index].retry;
        retry.extend(rest);
        retry.push(first);
        After::default()
    }

    /// The CPU does this span in that GPU's place.
    fn fall_back(&mut self, index: usize, span: Span) {
        self.count_fallback(index, span.range());
        self.fallen.push(span);
    }

    fn count_fallback(&mut self, index: usize, tasks: Range<usize>) {
        self.fallback += tasks.len();
        self.gpus[index].fallback += tasks.len();
        self.fell.push((tasks, Some(index)));
    }

    /// The CPU does a span. A device that is left gets nothing more: others have what it has
    /// not begun.
    fn give_up(&mut self, index: usize, span: Span, leaves: bool) {
        self.fall_back(index, span);
        if !leaves || std::mem::replace(&mut self.gpus[index].is_gone, true) {
            return;
        }
        for span in std::mem::take(&mut self.gpus[index].retry) {
            self.fall_back(index, span);
        }
        if !self.has_gpus() {
            // What was promised to GPUs and is free is the CPU's now.
            let promised: Vec<_> = self.free_of_promised().collect();
            for range in promised {
                self.count_fallback(index, range);
            }
        }
    }

    /// No GPU may be used: what was promised to them is the CPU's from the start. False
    /// where it may not be.
    pub fn refuse_gpus(&mut self, promised: usize) -> bool {
        self.refused = promised;
        self.fallback += promised;
        self.fallback <= self.setup.may_fall_back
    }
}
