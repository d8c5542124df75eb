//! The GPUs' side of a schedule.

use std::collections::VecDeque;
use std::ops::Range;

use super::row::Row;
use super::{GpuSetup, Ns, Rate, Schedule, Span};
use crate::plan::{Added, Order, Tuning};
use crate::whole;

/// Least time between wake-ups of a GPU's driver, ns.
const LEAST_LOOK: Ns = 50_000.0;

/// A GPU driver's next step.
#[derive(Debug, PartialEq)]
pub enum GpuTurn {
    /// Launch this span.
    Run(Span),
    /// Nothing now; ask again at that time, or when a launch has ended.
    Wait(Ns),
    /// Abandon the launch that was made last and give its span back.
    Recall,
    /// Nothing more, unless it is woken.
    Done,
}

/// The time of a successful launch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LaunchTime {
    /// From its beginning on the device to its end, ns; none if it may have been done long before
    /// it was polled.
    pub ns: Option<Ns>,
    /// It was done at the first poll after the previous launch had ended: only the time of both
    /// together is known.
    pub is_joint: bool,
    /// Transfer time, ns, if the device reports it.
    pub moved: Option<Ns>,
}

/// The state of a GPU during a batch.
#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) rate: Rate,
    pub(super) setup: GpuSetup,
    pub(super) order: Order,
    pub(super) is_gone: bool,
    /// Tasks that the CPU runs in its place.
    pub(super) fallback: usize,
    /// Smaller spans to retry.
    pub(super) retry: Vec<Span>,
    pub(super) flights: VecDeque<InFlight>,
    /// When everything in flight should be done.
    busy_until: Ns,
    /// When the last launch ended.
    last_end: Ns,
    launches: u64,
    pub(super) successes: u64,
    /// The rate before the batch, and the launches since then that do not yet show the fixed time.
    first: (Rate, Vec<(Range<usize>, Ns)>),
    /// Tasks of the last launch.
    pub(super) last_tasks: usize,
    /// Most tasks in a launch.
    pub(super) fits: usize,
    pub(super) faults: super::faults::Failures,
    pub(super) launch_times: super::teach::LaunchTimes,
    /// The pieces of its batch, if they overlap.
    pub(super) row: Option<Row>,
}

/// A launch in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    start: usize,
    pub(super) tasks: usize,
    pub(super) work: f64,
    began: Ns,
}

impl InFlight {
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.tasks
    }
}

impl Gpu {
    pub(super) fn new(setup: &GpuSetup, rate: Rate, order: Order) -> Self {
        Self {
            rate,
            is_gone: order == Order::Nothing,
            fallback: 0,
            retry: Vec::new(),
            flights: VecDeque::with_capacity(2),
            busy_until: 0.0,
            last_end: 0.0,
            launches: 0,
            successes: 0,
            first: (rate, Vec::new()),
            last_tasks: setup.rate.first.map_or(0, |(tasks, _)| whole(tasks)),
            fits: setup.fits.max(1),
            faults: super::faults::Failures::default(),
            launch_times: super::teach::LaunchTimes::default(),
            row: None,
            setup: *setup,
            order,
        }
    }

    /// Converts to a new unit of work.
    pub(super) fn rescale(&mut self, times: f64) {
        self.rate.rescale(times);
        self.first.0.rescale(times);
        for flight in &mut self.flights {
            flight.work *= times;
        }
    }

    /// Returns how long it has work, ns. An overdue launch is expected to take as long again as it
    /// is late.
    pub(super) fn busy(&self, now: Ns) -> Ns {
        match self.flights.is_empty() {
            true => 0.0,
            false => (self.busy_until - now).abs(),
        }
    }

    /// Returns the predicted time of the launch that was made last.
    pub(super) fn last_predicted(&self) -> Ns {
        let last = self.flights.back();
        last.map_or(0.0, |last| self.rate.predict(last.work).unwrap_or(0.0))
    }

    /// Returns true before its first launch of this batch.
    pub(super) fn is_new(&self) -> bool {
        self.launches == 0
    }

    /// Returns false if it gets no more free tasks.
    pub(super) fn takes(&self) -> bool {
        !self.is_gone && (self.is_new() || !self.is_tried())
    }

    /// Returns true if it gets a few tasks and no more.
    pub(super) fn is_tried(&self) -> bool {
        matches!(self.order, Order::Try(_))
    }

    fn on_trial(&self) -> bool {
        self.setup.on_probation && self.successes == 0
    }

