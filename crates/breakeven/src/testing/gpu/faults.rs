//! What goes wrong on a simulated GPU, and when: a script, as plain data.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::DeviceErrorKind;

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// `submit` fails.
    SubmitError(DeviceErrorKind),
    /// `submit` panics.
    SubmitPanic,
    /// The batch fails at its end.
    PollError(DeviceErrorKind),
    /// `poll` panics at the batch's end.
    PollPanic,
    /// The batch never finishes. Batches after it do.
    Hang,
    /// Outputs `first`, `first + every`, … of the batch are wrong. `first` wraps around the batch,
    /// so at least one output is wrong.
    Wrong {
        /// The first of them.
        first: usize,
        /// The distance between them; 0 for `first` alone.
        every: usize,
    },
    /// The last outputs of the batch are missing.
    TooFew {
        /// How many; all of a smaller batch.
        by: usize,
    },
    /// The batch has surplus outputs.
    TooMany {
        /// How many.
        by: usize,
    },
    /// The device is lost: this call, all batches in flight and all later calls fail.
    Lost {
        /// Calls of `submit` that fail after this one, until the device is back; none if it never
        /// is. Batches that were in flight stay lost.
        recovers_after: Option<u64>,
    },
    /// From then on a larger batch is out of memory.
    OutOfMemoryAbove {
        /// Most tasks that fit memory.
        tasks: usize,
    },
    /// From then on tasks are slower by this factor.
    SlowDown {
        /// Replaces the factor of an earlier one.
        factor: f64,
    },
}

/// The kinds of [`Fault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "those of Fault")]
pub enum FaultKind {
    SubmitError,
    SubmitPanic,
    PollError,
    PollPanic,
    Hang,
    Wrong,
    TooFew,
    TooMany,
    Lost,
    OutOfMemoryAbove,
    SlowDown,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::SubmitError,
        Self::SubmitPanic,
        Self::PollError,
        Self::PollPanic,
        Self::Hang,
        Self::Wrong,
        Self::TooFew,
        Self::TooMany,
        Self::Lost,
        Self::OutOfMemoryAbove,
        Self::SlowDown,
    ];
}

impl Fault {
    /// Its kind.
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::SubmitError(_) => FaultKind::SubmitError,
            Self::SubmitPanic => FaultKind::SubmitPanic,
            Self::PollError(_) => FaultKind::PollError,
            Self::PollPanic => FaultKind::PollPanic,
            Self::Hang => FaultKind::Hang,
            Self::Wrong { .. } => FaultKind::Wrong,
            Self::TooFew { .. } => FaultKind::TooFew,
            Self::TooMany { .. } => FaultKind::TooMany,
            Self::Lost { .. } => FaultKind::Lost,
            Self::OutOfMemoryAbove { .. } => FaultKind::OutOfMemoryAbove,
            Self::SlowDown { .. } => FaultKind::SlowDown,
        }
    }
}

/// Which faults happen at which launch. Launches are numbered by calls of `submit`, from 0,
/// including failing ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FaultScript {
    /// Launch and fault, in any order. Of several at one launch those of the device come first
    /// (lost, out of memory, slower), then the rest as listed.
    pub faults: Vec<(u64, Fault)>,
}

/// What [`FaultScript::random`] draws from.
#[derive(Debug, Clone, Copy)]
pub struct RandomFaults<'a> {
    /// Launches among which the faults are distributed.
    pub launches: u64,
    /// Most faults of a script.
    pub most: usize,
    /// Tasks of a batch: limits positions, counts and memory limits.
    pub tasks: usize,
    /// Kinds to draw from, each as often as it is listed.
    pub kinds: &'a [FaultKind],
}

impl Default for RandomFaults<'static> {
    /// Up to 5 faults of all kinds in 20 launches of up to 1000 tasks.
    fn default() -> Self {
        Self {
            launches: 20,
            most: 5,
            tasks: 1000,
            kinds: &FaultKind::ALL,
        }
    }
}

