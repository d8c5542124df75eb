//! Who takes which span next: a state machine that reads no clock.
//!
//! Threads drive it (`execute`), and so does the simulator (`testing`), in virtual
//! time. It is told times and outcomes and answers with the next step: retry, halving,
//! recall and leaving a device are decided here and nowhere else.
//!
//! **Work.** Tasks differ, and cheap ones may come first. `density` says where in the
//! batch the work lies, from what workers took at several places of it. Rates are time
//! per *work*: of a worker by its pace, of a GPU by `fixed + per_work · work`.
//!
//! **Shares.** All devices are to end together: the free work is poured into them like
//! water into vessels, each open from when it is done with what it has. GPUs take from
//! the front and in parts, so that rates that change are met; the last part is whole, as
//! soon as what it could still correct is less than what launches cost. Workers take
//! from the back, a part of the time that is left each; one that finds its span long
//! gives the tail back to those who have nothing.
//!
//! **Nothing known.** Each worker begins with one task, a GPU with a few. A first time
//! does not tell what is fixed of a launch; until one of another size tells, launches
//! grow as long as they end in half the time that the CPU would need alone.

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
    /// Spans that GPUs failed at or that were taken back from them, for the CPU.
    fallen: Vec<Span>,
    /// All tasks that ever fell back, with the GPU that failed at them; none where nothing
    /// failed and they were taken back.
    fell: Vec<(Range<usize>, Option<usize>)>,
    /// The first tasks, so many, were promised to GPUs that may not be used.
    refused: usize,
    density: Density,
    cpu: cpu::Workers,
    /// The function takes several tasks a call.
    calls: Option<calls::Calls>,
    gpus: Vec<gpu::Gpu>,
    /// The CPU may take part although the mode has it wait.
    joined: bool,
    /// Workers that found nothing are to look again.
    wakes: bool,
    /// Most tasks of a worker's span.
    pub most_of_worker: usize,
    /// Tasks that the CPU does in the place of GPUs that failed at them.
    pub fallback: usize,
    /// Tasks that were taken back from launches that lasted too long.
    pub recalled: usize,
}

impl Schedule {
    /// A batch of which nothing was done.
    pub fn new(setup: Setup) -> Self {
        let mut rates: Vec<Rate> = setup.gpus.iter().map(|gpu| gpu.rate).collect();
        let prior = setup.cpu;
        let places = if setup.gpus.is_empty() { 1 } else { PLACES };
        if let Some(task_ns) = prior {
            // Known rates are per task, and the unit of work is known as well.
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

    /// True where nobody will ever take a span unless one is given back.
    pub fn is_empty(&self) -> bool {
        self.free.tasks() == 0
            && self.fallen.is_empty()
            && self.gpus.iter().all(|gpu| gpu.retry.is_empty())
    }

    /// Takes a span back that nobody did: the batch was stopped, or an executor of
    /// somebody else's lost it.
    pub fn give_back(&mut self, span: Span) {
        let range = span.range();
        let is_in = |fell: &Range<usize>| fell.start <= range.start && range.end <= fell.end;
        // What fell back or was taken back stays the CPU's, and is counted once.
        match self.fell.iter().any(|(fell, _)| is_in(fell)) {
            true => self.fallen.push(span),
            false => self.free.give_back(span),
        }
    }

    /// Any span that is left, after the batch was stopped.
    pub fn take_any(&mut self) -> Option<Span> {
        let retried = self.gpus.iter_mut().find_map(|gpu| gpu.retry.pop());
        if let Some(span) = retried.or_else(|| self.fallen.pop()) {
            return Some(span);
        }
        let range = self.free.ranges().next()?;
        self.free.take(range)
    }

    /// The batch was stopped: what fell back and nobody did, did not fall back.
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

    /// Tasks that the CPU does in each GPU's place.
    pub fn fallback_of_gpus(&self) -> Vec<usize> {
        self.gpus.iter().map(|gpu| gpu.fallback).collect()
    }

    /// Free tasks that were promised to GPUs.
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

    /// The GPUs take nothing any more: the CPU has the rest.
    pub fn leave_all_gpus(&mut self) {
        for gpu in &mut self.gpus {
            gpu.is_gone = true;
            self.fallen.append(&mut gpu.retry);
        }
    }

    fn has_gpus(&self) -> bool {
        self.gpus.iter().any(gpu::Gpu::takes)
    }

    /// True where it is known from other batches where the work lies.
    fn knows_shape(&self) -> bool {
        let shape = self.setup.shape.as_ref();
        shape.is_some_and(|shape| shape.repeats(self.setup.tuning))
    }

    /// Whether the CPU takes part in what the GPUs could do.
    fn is_shared(&self) -> bool {
        match self.setup.orders.cpu {
            Order::AsMuchAsPays => self.setup.orders.use_gpus(),
            Order::Nothing | Order::Try(_) => self.joined,
            Order::Share(_) => false,
        }
    }

    /// True while the CPU has no part of its own, and would help if a prediction failed.
    fn may_join(&self) -> bool {
        let waits = matches!(self.setup.orders.cpu, Order::Nothing | Order::Try(_));
        waits && self.setup.orders.by_prediction
    }

    /// The tasks that GPUs may take are those before this one.
    fn gpu_end(&self) -> usize {
        match self.setup.orders.cpu {
            Order::Share(tasks) => self.setup.tasks - tasks,
            _ => self.setup.tasks,
        }
    }

    /// The tasks that workers may take begin here.
    fn cpu_start(&self) -> usize {
        match self.setup.orders.cpu {
            _ if !self.has_gpus() => 0,
            Order::Share(tasks) => self.setup.tasks - tasks,
            Order::Nothing | Order::Try(_) if !self.joined => self.setup.tasks,
            _ => 0,
        }
    }

    /// Work that nobody holds, of the tasks in a range.
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

/// The tasks that two ranges have in common.
fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}
