//! Options of one execution other than its strategy: when to stop, how much may fall back, how far
//! the GPU is trusted.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;

/// Stops an execution from another thread: within a millisecond, or two tasks if they take longer.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Creates a token that is not used yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops all executions that have this token or a clone of it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true once it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What happens to tasks that fail on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum FallbackPolicy {
    /// The CPU runs them.
    #[default]
    Allow,
    /// The execution fails with the device's error.
    Deny,
    /// The CPU runs them as long as they are at most this fraction of the execution's tasks, 0 to
    /// 1; beyond, the execution fails with the device's error.
    Budget(f64),
}

impl FallbackPolicy {
    /// Checks that a budget is a fraction.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self {
            Self::Budget(part) if !(0.0..=1.0).contains(part) => Err(Error::invalid(format!(
                "a fallback budget of {part}: give the fraction of the tasks that may fall back, 0 to 1"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the most tasks that may fall back to the CPU.
    pub(super) fn most(&self, tasks: usize) -> usize {
        match *self {
            Self::Allow => usize::MAX,
            Self::Deny => 0,
            Self::Budget(fraction) => crate::whole(fraction * tasks as f64),
        }
    }
}

/// How a GPU's outputs are compared with the CPU's.
pub trait Verify<T>: Sync {
    /// Returns the fraction of a launch's tasks to check, 0 to 1.
    fn part(&self) -> f64;

    /// Returns the largest time for checking, as a fraction of the execution time so far.
    fn cost_cap(&self) -> f64;

    /// Returns true if the GPU's output is as good as the CPU's.
    fn agree(&self, gpu: &T, cpu: &T) -> bool;
}

/// Trusts the GPU.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unchecked;

impl<T> Verify<T> for Unchecked {
    fn part(&self) -> f64 {
        0.0
    }

    fn cost_cap(&self) -> f64 {
        0.0
    }

    fn agree(&self, _: &T, _: &T) -> bool {
        true
    }
}

/// Compares a sample of a GPU's outputs, or all, with the CPU's function.
///
/// The function runs on the thread that drives the GPU, one task after the other. If one output
/// does not agree, the complete launch has failed, and the CPU runs it again.
#[derive(Clone)]
pub struct CrossCheck<A> {
    part: f64,
    cost_cap: f64,
    agree: A,
}

impl<A> fmt::Debug for CrossCheck<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrossCheck")
            .field("part", &self.part)
            .field("cost_cap", &self.cost_cap)
            .finish_non_exhaustive()
    }
}

impl<A> CrossCheck<A> {
    /// Checks every output, whatever the time. `agree(gpu, cpu)` defines the tolerance.
    pub fn all(agree: A) -> Self {
        Self {
            part: 1.0,
            cost_cap: f64::INFINITY,
            agree,
        }
    }

    /// Checks this fraction of each launch's outputs (0 to 1, at least one output), chosen
    /// uniformly, for at most 5 % of the execution time.
    pub fn sample(part: f64, agree: A) -> Self {
        Self {
            part: match part.is_nan() {
                true => 1.0,
                false => part.clamp(f64::MIN_POSITIVE, 1.0),
            },
            cost_cap: 0.05,
            agree,
        }
    }

    /// Sets another time limit, as a fraction of the execution time.
    #[must_use]
    pub fn with_cost_cap(mut self, part: f64) -> Self {
        self.cost_cap = part;
        self
    }
}

impl<T, A: Fn(&T, &T) -> bool + Sync> Verify<T> for CrossCheck<A> {
    fn part(&self) -> f64 {
        self.part
    }

    fn cost_cap(&self) -> f64 {
        self.cost_cap
    }

    fn agree(&self, gpu: &T, cpu: &T) -> bool {
        (self.agree)(gpu, cpu)
    }
}
