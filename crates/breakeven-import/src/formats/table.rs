//! A CSV file or JSON lines of any writer, whose columns the caller names
//! ([`Columns`]). A row is a sample. The column for runs says which rows are of one
//! process; without it a file is one run.
//!
//! What stands between the columns (a comma, a semicolon or a tab) is known by the first
//! line, which has their names. A row that cannot be read is left out and counted.

use std::collections::HashMap;
use std::str::FromStr;

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::Gather;
use crate::json;
use crate::name::{one_line, plain};
use crate::note::Notes;
use crate::source::Source;
use crate::unit::{Unit, value_and_unit};

pub(crate) static IMPORTER: Format = Format {
    name: "table",
    about: "any CSV file or JSON lines; name the columns: name=…,time=…,unit=…,run=…",
    recognises: |_| false,
    read,
};

/// Which columns of a CSV file, or keys of JSON lines, hold what. As a text:
/// `name=benchmark,time=mean,unit=ms,run=round`.
///
/// ```
/// use breakeven_import::Columns;
///
/// let columns: Columns = "name=case, time=wall, unit=ms".parse()?;
/// assert_eq!(columns.time, "wall");
/// assert_eq!(columns.run, None);
/// # Ok::<(), breakeven_import::ColumnsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// The column of the operation's name.
    pub name: String,
    /// The column of the times, or of a rate if the unit is one, as in `ops/s`.
    pub time: String,
    /// A unit, as in `ms`, or the column of the units. Without one every time carries its
    /// own, as in `1.5 ms`.
    pub unit: Option<String>,
    /// The column that marks runs (processes) by any text. Without one a file is one
    /// run.
    pub run: Option<String>,
    /// The column of the devices; `cpu` without one.
    pub device: Option<String>,
    /// The column of the sizes, elements in one call's input.
    pub size: Option<String>,
}

/// Why a text names no columns, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ColumnsError(String);

/// The words, those that must be there first.
const WORDS: [&str; 6] = ["name", "time", "unit", "run", "device", "size"];

impl FromStr for Columns {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<Self, ColumnsError> {
        let mut named: [Option<String>; 6] = Default::default();
        for part in text.split(',').map(str::trim) {
            let form = || ColumnsError(format!("\"{part}\" is not of the form time=COLUMN"));
            let (word, column) = part.split_once('=').ok_or_else(form)?;
            let (word, column) = (word.trim(), column.trim());
            let at = WORDS.iter().position(|known| *known == word);
            let at = at.ok_or_else(|| {
                ColumnsError(format!(
                    "\"{word}\" is not known; there are name, time, unit, run, device and size"
                ))
            })?;
            if column.is_empty() {
                return Err(form());
            }
            if named[at].replace(column.to_owned()).is_some() {
                return Err(ColumnsError(format!("{word}= occurs twice; keep one")));
            }
        }
        let [name, time, unit, run, device, size] = named;
        let missing = |word: &str| {
            let example = "name its column, as in name=benchmark,time=mean,unit=ms";
            ColumnsError(format!("{word}= is missing; {example}"))
        };
        Ok(Self {
            name: name.ok_or_else(|| missing("name"))?,
            time: time.ok_or_else(|| missing("time"))?,
            unit,
            run,
            device,
            size,
        })
    }
}

fn read(source: Source, options: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let Some(columns) = &options.columns else {
        let message = "which column is what? name the columns, as in name=…,time=…,unit=ms";
        return Err(FileError::new(FileErrorKind::Columns, message));
    };
    let first = source.lines().find(|line| !line.trim().is_empty());
    let is_json = first.is_some_and(|line| line.trim_start().starts_with('{'));
    let mut table = Table {
        columns,
        unit: columns.unit.as_deref().and_then(Unit::named),
        gather: Gather::default(),
        wrong: None,
    };
    match is_json {
        true => table.read_json(source, notes)?,
        false => table.read_csv(source, notes)?,
    }
    let profile = table.gather.profile(notes);
    // What is wrong in all rows is wrong in the first.
    let profile = profile.map_err(|error| table.wrong.unwrap_or(error))?;
    Ok(Profile {
        // Nobody knows who wrote it.
        benchmark: false,
        ..profile
    })
}

struct Table<'c> {
    columns: &'c Columns,
    /// The one unit of all times, where it is no column.
    unit: Option<Unit>,
    gather: Gather,
    /// The first row that could not be read.
    wrong: Option<FileError>,
}

