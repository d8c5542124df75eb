//! What an importer has to say beside the profile.

/// Something in a file that its reader should know before trusting a verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// Values of an operation that are no time: NaN, infinite, negative.
    #[error(
        "{operation}: {values} value(s) are no time (NaN, infinite or negative) and were left out"
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
pub(crate) struct Notes(Vec<Note>);

impl Notes {
    /// Adds one, unless it was said already.
    pub(crate) fn add(&mut self, note: Note) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    /// Adds that parts were left out, if there are any.
    pub(crate) fn left_out(&mut self, count: u64, what: &'static str, why: impl Into<String>) {
        if count > 0 {
            let why = why.into();
            self.add(Note::LeftOut { count, what, why });
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Note> {
        self.0
    }
}
