//! A CSV file or JSON lines of any writer, whose columns the caller names
//! ([`Columns`]). A row is a sample. The column for runs tells which rows are of one
//! process; without it a file is one run.
//!
//! What stands between the columns (a comma, a semicolon or a tab) is told by the first
//! line, which has their names. A row that cannot be read is left out and counted.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use breakeven_profile::file::{FileError, FileErrorKind, in_words};
use breakeven_profile::profile::{Environment, Profile};

use crate::columns::Columns;
use crate::format::Importer;
use crate::gather::Gather;
use crate::lenient;
use crate::mended::Mended;
use crate::name::one_line;
use crate::note::Notes;
use crate::read::Options;
use crate::source::Source;
use crate::unit::Unit;

pub(crate) static IMPORTER: Importer = Importer {
    name: "table",
    about: "any CSV file or JSON lines; name the columns: name=…,time=…,unit=…,run=…",
    recognises: |_| false,
    read,
};

fn read(source: Source, options: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let Some(columns) = &options.columns else {
        let told = "which column is what? name the columns, as in name=…,time=…,unit=ms";
        return Err(FileError::new(FileErrorKind::Value, told));
    };
    let path = source.path().to_owned();
    let is_json = source.lines().find(|line| !line.trim().is_empty());
    let is_json = is_json.is_some_and(|line| line.trim_start().starts_with('{'));
    let mut table = Table::of(columns);
    match is_json {
        true => table.read_json(source, &path, notes)?,
        false => table.read_csv(source, notes)?,
    }
    let profile = table.gather.profile(Environment::default(), notes);
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
    /// By operation and what tells the run.
    runs: HashMap<[Option<String>; 4], usize>,
    mended: Mended,
    /// The first row that could not be read.
    wrong: Option<FileError>,
}

/// The cells of a row that are named.
#[derive(Default)]
struct Row {
    name: String,
    time: String,
    unit: Option<String>,
    run: Option<String>,
    device: Option<String>,
    size: Option<String>,
}

/// What is wrong in a row, and in which column.
struct Wrong {
    column: String,
    message: String,
}

impl<'c> Table<'c> {
    fn of(columns: &'c Columns) -> Self {
        Self {
            columns,
            unit: columns.unit.as_deref().and_then(Unit::named),
            gather: Gather::default(),
            runs: HashMap::new(),
            mended: Mended::default(),
            wrong: None,
        }
    }

    /// The named columns, in the order of a row's cells.
    fn named(&self) -> [Option<&'c str>; 6] {
        let columns = self.columns;
        [
            Some(columns.name.as_str()),
            Some(columns.time.as_str()),
            columns.unit.as_deref().filter(|_| self.unit.is_none()),
            columns.run.as_deref(),
            columns.device.as_deref(),
            columns.size.as_deref(),
        ]
    }

    fn read_csv(&mut self, source: Source, notes: &mut Notes) -> Result<(), FileError> {
        let separator = separator(source.lines().next().unwrap_or_default());
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .trim(csv::Trim::All)
            .from_reader(source.into_reader()?);
        let head = reader
            .headers()
            .map_err(|error| unreadable(&error))?
            .clone();
        let mut places = [None; 6];
        for (place, column) in places.iter_mut().zip(self.named()) {
            *place = column.map(|column| position(&head, column)).transpose()?;
        }
        let mut record = csv::StringRecord::new();
        loop {
            let read = match reader.read_record(&mut record) {
                Ok(false) => return Ok(()),
                Ok(true) => {
                    let cell = |at: usize| Some(record.get(places[at]?)?.to_owned());
                    let line = record.position().map_or(0, csv::Position::line);
                    self.add(row(cell), line)
                }
                Err(error) if error.is_io_error() => return Err(unreadable(&error)),
                Err(error) => Err(unreadable(&error)),
            };
            self.note(read, notes);
        }
    }

    /// Leaves out a row that cannot be read.
    fn note(&mut self, row: Result<(), FileError>, notes: &mut Notes) {
        if let Err(wrong) = row {
            notes.leave_out("row(s)", "they cannot be read", &wrong.to_string());
            self.wrong.get_or_insert(wrong);
        }
    }

    fn read_json(
        &mut self,
        source: Source,
        path: &Path,
        notes: &mut Notes,
    ) -> Result<(), FileError> {
        self.mended = source.mended();
        for (number, line) in (1..).zip(source.into_reader()?.lines()) {
            let line =
                line.map_err(|reason| FileError::io("cannot be read", &reason).at_path(path))?;
            if line.trim().is_empty() {
                continue;
            }
            let read = self.read_object(&line, number);
            self.note(read, notes);
        }
        Ok(())
    }

