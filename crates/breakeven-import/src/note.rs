//! What an importer has to say beside the profile.

use std::borrow::Cow;
use std::ops::Range;

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
    /// What was mended while the file was read.
    mended: Vec<Mended>,
    /// Why reading stopped before the end of the file.
    pub(crate) stopped: Option<FileError>,
    /// The measurements that the file keeps, oldest first.
    pub(crate) history: Vec<Entry>,
}

/// How something was mended, what the first was, and how often.
type Mended = (&'static str, String, u64);

fn mended((how, first, count): &Mended) -> String {
    format!("{first} is {how} ({count} in all)")
}

#[derive(Debug, PartialEq)]
struct Note {
    /// How many of what the text names were left out.
    count: Option<u64>,
    text: String,
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
        self.push(None, text.into());
    }

    fn push(&mut self, count: Option<u64>, text: String) {
        let note = Note { count, text };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds that parts were left out, if there are any: how many, what they are, as in `line(s)`,
    /// and why.
    pub(crate) fn left_out(&mut self, count: u64, what: &str, why: &str) {
        if count > 0 {
            self.push(Some(count), format!("{what} left out: {why}"));
        }
    }

    /// Counts one more that was left out, and keeps the name and place of the first.
    pub(crate) fn leave_out(&mut self, what: &str, why: &str, place: &str) {
        let start = format!("{what} left out: {why}; the first is ");
        match (self.notes.iter_mut()).find(|note| note.text.starts_with(&start)) {
            Some(Note { count, .. }) => *count = count.map(|count| count + 1),
            None => self.push(Some(1), start + &one_line(place)),
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

    /// Counts one more thing that was mended, and keeps what and where the first is: a part of
    /// a text whose first line has that number.
    pub(crate) fn mend(&mut self, how: &'static str, text: &[u8], at: Range<usize>, line: usize) {
        if let Some((.., count)) = self.mended.iter_mut().find(|(known, ..)| *known == how) {
            *count += 1;
            return;
        }
        let (line, column) = position(text, at.start, line);
        let found = String::from_utf8_lossy(&text[at.start..at.end.min(at.start + 40)]);
        let first = format!("line {line}, column {column}: {found:?}");
        self.mended.push((how, first, 1));
    }

    /// A part of a text as UTF-8, in which what is not is replaced.
    pub(crate) fn utf8<'t>(
        &mut self,
        text: &'t [u8],
        part: Range<usize>,
        line: usize,
    ) -> Cow<'t, str> {
        let mut at = part.start;
        for chunk in text[part.clone()].utf8_chunks() {
            at += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                self.mend("not UTF-8 and read as \u{fffd}", text, at..at + 1, line);
                at += chunk.invalid().len();
            }
        }
        String::from_utf8_lossy(&text[part])
    }

    /// Reading stopped before the end of the file, for this reason.
    pub(crate) fn stop(&mut self, reason: FileError) {
        self.stopped.get_or_insert(reason);
    }

    /// The text ends before its writer's last lines.
    pub(crate) fn cut(&mut self, text: &str) {
        self.stop(FileError::truncated().at_position(text.lines().count(), 1));
    }

    /// Why nothing is left: what was left out first, or `message` behind its `;`.
    pub(crate) fn nothing(&self, message: &str) -> FileError {
        let left_out = self.notes.iter().find(|note| note.count.is_some());
        let reason = (left_out.map(Note::text)).or_else(|| self.mended.first().map(mended));
        let message = match (reason, message.split_once(';')) {
            (Some(reason), Some((message, _))) => format!("{message}; {reason}"),
            _ => message.to_owned(),
        };
        FileError::new(FileErrorKind::Empty, message)
    }

    /// All of them as texts.
    pub(crate) fn texts(&self) -> Vec<String> {
        let notes = self.notes.iter().map(Note::text);
        let mended = self.mended.iter().map(mended);
        let stopped = self.stopped.iter().map(|reason| {
            let place = match reason.line() {
                Some(line) => format!("line {line}, column {}", reason.column().unwrap_or(1)),
                // Of what is packed no place is known.
                None => "the end of the file".to_owned(),
            };
            format!(
                "{place}: only what comes before is read: {}",
                reason.message()
            )
        });
        notes.chain(mended).chain(stopped).collect()
    }
}

/// The line and the byte of it, from 1, at a place of a text whose first line has that number.
pub(crate) fn position(text: &[u8], at: usize, line: usize) -> (usize, usize) {
    let before = &text[..at];
    let is_end = |byte: &u8| *byte == b'\n';
    let start = before.iter().rposition(is_end).map_or(0, |end| end + 1);
    let ends = before.iter().filter(|byte| is_end(byte)).count();
    (line + ends, at - start + 1)
}