impl<'c> Table<'c> {
    /// The columns that the file must have.
    fn named(&self) -> impl Iterator<Item = &'c str> + use<'c> {
        let columns = self.columns;
        let unit = columns.unit.as_ref().filter(|_| self.unit.is_none());
        let optional = [&columns.run, &columns.device, &columns.size].map(Option::as_ref);
        let first = [Some(&columns.name), Some(&columns.time), unit];
        first
            .into_iter()
            .chain(optional)
            .flatten()
            .map(String::as_str)
    }

    fn read_csv(&mut self, source: Source, notes: &mut Notes) -> Result<(), FileError> {
        let separator = separator(source.lines().next().unwrap_or_default());
        let text = source.into_lines(notes)?;
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let head = reader.headers().map_err(|error| unreadable(&error))?;
        let mut places = HashMap::new();
        for column in self.named() {
            places.insert(column, position(head, column)?);
        }
        let mut record = csv::StringRecord::new();
        loop {
            let read = match reader.read_record(&mut record) {
                Ok(false) => return Ok(()),
                Ok(true) => {
                    let cell = |column: &str| Some(record.get(*places.get(column)?)?.to_owned());
                    self.add(cell, record.position().map_or(0, csv::Position::line))
                }
                Err(error) if error.is_io_error() => return Err(unreadable(&error)),
                Err(error) => Err(unreadable(&error)),
            };
            self.note(read, notes);
        }
    }

    fn read_json(&mut self, source: Source, notes: &mut Notes) -> Result<(), FileError> {
        let text = source.into_lines(notes)?;
        for (number, line) in (1..).zip(text.lines()) {
            if !line.trim().is_empty() {
                let read = self.read_object(line, number, notes);
                self.note(read, notes);
            }
        }
        Ok(())
    }

    /// Leaves out a row that cannot be read.
    fn note(&mut self, row: Result<(), FileError>, notes: &mut Notes) {
        if let Err(wrong) = row {
            notes.leave_out("row(s)", "they cannot be read", &wrong.to_string());
            self.wrong.get_or_insert(wrong);
        }
    }

    fn read_object(
        &mut self,
        line: &str,
        number: usize,
        notes: &mut Notes,
    ) -> Result<(), FileError> {
        let Value::Object(object) = json::line(line, number, notes)? else {
            let message = "the line is not a JSON object";
            return Err(FileError::new(FileErrorKind::Syntax, message).at_position(number, 1));
        };
        let mut missing = self.named().filter(|name| !object.contains_key(*name));
        // A line without a value is a gap; one without any of them is no row.
        if let Some(column) = missing.find(|name| *name == self.columns.name || number == 1) {
            let there: Vec<&str> = object.keys().map(String::as_str).collect();
            return Err(no_column(column, &there).at_position(number, 1));
        }
        let cell = |column: &str| Some(plain(object.get(column).filter(|cell| !cell.is_null())?));
        self.add(cell, number as u64)
    }

    /// Takes a row by its cells.
    fn add(&mut self, cell: impl Fn(&str) -> Option<String>, line: u64) -> Result<(), FileError> {
        let columns = self.columns;
        let optional = |column: &Option<String>| column.as_deref().and_then(&cell);
        let name = cell(&columns.name).unwrap_or_default();
        let wrong = |column: &str, message: String| {
            let line = usize::try_from(line).unwrap_or(usize::MAX);
            let message = format!("{}: {message}", one_line(&name));
            let error = FileError::new(FileErrorKind::Value, message);
            error.at_position(line, 1).at_place(column)
        };
        let size = optional(&columns.size).filter(|text| !text.is_empty());
        let size = size.map(|text| {
            let message = || format!("\"{}\" is not a size; give a whole number", one_line(&text));
            let column = columns.size.as_deref().unwrap_or_default();
            text.parse().map_err(|_| wrong(column, message()))
        });
        let size = size.transpose()?;
        let unit = match self.unit {
            None => optional(&columns.unit).map(|unit| {
                let column = columns.unit.as_deref().unwrap_or_default();
                let unit = unit.as_str();
                Unit::named(unit)
                    .ok_or_else(|| wrong(column, no_unit(unit, ", such as ms or ops/s")))
            }),
            unit => unit.map(Ok),
        };
        let time = cell(&columns.time).unwrap_or_default();
        let ns = ns(&time, unit.transpose()?).map_err(|message| wrong(&columns.time, message))?;
        let device = optional(&columns.device).filter(|device| !device.is_empty());
        let operation = (self.gather).on(&name, device.as_deref().unwrap_or("cpu"), size);
        let run = operation.run_of(optional(&columns.run).unwrap_or_default());
        operation.sample(run, ns);
        Ok(())
    }
}

