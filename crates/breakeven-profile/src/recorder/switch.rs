//! Whether recording is on, in one word that every guard reads.

use std::env;
use std::sync::atomic::{AtomicU32, Ordering};

use super::at_exit;

/// The environment variable that switches recording off, whatever the program requests.
const VARIABLE: &str = "BREAKEVEN_RECORD";

const OFF: u32 = 0;

/// Not read yet.
const UNDECIDED: u32 = 1;

/// [`OFF`], [`UNDECIDED`], or a number that changes whenever threads must update their settings:
/// after a reset, or a change of the timeline.
static STATE: AtomicU32 = AtomicU32::new(UNDECIDED);

/// The settings of the program and its environment.
#[derive(Debug)]
pub(super) struct Wanted {
    on: bool,
    /// The environment's setting, once read.
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

    /// Switches recording; the environment has priority.
    pub(super) fn turn(&mut self, on: bool) {
        self.on = on;
        self.publish();
    }

    /// Makes every thread update its settings before it continues to record.
    pub(super) fn announce(&mut self) {
        // After four thousand million resets the numbers wrap.
        self.state = self.state.checked_add(1).unwrap_or(UNDECIDED + 1);
        self.publish();
    }

    /// True if the environment has switched recording off.
    pub(super) fn is_forbidden(&mut self) -> bool {
        *self.forbidden.get_or_insert_with(|| {
            let value = env::var(VARIABLE).unwrap_or_default();
            ["off", "0", "false", "no"].contains(&value.trim().to_ascii_lowercase().as_str())
        })
    }

    /// The number that threads compare with; `None` while nothing is recorded.
    pub(super) fn publish(&mut self) -> Option<u32> {
        let on = !self.is_forbidden() && (at_exit::is_requested() || self.on);
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

/// Whether calls are recorded; `None` if this was not decided yet.
#[inline(always)]
pub(super) fn decided() -> Option<bool> {
    match STATE.load(Ordering::Relaxed) {
        OFF => Some(false),
        UNDECIDED => None,
        _ => Some(true),
    }
}
