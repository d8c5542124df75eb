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

/// The notes on one file: what its reader should know before trusting a verdict.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    notes: Vec<Note>,
    history: Vec<Entry>,
}

#[derive(Debug, PartialEq)]
struct Note {
    /// How many of what the text names were left out.
    count: Option<u64>,
    text: String,
    /// It may be why nothing is left.
    is_reason: bool,
}

impl Note {
    fn text(&self) -> String {
        match self.count {
            Some(count) => format!("{count} {}", self.text),
            None => self.text.clone(),
        }
    }
}

impl Notes {
    /// Adds one, unless it was said already.
    pub(crate) fn add(&mut self, text: impl Into<String>) {
        self.push(None, text.into(), false);
    }

    fn push(&mut self, count: Option<u64>, text: String, is_reason: bool) {
        let note = Note {
            count,
            text,
            is_reason,
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds that parts were left out, if there are any: how many, what they are, as in `line(s)`,
    /// and why.
    pub(crate) fn left_out(&mut self, count: u64, what: &str, why: impl AsRef<str>) {
        if count > 0 {
            let text = format!("{what} left out: {}", why.as_ref());
            self.push(Some(count), text, true);
        }
    }

    /// Counts one more that was left out, and keeps the name and place of the first.
    pub(crate) fn leave_out(&mut self, what: &str, why: &str, place: &str) {
        let start = format!("{what} left out: {why}; the first is ");
        match (self.notes.iter_mut()).find(|note| note.text.starts_with(&start)) {
            Some(Note { count, .. }) => *count = count.map(|count| count + 1),
            None => self.push(Some(1), start + &one_line(place), true),
        }
    }

    /// Adds that something that such a file usually has is not there: why, and what to do.
    pub(crate) fn lacks(&mut self, what: impl AsRef<str>, why: &str) {
        self.add(format!("there is no {}: {why}", what.as_ref()));
    }

    /// Adds that the file has a figure of its samples, not the samples.
    pub(crate) fn summary_only(&mut self, figure: &str) {
        self.add(format!(
            "the file holds no samples; the {figure} of each operation counts as one sample"
        ));
    }

    /// Adds that the repetitions that a tool's option makes share a process, and what gives runs.
    pub(crate) fn one_process(&mut self, option: &str, instead: &str) {
        self.add(format!(
            "repetitions ({option}) share a process: they are samples of one run; for more runs, \
             {instead}"
        ));
    }

    /// Adds that the file does not say whether more or less of a figure is better.
    pub(crate) fn no_direction(&mut self, figure: &str) {
        let why = "the file does not say whether more or less is better; less counts as better";
        self.lacks(format!("direction of {}", one_line(figure)), why);
    }

    /// Adds that entries were left out, if there are any, and which was the first.
    pub(crate) fn skipped(&mut self, skipped: Skipped, what: &str, why: &str) {
        let why = format!("{why}; the first is {}", skipped.first);
        self.left_out(skipped.count, what, why);
    }

    /// Adds that values of an operation are no times.
    pub(crate) fn not_times(&mut self, operation: &str, values: u64) {
        if values > 0 {
            let text = format!(
                "{operation}: {values} value(s) are not times (NaN, infinite, negative or more than \
                 104 days) and were left out"
            );
            self.push(None, text, true);
        }
    }

    /// Why nothing is left: what was left out first, or `message` behind its `;`.
    pub(crate) fn nothing(&self, message: &str) -> FileError {
        let reason = self.notes.iter().find(|note| note.is_reason);
        let message = match (reason, message.split_once(';')) {
            (Some(reason), Some((message, _))) => format!("{message}; {}", reason.text()),
            _ => message.to_owned(),
        };
        FileError::new(FileErrorKind::Empty, message)
    }

    /// The measurements that the file keeps, oldest first.
    pub(crate) fn history(&mut self, entries: Vec<Entry>) {
        self.history = entries;
    }

    pub(crate) fn into_parts(self) -> (Vec<String>, Vec<Entry>) {
        (self.notes.iter().map(Note::text).collect(), self.history)
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
