//! Inputs that are run as one batch, and who has which of them.
//!
//! The next window begins when all inputs of this one have been started, so no slot waits for
//! a job that takes long.
//!
//! A task of the batch is a [`Ticket`]: it gets its input when it is started, the next one in
//! order, on whatever device it is. The engine says how many tasks a device takes; workers
//! take them from the end of the batch and GPUs from its front, and jobs begin in the order
//! of their inputs all the same.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::inputs::Input;
use super::running::lock;

/// Nobody runs it.
const FREE: u8 = 0;
/// A GPU's process runs it, and may yet do so after it was given up.
const LAUNCHED: u8 = 1;
/// It has ended.
const ENDED: u8 = 2;

/// How often it is looked whether a process that was given up has ended.
const LOOK: Duration = Duration::from_millis(1);

/// The last jobs of a window are waited for, before the next one begins, for this fraction
/// of the window's time: what they teach decides that one.
const WAIT_PART: u32 = 16;

/// An input and how far it is.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) input: Input,
    state: AtomicU8,
}

impl Slot {
    /// A GPU's process runs it from now on.
    pub(super) fn launched(&self) {
        self.state.store(LAUNCHED, Ordering::SeqCst);
    }

    /// A GPU's process runs it no longer.
    pub(super) fn is_over(&self, has_ended: bool) {
        let state = if has_ended { ENDED } else { FREE };
        self.state.store(state, Ordering::SeqCst);
    }

    /// Waits until no GPU's process runs it; true where it need not be run any more.
    pub(super) fn wait(&self) -> bool {
        while self.state.load(Ordering::SeqCst) == LAUNCHED {
            std::thread::sleep(LOOK);
        }
        self.state.load(Ordering::SeqCst) == ENDED
    }
}

/// Inputs that are run as one batch.
#[derive(Debug)]
pub(super) struct Window {
    slots: Vec<Arc<Slot>>,
    next: AtomicUsize,
    began: Instant,
    stage: Mutex<Stage>,
    changed: Condvar,
}

/// Its batch has ended when this is dropped, also by a panic.
pub(super) struct Ends<'w>(pub(super) &'w Window);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.reaches(Stage::Ended);
    }
}

/// How far a window is.
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

    /// A ticket for each input.
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
    /// Its input: the next one, the first time. None where there are fewer than tickets.
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
