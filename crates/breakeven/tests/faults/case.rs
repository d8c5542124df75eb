//! A case: a batch, how it is run, and what goes wrong meanwhile; all from a seed.

use std::fmt;
use std::time::Duration;

use breakeven::execute::FallbackPolicy;
use breakeven::plan::ExecutionStrategy;
use breakeven::testing::{Fault, FaultKind, FaultScript, RandomFaults};
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

/// How a task fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bad {
    Error,
    Panic,
}

/// How a batch is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Execute,
    Each,
    Batched,
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
    /// One to four GPUs.
    pub(super) gpus: Vec<Device>,
    /// What a task takes on the CPU, in turns of a loop.
    pub(super) turns: u32,
    /// A task whose function fails on the CPU.
    pub(super) bad: Option<(usize, Bad)>,
    pub(super) deadline: Option<Duration>,
    /// When it is cancelled.
    pub(super) cancel: Option<Duration>,
    pub(super) call: Call,
    /// Executes at once.
    pub(super) together: usize,
    /// Some tasks execute a batch of their own.
    pub(super) nested: bool,
}

/// A GPU of a case.
#[derive(Debug, Clone)]
pub(super) struct Device {
    /// What a launch takes.
    pub(super) launch: Duration,
    /// What a task takes.
    pub(super) task: Duration,
    /// Tasks that it has memory for; none for no limit.
    pub(super) memory_for: Option<u64>,
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
        let gpus = if rng.random_bool(0.5) {
            1
        } else {
            rng.random_range(1..=4)
        };
        let gpus = (0..gpus)
            .map(|_| Device::new(tasks, check, &kinds, &mut rng))
            .collect();
        let mut micros = |part, range| {
            let micros: Option<u64> = rng.random_bool(part).then(|| rng.random_range(range));
            micros.map(Duration::from_micros)
        };
        let deadline = micros(0.1, 1..500);
        let cancel = micros(0.05, 1..500);
        let timeout = Duration::from_micros(rng.random_range(1_000..2_000));
        let bad = [Bad::Error, Bad::Panic][rng.random_range(0..2)];
        let bad = (tasks > 0 && rng.random_bool(0.1)).then(|| (rng.random_range(0..tasks), bad));
        Self {
            seed,
            tasks,
            strategy,
            policy,
            check,
            timeout,
            pool: rng.random_range(0..pools),
            inside: rng.random_bool(0.2),
            gpus,
            turns: if rng.random_bool(0.3) {
                rng.random_range(0..300)
            } else {
                0
            },
            deadline,
            cancel,
            call: match rng.random_range(0..10) {
                0..3 => Call::Each,
                // Of several tasks that are done together it is not known which one fails.
                3..5 if bad.is_none() => Call::Batched,
                _ => Call::Execute,
            },
            bad,
            together: if rng.random_bool(0.1) { 3 } else { 1 },
            nested: rng.random_bool(0.05),
        }
    }
}

impl Device {
    fn new(tasks: usize, check: Check, kinds: &[FaultKind], rng: &mut Xoshiro256PlusPlus) -> Self {
        let bounds = RandomFaults {
            launches: rng.random_range(1..=12),
            most: 6,
            tasks: tasks.max(1),
            kinds,
        };
        let mut script = FaultScript::random(rng.random(), &bounds);
        if check != Check::All {
            no_even_trade(&mut script);
        }
        let launch = rng.random_bool(0.3).then(|| rng.random_range(5..100));
        Self {
            launch: Duration::from_micros(launch.unwrap_or(0)),
            task: Duration::from_nanos(if rng.random_bool(0.3) {
                rng.random_range(0..2_000)
            } else {
                0
            }),
            memory_for: rng
                .random_bool(0.1)
                .then(|| rng.random_range(0..=tasks as u64)),
            script,
        }
    }
}

/// Outputs that are missing and as many that are too many, in one launch, are
/// wrong ones: their number shows nothing.
fn no_even_trade(script: &mut FaultScript) {
    let faults = script.faults.clone();
    script.faults.retain(|(launch, fault)| {
        let trades =
            |other: &(u64, Fault)| other.0 == *launch && matches!(other.1, Fault::TooFew { .. });
        !(matches!(fault, Fault::TooMany { .. }) && faults.iter().any(trades))
    });
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seed = self.seed;
        write!(
            f,
            "FAULTS_SEED={seed} cargo test -p breakeven faults::replay; {self:#?}"
        )
    }
}
