//! The lines of a CSV file, split at what it separates its columns by.

use anyhow::{Result, bail};

/// What is between the columns of a file, and what several of them are called.
pub(super) type Separator = (u8, &'static str);

const SEPARATORS: [Separator; 3] = [(b',', "commas"), (b';', "semicolons"), (b'\t', "tabs")];

/// The separator that is most often outside quotes in the first line with something in it.
pub(super) fn separator_of(text: &str) -> Separator {
    let mut lines = text.split(['\n', '\r']);
    let first = lines.find(|line| !line.trim().is_empty()).unwrap_or("");
    let place = |byte| SEPARATORS.iter().position(|(each, _)| *each == byte);
    let mut counts = [0_usize; SEPARATORS.len()];
    let (mut is_quoted, mut before) = (false, None);
    for byte in first.bytes() {
        if byte == b'"' {
            // A quote inside a field is a part of it; two in quotes stand for one.
            let begins = |before| before == b'"' || place(before).is_some();
            is_quoted = !is_quoted && before.is_none_or(begins);
        } else if let Some(at) = place(byte).filter(|_| !is_quoted) {
            counts[at] += 1;
        }
        before = Some(byte);
    }
    // Of equal counts the first.
    let most = (0..counts.len()).rev().max_by_key(|at| counts[*at]);
    SEPARATORS[most.unwrap_or(0)]
}

/// What is said of a value that is not there.
pub(super) const MISSING: &str = "the value is missing; fill it in, or take the line out";

/// A line with something in it.
pub(super) struct Line {
    /// Where in the text it begins.
    start: usize,
    pub(super) fields: Vec<String>,
}

impl Line {
    /// Its number in the text, from 1; the reader's own count leaves out empty lines.
    pub(super) fn number(&self, text: &str) -> usize {
        number(text, self.start)
    }
}

fn number(text: &str, start: usize) -> usize {
    let before = text[..start].replace("\r\n", "\n");
    before.split(['\n', '\r']).count()
}

/// The lines with something in them, all of one length.
pub(super) fn read(text: &str, (byte, plural): Separator) -> Result<Vec<Line>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(byte)
        // Told below, with the line.
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut lines: Vec<Line> = Vec::new();
    let mut record = csv::StringRecord::new();
    // Where the last record ended, and the first empty line since one with something in it.
    let (mut end, mut empty) = (0, None);
    while reader.read_record(&mut record)? {
        let (read, mut rest) = text.split_at(end);
        if read.ends_with('\r') {
            // The reader may have left the `\n` after it.
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        }
        let next = text.len() - rest.len();
        let start = text.len() - rest.trim_start_matches(['\n', '\r']).len();
        end = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
        end = end.clamp(start, text.len());
        let is_blank = record.len() == 1 && text[start..end].trim_ascii().is_empty();
        if start > next || is_blank {
            empty.get_or_insert(next);
        }
        if is_blank {
            continue;
        }
        if let Some(first) = lines.first() {
            let (here, there) = (record.len(), first.fields.len());
            if here != there {
                let (line, first) = (number(text, start), first.number(text));
                let columns = if here == 1 { "column" } else { "columns" };
                bail!(
                    "line {line} has {here} {columns}, line {first} has {there}, split at \
                     {plural}; give every line as many"
                );
            }
            // Between several columns an empty line is no line of theirs; in one it is a
            // field with nothing in it.
            if let Some(empty) = empty.filter(|_| there == 1) {
                bail!("line {}: {MISSING}", number(text, empty));
            }
        }
        empty = None;
        let fields = record.iter().map(str::to_owned).collect();
        lines.push(Line { start, fields });
    }
    Ok(lines)
}