impl FaultScript {
    /// Creates a script without faults.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a fault at a launch.
    #[must_use]
    pub fn at(mut self, launch: u64, fault: Fault) -> Self {
        self.faults.push((launch, fault));
        self
    }

    /// A script from a seed: the same for the same seed and bounds.
    pub fn random(seed: u64, bounds: &RandomFaults<'_>) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        if bounds.kinds.is_empty() {
            return Self::none();
        }
        let faults = rng.random_range(0..=bounds.most);
        let mut draw = |_| {
            let launch = rng.random_range(0..bounds.launches.max(1));
            let kind = bounds.kinds[rng.random_range(0..bounds.kinds.len())];
            (launch, random_fault(kind, bounds.tasks, &mut rng))
        };
        Self {
            faults: (0..faults).map(&mut draw).collect(),
        }
    }

    /// Returns the faults at that launch, in their order.
    pub(super) fn of(&self, launch: u64) -> impl Iterator<Item = &Fault> {
        let here = self.faults.iter();
        here.filter(move |fault| fault.0 == launch)
            .map(|(_, fault)| fault)
    }
}

/// A fault of that kind; numbers up to `tasks`, small ones as likely as large ones.
fn random_fault(kind: FaultKind, tasks: usize, rng: &mut Xoshiro256PlusPlus) -> Fault {
    let up_to = rng.random_range(0..=tasks);
    let number = rng.random_range(0..=up_to);
    let kinds = DeviceErrorKind::ALL;
    let error = kinds[rng.random_range(0..kinds.len())];
    match kind {
        FaultKind::SubmitError => Fault::SubmitError(error),
        FaultKind::SubmitPanic => Fault::SubmitPanic,
        FaultKind::PollError => Fault::PollError(error),
        FaultKind::PollPanic => Fault::PollPanic,
        FaultKind::Hang => Fault::Hang,
        FaultKind::Wrong => Fault::Wrong {
            first: number,
            every: rng.random_range(0..=10),
        },
        FaultKind::TooFew => Fault::TooFew { by: number.max(1) },
        FaultKind::TooMany => Fault::TooMany { by: number.max(1) },
        FaultKind::Lost => Fault::Lost {
            recovers_after: rng.random_bool(0.5).then(|| rng.random_range(0..10)),
        },
        FaultKind::OutOfMemoryAbove => Fault::OutOfMemoryAbove { tasks: number },
        FaultKind::SlowDown => Fault::SlowDown {
            factor: rng.random_range(0.5..8.0),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_script() {
        let bounds = RandomFaults::default();
        let script = |seed| FaultScript::random(seed, &bounds);
        let scripts = || (0..20).map(script).collect::<Vec<_>>();
        let mut different = scripts();
        assert_eq!(different, scripts());
        different.retain(|script| *script != FaultScript::none());
        different.dedup();
        assert!(different.len() > 10);
    }

    #[test]
    fn random_scripts_stay_in_their_bounds_and_have_every_kind() {
        let bounds = RandomFaults {
            launches: 3,
            most: 2,
            tasks: 9,
            ..RandomFaults::default()
        };
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..500 {
            let script = FaultScript::random(seed, &bounds);
            assert!(script.faults.len() <= 2);
            for (launch, fault) in &script.faults {
                assert!(*launch < 3);
                seen.insert(fault.kind());
                match *fault {
                    Fault::Wrong { first: number, .. }
                    | Fault::TooFew { by: number }
                    | Fault::TooMany { by: number }
                    | Fault::OutOfMemoryAbove { tasks: number } => assert!(number <= 9),
                    _ => {}
                }
            }
        }
        assert_eq!(seen.len(), FaultKind::ALL.len());
    }

    #[test]
    fn nothing_to_draw_from_is_no_fault() {
        let (mut no_kinds, mut no_launches) = (RandomFaults::default(), RandomFaults::default());
        no_kinds.kinds = &[];
        (no_launches.most, no_launches.launches) = (0, 0);
        for bounds in [no_kinds, no_launches] {
            assert_eq!(FaultScript::random(1, &bounds), FaultScript::none());
        }
    }
}
