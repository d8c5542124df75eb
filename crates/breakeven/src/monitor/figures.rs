//! What a program says of itself: the message that is served, as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::latency::Latency;
use crate::execute::ManagerStats;

/// The message's version; a reader refuses a later one.
pub const VERSION: u32 = 1;

/// Operations that are counted apart, in the order in which they came; all that come later
/// are counted as [`OTHER_OPERATIONS`].
pub(crate) const MOST_OPERATIONS: usize = 32;
pub(crate) const OTHER_OPERATIONS: &str = "other operations";

/// Devices that are counted apart.
pub(crate) const MOST_DEVICES: usize = 16;

/// Decisions that are kept.
pub(crate) const MOST_DECISIONS: usize = 16;

/// Characters of a name or a sentence that are kept.
const MOST_CHARACTERS: usize = 240;

/// What a program says of itself. All counts are since it began to publish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Figures {
    /// [`VERSION`] of whoever wrote it.
    pub version: u32,
    /// The program's process id.
    pub pid: u32,
    /// The file name of its executable.
    pub name: String,
    /// Time since it began to publish, s.
    pub since_s: f64,
    /// What all its managers did.
    pub stats: ManagerStats,
    /// How often each device was put into quarantine.
    pub quarantines: BTreeMap<String, u64>,
    /// The same per operation, by name.
    pub operations: Vec<OperationFigures>,
    /// The last decisions, the newest first.
    pub decisions: Vec<DecisionFigures>,
}

/// What a program says of one of its operations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OperationFigures {
    /// Its name.
    pub name: String,
    /// Batches that ended, those included that failed or were stopped.
    pub batches: u64,
    /// Batches that failed or were stopped.
    pub incomplete: u64,
    /// Tasks that each device did; the CPU is `cpu`.
    pub tasks: BTreeMap<String, u64>,
    /// Tasks that the CPU did in a GPU's place.
    pub fallback_tasks: u64,
    /// How often a device was put into quarantine in one of its batches.
    pub quarantines: u64,
    /// Times of the batches that were done.
    pub latency: Latency,
}

/// One decision and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionFigures {
    /// How long ago its batch ended, s.
    pub ago_s: f64,
    /// What ran where and why, in a line.
    pub text: String,
}

impl Figures {
    /// The same without what exceeds the bounds that a program of ours keeps.
    pub(super) fn bounded(mut self) -> Self {
        self.name = shortened(&self.name).to_owned();
        bound(&mut self.stats.tasks);
        bound(&mut self.stats.device_errors);
        bound(&mut self.quarantines);
        self.operations.truncate(MOST_OPERATIONS + 1);
        for operation in &mut self.operations {
            operation.name = shortened(&operation.name).to_owned();
            bound(&mut operation.tasks);
        }
        self.decisions.truncate(MOST_DECISIONS);
        for decision in &mut self.decisions {
            decision.text = shortened(&decision.text).to_owned();
        }
        self
    }
}

fn bound(counts: &mut BTreeMap<String, u64>) {
    let all = std::mem::take(counts).into_iter().take(MOST_DEVICES + 1);
    counts.extend(all.map(|(name, count)| (shortened(&name).to_owned(), count)));
}

/// The beginning of a text.
pub(crate) fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(MOST_CHARACTERS);
    end.map_or(text, |(end, _)| &text[..end])
}