    fn read_object(&mut self, line: &str, number: usize) -> Result<(), FileError> {
        let object: serde_json::Map<String, serde_json::Value> =
            lenient::line(line, number, &self.mended).map_err(|error| {
                let told = format!(
                    "the line is not a JSON object: {}",
                    in_words(&error.to_string())
                );
                FileError::new(FileErrorKind::Syntax, told).at_position(number, error.column())
            })?;
        let named = self.named();
        let mut missing = (named.into_iter().flatten()).filter(|name| !object.contains_key(*name));
        // A line without a value is a gap; one without any of them is no row.
        if let Some(column) = missing.find(|name| *name == self.columns.name || number == 1) {
            let there: Vec<&str> = object.keys().map(String::as_str).collect();
            return Err(no_column(column, &there).at_position(number, 1));
        }
        let cell = |at: usize| match object.get(named[at]?)? {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        self.add(row(cell), number as u64)
    }

    fn add(&mut self, row: Row, line: u64) -> Result<(), FileError> {
        let named = |wrong: Wrong| wrong.at(&row.name, line);
        let size = row.size.as_deref().filter(|size| !size.is_empty());
        let size = size
            .map(|text| self.size(text))
            .transpose()
            .map_err(named)?;
        let ns = self.ns(&row).map_err(named)?;
        let device = row.device.filter(|device| !device.is_empty());
        let device = device.as_deref().unwrap_or("cpu");
        let operation = self.gather.on(&row.name, device, size);
        let process = [
            Some(row.name),
            Some(device.to_owned()),
            size.map(|size| size.to_string()),
            row.run,
        ];
        let run = self.runs.entry(process);
        let run = *run.or_insert_with(|| operation.new_run());
        operation.sample(run, ns);
        Ok(())
    }

    fn size(&self, text: &str) -> Result<u64, Wrong> {
        text.parse().map_err(|_| Wrong {
            column: self.columns.size.clone().unwrap_or_default(),
            message: format!("\"{}\" is not a size; give a whole number", one_line(text)),
        })
    }

    fn ns(&self, row: &Row) -> Result<f64, Wrong> {
        let wrong = |message: String| Wrong {
            column: self.columns.time.clone(),
            message,
        };
        let text = row.time.as_str();
        if text.is_empty() {
            return Err(wrong("the row has no time".to_owned()));
        }
        let begin_of_unit =
            text.find(|each: char| each.is_alphabetic() && !matches!(each, 'e' | 'E'));
        let (value, own) = match begin_of_unit {
            // NaN and inf are numbers.
            Some(at) if text.parse::<f64>().is_err() => text.split_at(at),
            _ => (text, ""),
        };
        let value = number(value.trim()).ok_or_else(|| {
            let text = one_line(text);
            wrong(format!(
                "\"{text}\" is not a number; write decimals behind a point, and nothing between \
                 thousands"
            ))
        })?;
        let unit = match (self.unit, &row.unit) {
            (Some(unit), _) => Some(unit),
            (None, Some(told)) => Some(Unit::named(told).ok_or_else(|| Wrong {
                column: self.columns.unit.clone().unwrap_or_default(),
                message: format!(
                    "\"{}\" is not a unit of time or rate, such as ms or ops/s",
                    one_line(told)
                ),
            })?),
            (None, None) => None,
        };
        match (unit, own) {
            (Some(unit), "") => Ok(unit.ns(value)),
            (Some(_), own) => Err(wrong(format!(
                "the value has a unit of its own, \"{}\"; leave out unit=",
                one_line(own)
            ))),
            (None, "") => Err(wrong(format!(
                "{text} has no unit; add unit=ms, or unit=COLUMN"
            ))),
            (None, own) => Unit::named(own).map(|unit| unit.ns(value)).ok_or_else(|| {
                wrong(format!(
                    "\"{}\" is not a unit of time or rate",
                    one_line(own)
                ))
            }),
        }
    }
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

/// The row from its cells.
fn row(cell: impl Fn(usize) -> Option<String>) -> Row {
    Row {
        name: cell(0).unwrap_or_default(),
        time: cell(1).unwrap_or_default(),
        unit: cell(2),
        run: cell(3),
        device: cell(4),
        size: cell(5),
    }
}

impl Wrong {
    fn at(self, name: &str, line: u64) -> FileError {
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        let told = format!("{}: {}", one_line(name), self.message);
        let told = FileError::new(FileErrorKind::Value, told);
        told.at_position(line, 1).at_place(self.column)
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
            let told = format!(
                "the column \"{}\" occurs twice; rename one",
                one_line(column)
            );
            Err(FileError::new(FileErrorKind::Value, told).at_position(1, 1))
        }
    }
}

fn no_column(column: &str, there: &[&str]) -> FileError {
    let there = one_line(&there.join(", "));
    let told = format!(
        "there is no column \"{}\"; there are {there}",
        one_line(column)
    );
    FileError::new(FileErrorKind::Value, told)
}

fn unreadable(error: &csv::Error) -> FileError {
    let line = error.position().map(csv::Position::line);
    let told = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!(
            "the row has {len} columns, and the first line {expected_len}; quote what holds a separator"
        ),
        csv::ErrorKind::Utf8 { .. } => "a text is not UTF-8; save the file as UTF-8".to_owned(),
        csv::ErrorKind::Io(reason) => return FileError::io("cannot be read", reason),
        _ => error.to_string(),
    };
    let told = FileError::new(FileErrorKind::Syntax, told);
    match line.and_then(|line| usize::try_from(line).ok()) {
        Some(line) => told.at_position(line, 1),
        None => told,
    }
}
