//! Decides from findings and noise whether a machine is fit to measure on. Pure.

use breakeven_judge::{Noise, PlannedRuns, Threshold, planned_runs};
use breakeven_profile::profile::Failure;
use serde::Serialize;

use super::finding::{Finding, Remedy, Standing};
use crate::engine::suite::NoiseWork;

/// False-positive rate, the default of a comparison.
const ALPHA: f64 = 0.05;

/// The requirement on the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// Smallest change to detect.
    pub(crate) threshold: Threshold,
    /// Most runs per side that are acceptable.
    pub(crate) runs: u64,
}

/// A piece of work and the noise of its times.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measured {
    pub(crate) work: NoiseWork,
    /// None if it could not be measured.
    pub(crate) noise: Option<Noise>,
    pub(crate) failure: Option<Failure>,
    /// Runs per side that the threshold needs; none for more than 1e9.
    pub(crate) needed: Option<PlannedRuns>,
    /// Runs per side at both ends of the noise's interval.
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

/// The complete diagnosis.
#[derive(Debug)]
pub(crate) struct Diagnosis {
    pub(crate) findings: Vec<Finding>,
    pub(crate) noise: Vec<Measured>,
    /// Size of the memory that the benchmark `memory` reads, bytes.
    pub(crate) working_set_bytes: u64,
    pub(crate) limit: Limit,
}

/// Why a machine is not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(crate) enum Unfit {
    /// A finding makes times wrong.
    Found { what: String },
    /// Times of a benchmark vary so much that more runs are needed than are acceptable.
    Noisy { work: NoiseWork, runs: Option<u64> },
    /// The noise of a benchmark is unknown.
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

    /// The largest number of runs per side that any benchmark needs, if all are known.
    pub(crate) fn most_runs(&self) -> Option<u64> {
        let runs = self
            .noise
            .iter()
            .map(|it| it.needed.map(|needed| needed.runs));
        runs.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }

    /// Whether any command that can be run here would change something.
    pub(crate) fn can_be_changed(&self) -> bool {
        let mut remedies = self.findings.iter().map(|it| &it.remedy);
        remedies.any(|it| matches!(it, Remedy::Command { .. } | Remedy::Act { .. }))
    }
}
