//! Inputs that run as one batch, and which device has which of them.
//!
//! The next window begins when all inputs of this one have been started, so no slot waits for a
//! long job.
//!
//! A task of the batch is a [`Ticket`]: it gets the next input when it is started, on whatever
//! device. The engine decides how many tasks a device gets; workers take them from the end of the
//! batch and GPUs from its front, and jobs still begin in the order of their inputs.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::inputs::Input;
use super::running::lock;

/// Nobody runs it.
const FREE: u8 = 0;
/// A GPU's process runs it, possibly even after it was given up.
const LAUNCHED: u8 = 1;
/// It has ended.
const ENDED: u8 = 2;

/// How often to check whether a process that was given up has ended.
const LOOK: Duration = Duration::from_millis(1);

/// Fraction of the window's time for which the next window waits for the last jobs, because their
/// times decide it.
const WAIT_PART: u32 = 16;

/// An input and its state.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) input: Input,
    state: AtomicU8,
}

impl Slot {
    /// A GPU's process begins to run it.
    pub(super) fn launched(&self) {
        self.state.store(LAUNCHED, Ordering::SeqCst);
    }

    /// A GPU's process has stopped running it.
    pub(super) fn is_over(&self, has_ended: bool) {
        let state = if has_ended { ENDED } else { FREE };
        self.state.store(state, Ordering::SeqCst);
    }

    /// Waits until no GPU's process runs it; true if it need not run again.
    pub(super) fn wait(&self) -> bool {
        while self.state.load(Ordering::SeqCst) == LAUNCHED {
            std::thread::sleep(LOOK);
        }
        self.state.load(Ordering::SeqCst) == ENDED
    }
}

/// Inputs that run as one batch.
#[derive(Debug)]
pub(super) struct Window {
    slots: Vec<Arc<Slot>>,
    next: AtomicUsize,
    began: Instant,
    stage: Mutex<Stage>,
    changed: Condvar,
}

/// Dropping it ends its batch, also after a panic.
pub(super) struct Ends<'w>(pub(super) &'w Window);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.reaches(Stage::Ended);
    }
}

/// State of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Stage {
    Begun,
    /// All inputs have been started.
    Taken,
    Ended,
}

impl Window {
    pub(super) fn new(inputs: Vec<Input>) -> Arc<Self> {
        let slot = |input| {
            let state = AtomicU8::new(FREE);
            Arc::new(Slot { input, state })
        };
        Arc::new(Self {
            slots: inputs.into_iter().map(slot).collect(),
            next: AtomicUsize::new(0),
            began: Instant::now(),
            stage: Mutex::new(Stage::Begun),
            changed: Condvar::new(),
        })
    }

    fn reaches(&self, stage: Stage) {
        *lock(&self.stage) = stage;
        self.changed.notify_all();
    }

    /// Waits until the next window may begin.
    pub(super) fn wait(&self) {
        let is_begun = |stage: &mut Stage| *stage == Stage::Begun;
        let taken = self.changed.wait_while(lock(&self.stage), is_begun);
        let taken = taken.unwrap_or_else(PoisonError::into_inner);
        let patience = self.began.elapsed() / WAIT_PART;
        let is_open = |stage: &mut Stage| *stage < Stage::Ended;
        drop(self.changed.wait_timeout_while(taken, patience, is_open));
    }

    /// A ticket per input.
    pub(super) fn tickets(self: &Arc<Self>) -> Vec<Ticket> {
        let ticket = |_| Ticket {
            window: Arc::clone(self),
            slot: Arc::default(),
        };
        (0..self.slots.len()).map(ticket).collect()
    }
}

/// A task of the batch.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    window: Arc<Window>,
    slot: Arc<OnceLock<usize>>,
}

impl Ticket {
    /// Its input: the next one, at the first call. None if there are fewer inputs than tickets.
    pub(super) fn slot(&self) -> Option<&Arc<Slot>> {
        let window = &self.window;
        let next = || {
            let next = window.next.fetch_add(1, Ordering::SeqCst);
            if next + 1 == window.slots.len() {
                window.reaches(Stage::Taken);
            }
            next
        };
        window.slots.get(*self.slot.get_or_init(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_started_in_order_whichever_tickets_are() {
        let input = |number| Input {
            number,
            value: number.to_string().into(),
        };
        let tickets = Window::new((1..=4).map(input).collect()).tickets();
        let number = |ticket: usize| tickets[ticket].slot().map(|slot| slot.input.number);
        assert_eq!([3, 0, 2, 3, 1].map(number), [1, 2, 3, 1, 4].map(Some));
    }
}
