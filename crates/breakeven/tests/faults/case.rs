//! A case: a batch, how it is run, and what goes wrong meanwhile; all from a seed.

use std::fmt;
use std::time::Duration;

use breakeven::execute::{FallbackPolicy, FaultKind, FaultScript, RandomFaults};
use breakeven::plan::ExecutionStrategy;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Most tasks of a case.
const MOST_TASKS: usize = 5_000;

/// What may go wrong without a look at the results: anything but wrong ones.
/// Hangs are rare, because each costs its timeout.
const HONEST: [FaultKind; 9] = [
    FaultKind::SubmitError,
    FaultKind::SubmitPanic,
    FaultKind::PollError,
    FaultKind::PollPanic,
    FaultKind::TooFew,
    FaultKind::TooMany,
    FaultKind::Lost,
    FaultKind::OutOfMemoryAbove,
    FaultKind::SlowDown,
];

/// How much of the GPU's results is computed again on the CPU, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Check {
    None,
    Sample(f64),
    All,
}

/// One batch and its script.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) tasks: usize,
    pub(super) strategy: ExecutionStrategy,
    pub(super) policy: FallbackPolicy,
    pub(super) check: Check,
    /// The GPU has so long for a batch.
    pub(super) timeout: Duration,
    /// Index of the pool among those of the test.
    pub(super) pool: usize,
    /// Called from a thread of the pool.
    pub(super) inside: bool,
    /// `execute_each` in place of `execute`.
    pub(super) each: bool,
    pub(super) script: FaultScript,
}

impl Case {
    /// The case of that seed.
    pub(super) fn new(seed: u64, pools: usize) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Small batches as often as large ones, and some of none and of one.
        let most = [0, 1, 2, 50, 500, MOST_TASKS][rng.random_range(0..6)];
        let tasks = rng.random_range(0..=most);
        let share = rng.random_range(0..=100);
        let strategy = match rng.random_range(0..5) {
            0 => ExecutionStrategy::CpuOnly,
            1 => ExecutionStrategy::GpuOnly,
            2 => ExecutionStrategy::Auto,
            _ => ExecutionStrategy::hybrid(share).expect("a percentage is at most 100"),
        };
        let policy = match rng.random_range(0..5) {
            0 => FallbackPolicy::Deny,
            1 => FallbackPolicy::Budget(rng.random_range(0.0..1.0)),
            _ => FallbackPolicy::Allow,
        };
        let check = match rng.random_range(0..4) {
            0 => Check::Sample(rng.random_range(0.0..1.0)),
            1 => Check::All,
            _ => Check::None,
        };
        let mut kinds = HONEST.to_vec();
        if rng.random_bool(0.1) {
            kinds.push(FaultKind::Hang);
        }
        if check == Check::All {
            kinds.push(FaultKind::Wrong);
        }
        let bounds = RandomFaults {
            launches: rng.random_range(1..=12),
            most: 6,
            tasks: tasks.max(1),
            kinds: &kinds,
        };
        Self {
            seed,
            tasks,
            strategy,
            policy,
            check,
            timeout: Duration::from_micros(rng.random_range(1_000..2_000)),
            pool: rng.random_range(0..pools),
            inside: rng.random_bool(0.2),
            each: rng.random_bool(0.3),
            script: FaultScript::random(rng.random(), &bounds),
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "replay with seed {}: {self:#?}", self.seed)
    }
}
