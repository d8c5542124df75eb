//! Whether anything is recorded, in one word that every guard reads.

use std::env;
use std::sync::atomic::{AtomicU32, Ordering};

/// The environment's variable that switches recording off, whatever the program asks for.
const VARIABLE: &str = "BREAKEVEN_RECORD";

const OFF: u32 = 0;

/// Nobody has asked yet.
const UNDECIDED: u32 = 1;

/// [`OFF`], [`UNDECIDED`], or a number that changes whenever threads have to
/// look at what they follow: a reset, another timeline.
static STATE: AtomicU32 = AtomicU32::new(UNDECIDED);

/// What the program and its environment want.
#[derive(Debug)]
pub(super) struct Wanted {
    on: bool,
    /// The environment's word, once it was read.
    forbidden: Option<bool>,
    state: u32,
}

impl Wanted {
    pub(super) const fn new() -> Self {
        Self {
            on: true,
            forbidden: None,
            state: UNDECIDED + 1,
        }
    }

    /// Switches; the environment's `off` is stronger.
    pub(super) fn turn(&mut self, on: bool) {
        self.on = on;
        self.publish();
    }

    /// Has every thread look at what it follows before it records on.
    pub(super) fn announce(&mut self) {
        // After four thousand million resets the numbers begin anew.
        self.state = self.state.checked_add(1).unwrap_or(UNDECIDED + 1);
        self.publish();
    }

    /// True where the environment has switched recording off.
    pub(super) fn is_forbidden(&mut self) -> bool {
        *self.forbidden.get_or_insert_with(|| {
            let value = env::var(VARIABLE).unwrap_or_default();
            ["off", "0", "false", "no"].contains(&value.trim().to_ascii_lowercase().as_str())
        })
    }

    /// The number that threads compare with; `None` while nothing is recorded.
    pub(super) fn publish(&mut self) -> Option<u32> {
        let on = self.on && !self.is_forbidden();
        let state = if on { self.state } else { OFF };
        STATE.store(state, Ordering::Relaxed);
        on.then_some(state)
    }
}

#[inline(always)]
pub(super) fn state() -> Option<u32> {
    let state = STATE.load(Ordering::Relaxed);
    (state != OFF).then_some(state)
}

/// Whether calls are recorded; `None` where nobody has asked yet.
#[inline(always)]
pub(super) fn decided() -> Option<bool> {
    match STATE.load(Ordering::Relaxed) {
        OFF => Some(false),
        UNDECIDED => None,
        _ => Some(true),
    }
}
