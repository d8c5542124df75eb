//! Whether a machine is fit to measure on: from findings and noise to an answer. Pure.

use breakeven_judge::{Noise, PlannedRuns, Threshold, planned_runs};
use breakeven_profile::profile::Failure;
use serde::Serialize;

use super::finding::{Finding, Remedy, Standing};
use crate::engine::suite::NoiseWork;

/// Rate of false alarms, that of a comparison unless another is asked for.
const ALPHA: f64 = 0.05;

/// What is asked of the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// The change that is to be seen.
    pub(crate) threshold: Threshold,
    /// Runs a side that may be needed for it.
    pub(crate) runs: u64,
}

/// A piece of work and the noise of its times.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measured {
    pub(crate) work: NoiseWork,
    /// None where it could not be measured.
    pub(crate) noise: Option<Noise>,
    pub(crate) failure: Option<Failure>,
    /// Runs a side that the threshold needs; none for more than 1e9.
    pub(crate) needed: Option<PlannedRuns>,
    /// The same at both ends of the noise's interval.
    pub(crate) needed_between: [Option<u64>; 2],
}

impl Measured {
    pub(crate) fn new(work: NoiseWork, noise: Result<Noise, Failure>, limit: Limit) -> Self {
        let (noise, failure) = match noise {
            Ok(noise) => (Some(noise), None),
            Err(failure) => (None, Some(failure)),
        };
        let needed = |noise| planned_runs(noise, limit.threshold, ALPHA);
        let ends = noise.map(|noise| noise.between_interval);
        Self {
            work,
            noise,
            failure,
            needed: noise.and_then(|noise| needed(noise.between)),
            needed_between: ends.map_or([None; 2], |ends| {
                ends.map(|end| needed(end).map(|planned| planned.runs))
            }),
        }
    }
}

/// All that was found.
#[derive(Debug)]
pub(crate) struct Diagnosis {
    pub(crate) findings: Vec<Finding>,
    pub(crate) noise: Vec<Measured>,
    /// Memory that the piece of work `memory` reads, bytes.
    pub(crate) working_set_bytes: u64,
    pub(crate) limit: Limit,
}

/// Why a machine is not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(crate) enum Unfit {
    /// Something that was found makes times wrong.
    Found { what: String },
    /// Times of a piece of work differ so much that more runs are needed than may be made.
    Noisy { work: NoiseWork, runs: Option<u64> },
    /// The noise of a piece of work is not known.
    NotMeasured { work: NoiseWork },
}

impl Diagnosis {
    pub(crate) fn is_fit(&self) -> bool {
        self.unfit().is_empty()
    }

    /// All reasons for which the machine is not fit.
    pub(crate) fn unfit(&self) -> Vec<Unfit> {
        let bad = self
            .findings
            .iter()
            .filter(|it| it.standing == Standing::Bad);
        let bad = bad.map(|it| Unfit::Found {
            what: format!("{}: {}", it.subject, it.seen),
        });
        let noisy = self.noise.iter().filter_map(|measured| {
            let work = measured.work;
            let runs = measured.needed.map(|needed| needed.runs);
            match (measured.noise, runs) {
                (None, _) => Some(Unfit::NotMeasured { work }),
                (Some(_), Some(runs)) if runs <= self.limit.runs => None,
                (Some(_), runs) => Some(Unfit::Noisy { work, runs }),
            }
        });
        bad.chain(noisy).collect()
    }

    /// The most runs a side that a piece of work needs, where all are known.
    pub(crate) fn most_runs(&self) -> Option<u64> {
        let runs = self
            .noise
            .iter()
            .map(|it| it.needed.map(|needed| needed.runs));
        runs.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }

    /// Whether a command that may be typed here changes anything.
    pub(crate) fn can_be_changed(&self) -> bool {
        let mut remedies = self.findings.iter().map(|it| &it.remedy);
        remedies.any(|it| matches!(it, Remedy::Command { .. } | Remedy::Act { .. }))
    }
}
