//! The lines of a CSV file, split at what it separates its columns by.

use anyhow::{Result, bail};

/// What is between the columns of a file.
#[derive(Clone, Copy)]
pub(super) struct Separator {
    byte: u8,
    /// What several of them are called.
    pub(super) plural: &'static str,
}

const SEPARATORS: [Separator; 3] = [
    Separator {
        byte: b',',
        plural: "commas",
    },
    Separator {
        byte: b';',
        plural: "semicolons",
    },
    Separator {
        byte: b'\t',
        plural: "tabs",
    },
];

impl Separator {
    /// The one that is most often outside quotes in the first line with something in it.
    pub(super) fn of(text: &str) -> Self {
        let mut lines = text.split(['\n', '\r']);
        let first = lines.find(|line| !line.trim().is_empty()).unwrap_or("");
        let mut counts = [0_usize; SEPARATORS.len()];
        let (mut is_quoted, mut before) = (false, None);
        for byte in first.bytes() {
            let at = SEPARATORS.iter().position(|each| each.byte == byte);
            if byte == b'"' {
                // A quote inside a field is a part of it; two in quotes stand for one.
                let begins = |before| before == b'"' || SEPARATORS.iter().any(|s| s.byte == before);
                is_quoted = !is_quoted && before.is_none_or(begins);
            } else if let Some(at) = at.filter(|_| !is_quoted) {
                counts[at] += 1;
            }
            before = Some(byte);
        }
        let mut most = 0;
        for (at, count) in counts.iter().enumerate() {
            if *count > counts[most] {
                most = at;
            }
        }
        SEPARATORS[most]
    }
}

/// What is said of a value that is not there.
pub(super) const MISSING: &str = "the value is missing; fill it in, or take the line out";

/// A line with something in it.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) fields: Vec<String>,
}

/// The lines with something in them, all of one length.
pub(super) fn read(text: &str, separator: Separator) -> Result<Vec<Line>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(separator.byte)
        // Told below, with the line.
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut lines: Vec<Line> = Vec::new();
    let mut walk = Walk::through(text);
    let mut record = csv::StringRecord::new();
    // The first since the last line with something in it.
    let mut empty: Option<u64> = None;
    while reader.read_record(&mut record)? {
        walk.to(record.position().map_or(0, csv::Position::byte));
        if let Some(number) = walk.over_empty_lines() {
            empty.get_or_insert(number);
        }
        let number = walk.line;
        if record.len() == 1 && walk.is_blank_until(reader.position().byte()) {
            empty.get_or_insert(number);
            continue;
        }
        if let Some(first) = lines.first() {
            let (here, there) = (record.len(), first.fields.len());
            if here != there {
                bail!(
                    "line {number} has {}, line {} has {there}, split at {}; give every line as many",
                    columns(here),
                    first.number,
                    separator.plural
                );
            }
            // Between several columns an empty line is no line of theirs; in one it is a
            // field with nothing in it.
            if let Some(number) = empty.filter(|_| there == 1) {
                bail!("line {number}: {MISSING}");
            }
        }
        empty = None;
        let fields = record.iter().map(str::to_owned).collect();
        lines.push(Line { number, fields });
    }
    Ok(lines)
}

fn columns(count: usize) -> String {
    match count {
        1 => "1 column".to_owned(),
        count => format!("{count} columns"),
    }
}

/// Walks through a text and counts its lines. The reader's own count leaves out empty
/// ones.
struct Walk<'t> {
    bytes: &'t [u8],
    at: usize,
    line: u64,
}

impl<'t> Walk<'t> {
    fn through(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        Self {
            bytes,
            at: 0,
            line: 1,
        }
    }

    /// To the place where the reader begins a record; it may have left a `\n` after the
    /// `\r` at which it ended the last one.
    fn to(&mut self, start: u64) {
        self.move_to(self.place(start));
        let is_inside_end = self.bytes[..self.at].ends_with(b"\r");
        if is_inside_end && self.bytes[self.at..].starts_with(b"\n") {
            self.move_to(self.at + 1);
        }
    }

    /// Over the empty lines from here on, and the number of the first.
    fn over_empty_lines(&mut self) -> Option<u64> {
        let (first, rest) = (self.line, &self.bytes[self.at..]);
        let is_end = |byte: &&u8| matches!(byte, b'\n' | b'\r');
        let ends = rest.iter().take_while(is_end).count();
        self.move_to(self.at + ends);
        (ends > 0).then_some(first)
    }

    fn is_blank_until(&self, end: u64) -> bool {
        let record = &self.bytes[self.at..self.place(end)];
        record.iter().all(u8::is_ascii_whitespace)
    }

    fn place(&self, byte: u64) -> usize {
        let byte = usize::try_from(byte).unwrap_or(usize::MAX);
        byte.clamp(self.at, self.bytes.len())
    }

    fn move_to(&mut self, end: usize) {
        for at in self.at..end {
            self.line += match self.bytes[at] {
                b'\n' => 1,
                b'\r' if self.bytes.get(at + 1) != Some(&b'\n') => 1,
                _ => 0,
            };
        }
        self.at = end;
    }
}
