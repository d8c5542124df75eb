//! Decides which device takes which span next: a state machine that reads no clock.
//!
//! Threads drive it (`execute`), and so does the simulator (`testing`), in virtual time. It
//! receives times and outcomes and answers with the next step. Retry, halving, recall and giving up
//! a device are decided here and nowhere else.
//!
//! **Work.** Tasks differ, and cheap ones may come first. `density` estimates where in the batch
//! the work lies, from the times of workers at several places. Rates are time per *work*: of a
//! worker by its pace, of a GPU by `fixed + per_work · work`.
//!
//! **Shares.** All devices must end together: the free work is poured into them like water into
//! vessels, each open from the time at which its current work ends. GPUs take from the front, in
//! several launches, so that changing rates are noticed. A GPU takes the remainder of its share at
//! once as soon as splitting it could save less than the launches cost. Workers take from the back,
//! each time a fraction of the remaining time; a worker whose span turns out long gives the tail
//! back to idle ones.
//!
//! **Nothing known.** Each worker begins with one task, a GPU with a few. A first time does not
//! show the fixed cost of a launch. Until a launch of another size shows it, launches grow as long
//! as they end within half the time that the CPU would need alone.

mod calls;
mod cpu;
mod density;
#[cfg(test)]
mod density_tests;
mod driver;
mod faults;
mod gpu;
mod rate;
mod recall;
mod row;
mod setup;
mod share;
#[cfg(test)]
mod share_tests;
mod span;
mod teach;
#[cfg(test)]
mod test_setups;
#[cfg(test)]
mod tests;

pub use cpu::LONGEST_CALL;
pub use driver::{Driver, Pause, Step, until_look};
pub use faults::{After, Standing};
pub use gpu::{GpuTurn, LaunchTime};
pub use rate::Rate;
pub use setup::{GpuSetup, Setup};
pub use span::{MOST_TASKS, Span};

use std::ops::Range;

use crate::plan::{Order, PLACES, level};
use density::Density;
use span::Free;

/// Time since the batch began, ns.
pub type Ns = f64;

/// The schedule of one batch.
#[derive(Debug)]
pub struct Schedule {
    setup: Setup,
    free: Free,
    /// Spans for the CPU that GPUs failed at or that were taken back from them.
    fallen: Vec<Span>,
    /// All tasks that ever fell back, with the GPU that failed at them; none if they were taken
    /// back without a failure.
    fell: Vec<(Range<usize>, Option<usize>)>,
    /// Number of first tasks that were promised to GPUs which may not be used.
    refused: usize,
    density: Density,
    cpu: cpu::Workers,
    /// State of the calls, if the function takes several tasks a call.
    calls: Option<calls::Calls>,
    gpus: Vec<gpu::Gpu>,
    /// The CPU may take part although its order was to wait.
    joined: bool,
    /// Workers that found nothing must look again.
    wakes: bool,
    /// Most tasks of a worker's span.
    pub most_of_worker: usize,
    /// Tasks that the CPU runs in place of GPUs that failed at them.
    pub fallback: usize,
    /// Tasks that were taken back from overdue launches.
    pub recalled: usize,
}

impl Schedule {
    /// Creates the schedule of a batch of which nothing is done.
    pub fn new(setup: Setup) -> Self {
        let mut rates: Vec<Rate> = setup.gpus.iter().map(|gpu| gpu.rate).collect();
        let prior = setup.cpu;
        let places = if setup.gpus.is_empty() { 1 } else { PLACES };
        if let Some(task_ns) = prior {
            // The given rates are per task; the unit of work is known as well.
            rates.iter_mut().for_each(|rate| rate.rescale(task_ns));
        }
        let gpus = setup.gpus.iter().zip(rates).zip(&setup.orders.gpus);
        let gpus = gpus.map(|((gpu, rate), order)| gpu::Gpu::new(gpu, rate, *order));
        let shape = setup.shape.as_deref();
        let mut schedule = Self {
            free: Free::all(setup.tasks),
            fallen: Vec::new(),
            fell: Vec::new(),
            refused: 0,
            density: Density::new(setup.tasks, prior, shape, places),
            cpu: cpu::Workers::new(&setup),
            calls: (setup.is_call).then(|| calls::Calls::new(setup.call_ns)),
            gpus: gpus.collect(),
            joined: false,
            wakes: false,
            most_of_worker: usize::MAX,
            fallback: 0,
            recalled: 0,
            setup,
        };
        schedule.mark();
        schedule
    }

    /// Returns true if no span can be taken any more unless one is given back.
    pub fn is_empty(&self) -> bool {
        self.free.tasks() == 0
            && self.fallen.is_empty()
            && self.gpus.iter().all(|gpu| gpu.retry.is_empty())
    }