/// A time in a unit, or with one of its own.
fn ns(text: &str, unit: Option<Unit>) -> Result<f64, String> {
    if text.is_empty() {
        return Err("the row has no time".to_owned());
    }
    let (value, own) = value_and_unit(text);
    let value = number(value).ok_or_else(|| {
        format!(
            "\"{}\" is not a number; write decimals behind a point, and nothing between thousands",
            one_line(text)
        )
    })?;
    match (unit, own) {
        (Some(unit), "") => Ok(unit.ns(value)),
        (Some(_), own) => Err(format!(
            "the value has a unit of its own, \"{}\"; leave out unit=",
            one_line(own)
        )),
        (None, "") => Err(format!("{text} has no unit; add unit=ms, or unit=COLUMN")),
        (None, own) => match Unit::named(own) {
            Some(unit) => Ok(unit.ns(value)),
            None => Err(no_unit(own, "")),
        },
    }
}

fn no_unit(text: &str, example: &str) -> String {
    format!(
        "\"{}\" is not a unit of time or rate{example}",
        one_line(text)
    )
}

/// A number, also with commas between its thousands: `1,234.5`. Of a single comma without
/// a point behind it nobody knows what it is.
fn number(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let groups: Vec<&str> = whole.split(',').collect();
    let is_sure = groups.len() > 2 || groups.len() == 2 && !fraction.is_empty();
    let is_grouped = groups[0].len() < 4 && groups[1..].iter().all(|group| group.len() == 3);
    match is_sure && is_grouped && !fraction.contains(',') {
        true => text.replace(',', "").parse().ok(),
        false => text.parse().ok(),
    }
}

/// What stands between the columns: what the first line has most of, outside of quotes.
fn separator(line: &str) -> u8 {
    let count = |separator: char| {
        let unquoted = line.split('"').step_by(2);
        unquoted
            .map(|part| part.matches(separator).count())
            .sum::<usize>()
    };
    let separators = [',', ';', '\t'].map(|each| (count(each), each));
    // The first of equals.
    let most = separators.into_iter().rev().max_by_key(|(count, _)| *count);
    most.map_or(b',', |(_, separator)| separator as u8)
}

fn position(head: &csv::StringRecord, column: &str) -> Result<usize, FileError> {
    let mut found = head.iter().enumerate().filter(|(_, name)| *name == column);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Ok(at),
        (None, _) => {
            let there: Vec<&str> = head.iter().collect();
            Err(no_column(column, &there).at_position(1, 1))
        }
        (Some(_), Some(_)) => {
            let message = format!(
                "the column \"{}\" occurs twice; rename one",
                one_line(column)
            );
            Err(FileError::new(FileErrorKind::Value, message).at_position(1, 1))
        }
    }
}

fn no_column(column: &str, there: &[&str]) -> FileError {
    let there = one_line(&there.join(", "));
    let message = format!(
        "there is no column \"{}\"; there are {there}",
        one_line(column)
    );
    FileError::new(FileErrorKind::Value, message)
}

pub(crate) fn unreadable(error: &csv::Error) -> FileError {
    let line = error.position().map(csv::Position::line);
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!(
            "the row has {len} columns, and the first line {expected_len}; quote what holds a separator"
        ),
        csv::ErrorKind::Utf8 { .. } => "a text is not UTF-8; save the file as UTF-8".to_owned(),
        csv::ErrorKind::Io(reason) => return FileError::io("cannot be read", reason),
        _ => error.to_string(),
    };
    let error = FileError::new(FileErrorKind::Syntax, message);
    match line.and_then(|line| usize::try_from(line).ok()) {
        Some(line) => error.at_position(line, 1),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_columns() {
        let error = |text: &str| Columns::from_str(text).expect_err(text).to_string();
        assert_eq!(error(""), "\"\" is not of the form time=COLUMN");
        assert_eq!(
            error("name=a,time"),
            "\"time\" is not of the form time=COLUMN"
        );
        assert_eq!(
            error("name=a,time="),
            "\"time=\" is not of the form time=COLUMN"
        );
        assert_eq!(
            error("name=a,tine=b"),
            "\"tine\" is not known; there are name, time, unit, run, device and size"
        );
        assert_eq!(
            error("name=a,time=b,name=c"),
            "name= occurs twice; keep one"
        );
        assert_eq!(
            error("name=a,unit=ms"),
            "time= is missing; name its column, as in name=benchmark,time=mean,unit=ms"
        );
    }
}
