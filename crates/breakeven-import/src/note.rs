//! What an importer has to say beside the profile.

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;

use crate::name::one_line;

/// A measurement in a file that keeps a history, as `github-action-benchmark` does.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What was measured. Its `environment.revision` is the commit, its `created` the date.
    pub profile: Profile,
    /// The measured commit.
    pub commit: Option<String>,
    /// Its branch, where the file has it.
    pub branch: Option<String>,
    /// When it was measured, RFC 3339 in UTC.
    pub date: Option<String>,
}

/// Something in a file that its reader should know before trusting a verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// Values of an operation that are no time: NaN, infinite, negative, too long.
    #[error(
        "{operation}: {values} value(s) are not times (NaN, infinite, negative or more than 104 \
         days) and were left out"
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
        "repetitions ({option}) share a process: they are samples of one run; for more runs, \
         {instead}"
    )]
    OneProcess {
        /// The tool's option.
        option: &'static str,
        /// What gives runs.
        instead: &'static str,
    },
    /// Several entries of a file have one name.
    #[error(
        "entries have the same name, such as {operation}: they are distinguished by their order in \
         the file, as in \"#2\"; rename them"
    )]
    SameName {
        /// The first such name.
        operation: String,
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
    /// Something that the format does not allow, and how it was read.
    #[error("{place}: {what}")]
    Mended {
        /// The first of them.
        place: String,
        /// What it is, and how it was read.
        what: String,
    },
    /// Something that such a file usually has is not there.
    #[error("there is no {what}: {why}")]
    Lacks {
        /// What is not there.
        what: String,
        /// Why, and what to do.
        why: String,
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

    /// Counts one more that was left out, and keeps the name and place of the first.
    pub(crate) fn leave_out(&mut self, what: &'static str, why: &'static str, place: &str) {
        let start = format!("{why}; the first is ");
        let known = self.notes.iter_mut().find_map(|note| match note {
            Note::LeftOut {
                count,
                what: of,
                why,
            } if *of == what && why.starts_with(&start) => Some(count),
            _ => None,
        });
        match known {
            Some(count) => *count += 1,
            None => self.left_out(1, what, start + &one_line(place)),
        }
    }

    /// Adds that something is not there.
    pub(crate) fn lacks(&mut self, what: impl Into<String>, why: impl Into<String>) {
        let (what, why) = (what.into(), why.into());
        self.add(Note::Lacks { what, why });
    }

    /// Adds that the file does not say whether more or less of a figure is better.
    pub(crate) fn no_direction(&mut self, figure: &str) {
        let why = "the file does not say whether more or less is better; less counts as better";
        self.lacks(format!("direction of {}", one_line(figure)), why);
    }

    /// Adds that entries were left out, if there are any, and which was the first.
    pub(crate) fn skipped(&mut self, skipped: Skipped, what: &'static str, why: &str) {
        let why = format!("{why}; the first is {}", skipped.first);
        self.left_out(skipped.count, what, why);
    }

    /// Why nothing is left: what was left out first, or `message` behind its `;`.
    pub(crate) fn nothing(&self, message: &str) -> FileError {
        let is_reason = |note: &&Note| matches!(note, Note::LeftOut { .. } | Note::NotTimes { .. });
        let reason = self.notes.iter().find(is_reason);
        let message = match (reason, message.split_once(';')) {
            (Some(reason), Some((message, _))) => format!("{message}; {reason}"),
            _ => message.to_owned(),
        };
        FileError::new(FileErrorKind::Empty, message)
    }

    /// The measurements that the file keeps, oldest first.
    pub(crate) fn history(&mut self, entries: Vec<Entry>) {
        self.history = entries;
    }

    pub(crate) fn into_parts(self) -> (Vec<Note>, Vec<Entry>) {
        (self.notes, self.history)
    }
}

/// Entries that are left out: how many, and where the first is.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    count: u64,
    first: String,
}

impl Skipped {
    pub(crate) fn add(&mut self, place: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = place();
        }
        self.count += 1;
    }
}