    /// Takes back a span that was not done: the batch was stopped, or a foreign executor lost it.
    pub fn give_back(&mut self, span: Span) {
        // What fell back or was taken back stays with the CPU, and is counted once.
        match self.has_fallen(&span.range()) {
            true => self.fallen.push(span),
            false => self.free.give_back(span),
        }
    }

    /// Returns true if these tasks fell back or were taken back.
    fn has_fallen(&self, tasks: &Range<usize>) -> bool {
        let mut fell = self.fell.iter();
        fell.any(|(fell, _)| fell.start <= tasks.start && tasks.end <= fell.end)
    }

    /// Returns any remaining span, after the batch was stopped.
    pub fn take_any(&mut self) -> Option<Span> {
        let retried = self.gpus.iter_mut().find_map(|gpu| gpu.retry.pop());
        if let Some(span) = retried.or_else(|| self.fallen.pop()) {
            return Some(span);
        }
        let range = self.free.ranges().next()?;
        self.free.take(range)
    }

    /// Removes from the fallback counts what was not done before the batch was stopped.
    pub fn forget_unrun(&mut self) {
        let refused = 0..self.refused;
        let refused = self
            .free
            .ranges()
            .map(|range| common(&range, &refused).len());
        self.fallback -= refused.sum::<usize>();
        let fallen = self.fallen.iter().map(Span::range);
        let unrun: Vec<_> = fallen.chain(self.free.ranges()).collect();
        for (fell, gpu) in &self.fell {
            let Some(gpu) = gpu else {
                continue;
            };
            let tasks: usize = unrun.iter().map(|range| common(range, fell).len()).sum();
            self.fallback -= tasks;
            self.gpus[*gpu].fallback -= tasks;
        }
    }

    /// Returns the tasks that the CPU runs in place of each GPU.
    pub fn fallback_of_gpus(&self) -> Vec<usize> {
        self.gpus.iter().map(|gpu| gpu.fallback).collect()
    }

    /// Iterates over the free tasks that were promised to GPUs.
    fn free_of_promised(&self) -> impl Iterator<Item = Range<usize>> {
        let promised = match self.setup.orders.cpu {
            Order::Nothing | Order::Try(_) => self.setup.tasks,
            Order::Share(tasks) => self.setup.tasks - tasks,
            Order::AsMuchAsPays => 0,
        };
        self.free
            .ranges()
            .map(move |range| common(&range, &(0..promised)))
    }

    /// Moves all remaining tasks of the GPUs to the CPU.
    pub fn leave_all_gpus(&mut self) {
        for gpu in &mut self.gpus {
            gpu.is_gone = true;
            self.fallen.append(&mut gpu.retry);
        }
    }

    fn has_gpus(&self) -> bool {
        self.gpus.iter().any(gpu::Gpu::takes)
    }

    /// Returns true if other batches showed where the work lies.
    fn knows_shape(&self) -> bool {
        let shape = self.setup.shape.as_ref();
        shape.is_some_and(|shape| shape.repeats(self.setup.tuning))
    }

    /// Returns whether the CPU takes part in what the GPUs could run.
    fn is_shared(&self) -> bool {
        match self.setup.orders.cpu {
            Order::AsMuchAsPays => self.setup.orders.use_gpus(),
            Order::Nothing | Order::Try(_) => self.joined,
            Order::Share(_) => false,
        }
    }

    /// Returns true while the CPU has no share, and would help if a prediction failed.
    fn may_join(&self) -> bool {
        let waits = matches!(self.setup.orders.cpu, Order::Nothing | Order::Try(_));
        waits && self.setup.orders.by_prediction
    }

    /// Returns the end of the tasks that GPUs may take.
    fn gpu_end(&self) -> usize {
        match self.setup.orders.cpu {
            Order::Share(tasks) => self.setup.tasks - tasks,
            _ => self.setup.tasks,
        }
    }

    /// Returns the beginning of the tasks that workers may take.
    fn cpu_start(&self) -> usize {
        match self.setup.orders.cpu {
            _ if !self.has_gpus() => 0,
            Order::Share(tasks) => self.setup.tasks - tasks,
            Order::Nothing | Order::Try(_) if !self.joined => self.setup.tasks,
            _ => 0,
        }
    }

    /// Returns the free work within a range.
    fn free_work(&self, within: Range<usize>) -> f64 {
        let parts = self.free.ranges().map(|range| {
            let part = common(&range, &within);
            match part.is_empty() {
                true => 0.0,
                false => self.density.work(part),
            }
        });
        parts.sum()
    }
}

/// Returns the intersection of two ranges.
fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}
