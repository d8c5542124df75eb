//! What an importer has to say beside the profile.

use crate::history::Entry;

/// Something in a file that its reader should know before trusting a verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// Values of an operation that are no time: NaN, infinite, negative.
    #[error(
        "{operation}: {values} value(s) are not times (NaN, infinite, negative, or over 2^63 ns) \
         and were left out"
    )]
    NotTimes {
        /// The operation.
        operation: String,
        /// How many values.
        values: u64,
    },
    /// Operations do not have the same number of runs.
    #[error(
        "the operations have {fewest} to {most} runs; {operation} has the fewest, and its verdict \
         the least to rest on"
    )]
    UnequalRuns {
        /// The smallest number of runs.
        fewest: usize,
        /// The greatest.
        most: usize,
        /// An operation with the fewest.
        operation: String,
    },
    /// The repetitions that a tool made in one process.
    #[error(
        "repetitions ({option}) share a process: they are samples of one run, and a verdict needs \
         four runs a side; {instead}"
    )]
    OneProcess {
        /// The tool's option.
        option: &'static str,
        /// What gives runs.
        instead: &'static str,
    },
    /// Names longer than a profile may hold.
    #[error("{count} name(s) longer than 65536 bytes are shortened")]
    LongNames {
        /// How many.
        count: u64,
    },
    /// The file has figures of its samples, not the samples.
    #[error("the file holds no samples; the {figure} of each operation counts as one sample")]
    SummaryOnly {
        /// What stands in place of the samples: `median`, `mean`.
        figure: &'static str,
    },
    /// A file of several that belong together.
    #[error("one of several files that belong together: it lacks {lacks}; name the folder")]
    OneOfSeveral {
        /// What the others have.
        lacks: &'static str,
    },
    /// Parts of the file that say nothing of times, or are not understood.
    #[error("{count} {what} left out: {why}")]
    LeftOut {
        /// How many.
        count: u64,
        /// What they are, as in `line(s)`, `event(s)`.
        what: &'static str,
        /// Why.
        why: String,
    },
}

/// The notes on one file.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    notes: Vec<Note>,
    history: Vec<Entry>,
}

impl Notes {
    /// Adds one, unless it was said already.
    pub(crate) fn add(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds that parts were left out, if there are any.
    pub(crate) fn left_out(&mut self, count: u64, what: &'static str, why: impl Into<String>) {
        if count > 0 {
            let why = why.into();
            self.add(Note::LeftOut { count, what, why });
        }
    }

    /// The first note on something that was left out.
    pub(crate) fn why_nothing_is_left(&self) -> Option<&Note> {
        let is_reason = |note: &&Note| matches!(note, Note::LeftOut { .. } | Note::NotTimes { .. });
        self.notes.iter().find(is_reason)
    }

    /// The measurements that the file keeps, oldest first.
    pub(crate) fn history(&mut self, entries: Vec<Entry>) {
        self.history = entries;
    }

    pub(crate) fn into_parts(self) -> (Vec<Note>, Vec<Entry>) {
        (self.notes, self.history)
    }
}