    /// Returns when a launch began on the device.
    pub(super) fn began(&self, flight: &InFlight) -> Ns {
        flight.began.max(self.last_end)
    }

    /// Returns what the batch's further pieces added; their full time alone, as far as known, if
    /// not everything went as planned; none if the batch was not cut and could have been.
    pub(super) fn added(&self, tuning: &Tuning) -> Option<Added> {
        let Some(row) = self.row else {
            // One launch at a time cannot overlap.
            return (self.setup.depth == 1).then_some(Added::ALL);
        };
        let seen = row.added(self.launches, self.last_end, tuning);
        let seen = seen.filter(|_| self.launches == self.successes);
        Some(seen.unwrap_or(Added::ALL))
    }

    /// Returns true if pieces of the batch overlapped.
    pub(super) fn overlapped(&self, tuning: &Tuning) -> bool {
        let added = self.row.zip(self.added(tuning));
        let part = added.map(|(row, added)| added.bottleneck(Some(row.launch)));
        part.is_some_and(|part| part <= 1.0 - tuning.least_overlap)
    }

    fn set_busy(&mut self, now: Ns) {
        let flights = self.flights.iter();
        let left = flights.filter_map(|flight| self.rate.predict(flight.work));
        self.busy_until = now + left.sum::<f64>();
    }
}

impl Schedule {
    /// Returns the next step of a GPU. A driver that got [`GpuTurn::Done`], and has nothing in
    /// flight, is not asked again: from then on no tasks are left for that GPU.
    pub fn gpu_turn(&mut self, index: usize, now: Ns) -> GpuTurn {
        let turn = self.next_turn(index, now);
        let gpu = &mut self.gpus[index];
        gpu.is_gone |= turn == GpuTurn::Done && gpu.flights.is_empty();
        turn
    }

    fn next_turn(&mut self, index: usize, now: Ns) -> GpuTurn {
        let in_flight = self.gpus[index].flights.len();
        if in_flight > 0
            && let Some(turn) = self.recall(index, now)
            && !(matches!(turn, GpuTurn::Wait(_)) && self.has_room(index))
        {
            return turn;
        }
        let is_shared = self.is_shared();
        let gpu = &mut self.gpus[index];
        if gpu.is_gone {
            return GpuTurn::Done;
        }
        if now < self.setup.orders.gpus_wait_ns {
            return GpuTurn::Wait(self.setup.orders.gpus_wait_ns);
        }
        // In a shared batch the size of the next launch follows from the time of this one.
        let most = match is_shared || gpu.on_trial() {
            true => 1,
            false => gpu.setup.depth,
        };
        if in_flight >= most {
            return self.wait(now);
        }
        if let Some(span) = gpu.retry.pop() {
            self.launched(index, &span, now);
            return GpuTurn::Run(span);
        }
        if in_flight == 0 {
            // The halves of a span that was too large are done.
            gpu.faults.fitted_before = None;
        }
        if !self.gpus[index].takes() {
            return GpuTurn::Done;
        }
        let end = self.gpu_end();
        let range = self.free.ranges().next();
        let range = range.map(|range| range.start..range.end.min(end));
        let Some(range) = range.filter(|range| !range.is_empty()) else {
            // A worker may still give back the tail of its span.
            return match is_shared && !self.cpu.is_idle() {
                true => GpuTurn::Wait(Ns::INFINITY),
                false => GpuTurn::Done,
            };
        };
        if self.gpus[index].is_new() {
            self.plan_row(index, range.clone(), now);
        }
        let mut tasks = self.gpu_size(index, range.clone(), now);
        if tasks == 0 && self.is_stuck() {
            // Nothing is in progress: if the workers will not take it, a GPU does.
            match is_shared && !self.gpus_end_before_a_task(now) {
                true => self.wakes = true,
                false => tasks = 1,
            }
        }
        let gpu = &self.gpus[index];
        let most = if gpu.on_trial() { 1 } else { gpu.fits };
        // A worker that must be tried gets a task.
        let for_worker = usize::from(self.cpu.probes && range.len() > 1);
        let tasks = tasks.min(most).min(range.len() - for_worker);
        match self.free.take(range.start..range.start + tasks) {
            Some(span) => {
                if let Some(row) = &mut self.gpus[index].row {
                    row.left = row.left.saturating_sub(1);
                }
                self.launched(index, &span, now);
                GpuTurn::Run(span)
            }
            None => GpuTurn::Wait(self.next_look(now)),
        }
    }

