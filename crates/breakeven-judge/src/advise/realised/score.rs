//! The score of each rule over all pairs of profiles that were looked at, and
//! the file that keeps it.
//!
//! The score is shown beside a suggestion and changes no figure in it. A handful
//! of pairs, from whatever programs and machines their user had, says how much to
//! trust a rule, not by what factor it is wrong. And the same profile would no
//! longer give the same advice everywhere.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use breakeven_profile::file::{self, FileError};
use breakeven_profile::stats;
use serde::{Deserialize, Serialize};

use super::super::rules::Rule;
use super::{Followed, Realised};

/// What the field `format` of a score file says.
const FORMAT: &str = "breakeven-advice-scores";

/// The version of the file that this build writes and reads.
const VERSION: u64 = 1;

/// What became of the suggestions of all pairs so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[must_use]
pub struct ScoreBook {
    format: String,
    version: u64,
    pairs: Vec<ScoredPair>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ScoredPair {
    /// Digests of the two files.
    before: String,
    after: String,
    outcomes: Vec<Scored>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Scored {
    rule: Rule,
    followed: Followed,
    predicted_ms: Option<f64>,
    realised_ms: Option<f64>,
}

/// How often a rule's suggestions were followed, and what they saved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[must_use]
pub struct RuleScore {
    /// The rule.
    pub rule: Rule,
    /// Suggestions given.
    pub given: usize,
    /// Those of them that were followed.
    pub followed: usize,
    /// Time that the followed and measured ones were predicted to save, ms.
    pub predicted_ms: f64,
    /// Time that those saved, ms.
    pub realised_ms: f64,
    /// The median over those of saved / predicted time.
    pub median_ratio: Option<f64>,
}

/// Why a score file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// The operating system refused.
    #[error("{path}: cannot be {action}: {reason}")]
    Io {
        /// The file.
        path: String,
        /// What could not be done: `read`, `written`.
        action: &'static str,
        /// Why.
        reason: io::Error,
    },
    /// The file is no score file, or was damaged.
    #[error("{path}: not a file of scores: {reason}; move it away, or name another file")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),
}

impl ScoreError {
    fn io(path: &Path, action: &'static str, reason: io::Error) -> Self {
        Self::Io {
            path: path.display().to_string(),
            action,
            reason,
        }
    }
}

impl Default for ScoreBook {
    fn default() -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            pairs: Vec::new(),
        }
    }
}

impl ScoreBook {
    /// Reads the file at `path`; a missing one counts as empty.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is not a score file of a version that this build knows.
    pub fn read(path: &Path) -> Result<Self, ScoreError> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(reason) => return Err(ScoreError::io(path, "read", reason)),
        };
        let damaged = |reason: String| ScoreError::Damaged {
            path: path.display().to_string(),
            reason,
        };
        let book: Self =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match (book.format.as_str(), book.version) {
            (FORMAT, VERSION) => Ok(book),
            (FORMAT, other) => Err(damaged(format!(
                "version {other}, and this build knows version {VERSION}"
            ))),
            _ => Err(damaged("another \"format\"".to_owned())),
        }
    }

    /// Adds the outcomes of a pair of files with these digests. False where the
    /// pair is in the book already: it counts once.
    pub fn add(&mut self, before: &str, after: &str, realised: &Realised) -> bool {
        let known = |pair: &ScoredPair| pair.before == before && pair.after == after;
        if self.pairs.iter().any(known) {
            return false;
        }
        let outcomes = realised.outcomes.iter().map(|outcome| Scored {
            rule: outcome.rule,
            followed: outcome.followed,
            predicted_ms: outcome.predicted_ms,
            realised_ms: outcome.realised_ms,
        });
        self.pairs.push(ScoredPair {
            before: before.to_owned(),
            after: after.to_owned(),
            outcomes: outcomes.collect(),
        });
        true
    }

    /// Writes the book into the file at `path`, in one step, and makes the folder
    /// that it lies in.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ScoreError> {
        if let Some(folder) = path.parent() {
            // Where this fails, so does what follows, and says why.
            let _ = fs::create_dir_all(folder);
        }
        file::replace(path, |out| {
            let written = serde_json::to_writer_pretty(&mut *out, self).map_err(io::Error::from);
            let written = written.and_then(|()| writeln!(out));
            written.map_err(|reason| ScoreError::io(path, "written", reason))
        })
    }

    /// The score of a rule; `None` where it was never asked.
    pub fn of(&self, rule: Rule) -> Option<RuleScore> {
        let outcomes = self.pairs.iter().flat_map(|pair| &pair.outcomes);
        let given: Vec<&Scored> = outcomes.filter(|each| each.rule == rule).collect();
        let followed = given.iter().filter(|each| each.followed == Followed::Yes);
        let kept: Vec<(f64, f64)> = followed
            .clone()
            .filter_map(|each| each.predicted_ms.zip(each.realised_ms))
            .filter(|(predicted, _)| *predicted > 0.0)
            .collect();
        let ratios: Vec<f64> = kept.iter().map(|(promised, got)| got / promised).collect();
        (!given.is_empty()).then(|| RuleScore {
            rule,
            given: given.len(),
            followed: followed.count(),
            predicted_ms: kept.iter().map(|(predicted, _)| predicted).sum(),
            realised_ms: kept.iter().map(|(_, realised)| realised).sum(),
            median_ratio: stats::median(&ratios).ok(),
        })
    }

    /// The score of each rule that was ever asked.
    pub fn scores(&self) -> Vec<RuleScore> {
        let all = Rule::ALL.iter();
        all.filter_map(|rule| self.of(*rule)).collect()
    }
}

impl fmt::Display for RuleScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this rule: {} of {} followed", self.followed, self.given)?;
        match self.median_ratio {
            Some(ratio) => write!(f, ", which saved {ratio:.2} of what was predicted"),
            None => Ok(()),
        }
    }
}
