//! Inputs that are run as one batch, and who has which of them.
//!
//! A task of the batch is a [`Ticket`]: it gets its input when it is started, the next one in
//! order, on whatever device it is. The engine says how many tasks a device takes; workers
//! take them from the end of the batch and GPUs from its front, and jobs begin in the order
//! of their inputs all the same.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::inputs::Input;

/// Nobody runs it.
const FREE: u8 = 0;
/// A GPU's process runs it, and may yet do so after it was given up.
const LAUNCHED: u8 = 1;
/// It has ended.
const ENDED: u8 = 2;

/// How often it is looked whether a process that was given up has ended.
const LOOK: Duration = Duration::from_millis(1);

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
        })
    }

    /// A ticket for each input.
    pub(super) fn tickets(self: &Arc<Self>) -> Vec<Ticket> {
        let ticket = |_| Ticket {
            window: Arc::clone(self),
            slot: OnceLock::new(),
        };
        (0..self.slots.len()).map(ticket).collect()
    }
}

/// A task of the batch.
#[derive(Debug)]
pub(super) struct Ticket {
    window: Arc<Window>,
    slot: OnceLock<usize>,
}

impl Ticket {
    /// Its input: the next one, the first time. None where there are fewer than tickets.
    pub(super) fn slot(&self) -> Option<&Arc<Slot>> {
        let next = || self.window.next.fetch_add(1, Ordering::SeqCst);
        self.window.slots.get(*self.slot.get_or_init(next))
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