    /// Waits: the GPU has a launch in flight and gets no other now.
    fn wait(&mut self, now: Ns) -> GpuTurn {
        if self.is_shared() && self.free.tasks() > 0 {
            // Workers that left the remaining tasks to a launch which is now late must look again.
            self.wakes |= self.cpu.is_idle() && !self.gpus_end_before_a_task(now);
            return GpuTurn::Wait(self.next_look(now));
        }
        GpuTurn::Wait(Ns::INFINITY)
    }

    /// Returns true if nothing is in progress after the workers looked for something.
    fn is_stuck(&self) -> bool {
        let flies = self.gpus.iter().any(|gpu| !gpu.flights.is_empty());
        !flies && self.cpu.is_idle() && (!self.is_shared() || self.cpu.hungry > 0)
    }

    /// Returns when a GPU that takes nothing now asks again.
    fn next_look(&self, now: Ns) -> Ns {
        let left = self.alone(self.free_work(0..self.gpu_end())).unwrap_or(0.0);
        now + (left * self.setup.tuning.worker_part).max(LEAST_LOOK)
    }

    /// Records a launch.
    fn launched(&mut self, index: usize, span: &Span, now: Ns) {
        let work = self.density.work(span.range());
        let gpu = &mut self.gpus[index];
        gpu.launches += 1;
        gpu.last_tasks = span.len();
        let begins = match gpu.flights.is_empty() {
            true => now,
            false => now.max(gpu.busy_until),
        };
        gpu.busy_until = begins + gpu.rate.predict(work).unwrap_or(0.0);
        gpu.flights.push_back(InFlight {
            start: span.range().start,
            tasks: span.len(),
            work,
            began: now,
        });
    }

    /// Removes a launch of the tasks from `start` on, which ended.
    pub(super) fn flight_ended(&mut self, index: usize, start: usize, now: Ns) {
        let gpu = &mut self.gpus[index];
        gpu.flights.retain(|flight| flight.start != start);
        gpu.last_end = now;
        gpu.set_busy(now);
    }

    /// Records a successful launch and its time. Returns true if workers should look again whether
    /// there is work for them.
    pub(super) fn gpu_did(
        &mut self,
        index: usize,
        range: Range<usize>,
        took: LaunchTime,
        now: Ns,
    ) -> bool {
        let (knows_shape, may_join) = (self.knows_shape(), self.may_join());
        let (work, tuning) = (self.density.work(range.clone()), self.setup.tuning);
        let gpu = &mut self.gpus[index];
        gpu.successes += 1;
        let predicted = gpu.rate.predict(work);
        let most = tuning.failed_prediction;
        let mut times = took.ns.into_iter().zip(predicted);
        let failed = times.any(|(ns, predicted)| ns > most * predicted);
        if failed && may_join {
            self.joined = true;
            gpu.row = None;
        }
        if let Some(row) = &mut gpu.row {
            // Beside other launches it took less than alone, and its work is not known.
            row.ended(gpu.successes, took);
        }
        gpu.launch_times.done(range.clone(), took);
        if let Some(ns) = took.ns.filter(|_| gpu.row.is_none() && !took.is_joint) {
            let was_known = gpu.rate.is_fixed_known();
            if was_known {
                // If the work of the launch is known, the rate explains the difference.
                let sure = match knows_shape {
                    true => 1.0,
                    false => self.density.seen_part(range.clone()),
                };
                gpu.rate.observe(work, ns, tuning.rate_step * sure);
            } else {
                // The work of the earlier launches is known better by now.
                gpu.first.1.push((range.clone(), ns));
                gpu.rate = gpu.first.0;
                for (range, ns) in &gpu.first.1 {
                    let work = self.density.work(range.clone());
                    gpu.rate.observe(work, *ns, 1.0);
                }
            }
            gpu.set_busy(now);
            if let (Some(fixed), Some(per_work)) = (gpu.rate.fixed, gpu.rate.per_work) {
                // If the work is negligible compared with the launch cost, the time does not show
                // the work; and before a worker has done a task, the unit is not a worker's time.
                if was_known
                    && self.density.is_known()
                    && per_work * work >= self.setup.tuning.least_shown * fixed
                {
                    let found = ((ns - fixed) / per_work).max(0.0);
                    self.density.correct(range, found);
                }
            }
        }
        self.is_shared() && !self.is_empty()
    }

    /// Returns true, once, if workers that found nothing must look again.
    pub fn take_wakes(&mut self) -> bool {
        std::mem::take(&mut self.wakes)
    }
}
