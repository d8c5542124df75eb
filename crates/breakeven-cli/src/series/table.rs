//! A file's columns: what they are called, and which of them is asked for.

use anyhow::{Result, anyhow, bail};

use super::lines::{self, Line, MISSING, Separator};

/// Lines of one length, and what their columns are called.
pub(super) struct Table<'t> {
    text: &'t str,
    separator: Separator,
    names: Option<Vec<String>>,
    lines: Vec<Line>,
}

impl<'t> Table<'t> {
    /// Of a text, from which a column of that name or number is asked for.
    pub(super) fn read(text: &'t str, asked: Option<&str>) -> Result<Self> {
        let separator = lines::separator_of(text);
        let mut lines = lines::read(text, separator)?;
        let Some((first, below)) = lines.split_first() else {
            bail!("it is empty");
        };
        let names = is_header(first, below, asked).then(|| lines.remove(0).fields);
        if lines.is_empty() {
            bail!("there is nothing below its header");
        }
        Ok(Self {
            text,
            separator,
            names,
            lines,
        })
    }

    /// The values of the column that is asked for, else of the only one of numbers.
    pub(super) fn values(&self, asked: Option<&str>) -> Result<Vec<f32>> {
        let column = match asked {
            Some(asked) => self.named(asked)?,
            None => self.only()?,
        };
        let lines = self.lines.iter();
        lines.map(|line| self.value(line, column)).collect()
    }

    fn width(&self) -> usize {
        self.lines.first().map_or(0, |line| line.fields.len())
    }

    /// A column as people are told of it: its number, and its name where it has one.
    fn label(&self, column: usize) -> String {
        let name = self.names.as_ref().map(|names| names[column].as_str());
        match name.filter(|name| !name.is_empty()) {
            Some(name) => format!("{} ({})", column + 1, clipped(name).escape_debug()),
            None => (column + 1).to_string(),
        }
    }

    fn labels(&self, columns: impl IntoIterator<Item = usize>) -> String {
        let labels: Vec<String> = columns.into_iter().map(|at| self.label(at)).collect();
        labels.join(", ")
    }

    /// What there is to choose from.
    fn all(&self) -> String {
        let (labels, (_, plural)) = (self.labels(0..self.width()), self.separator);
        format!("its columns, split at {plural}, are: {labels}")
    }

    /// The column that was asked for. A name comes before a number.
    fn named(&self, asked: &str) -> Result<usize> {
        let names = self.names.iter().flatten();
        let named: Vec<usize> = (names.enumerate())
            .filter(|(_, name)| *name == asked)
            .map(|(column, _)| column)
            .collect();
        match named[..] {
            [column] => Ok(column),
            [] => column_number(asked, self.width())
                .ok_or_else(|| anyhow!("there is no column {asked:?}; {}", self.all())),
            _ => bail!("several columns are called {asked:?}; give its number, from 1 on"),
        }
    }

    /// The one column of numbers: those whose first value is one.
    fn only(&self) -> Result<usize> {
        let is_numeric = |column: &usize| {
            let mut fields = self.lines.iter().map(|line| &line.fields[*column]);
            let first = fields.find(|field| !field.is_empty());
            first.is_some_and(|field| is_number(field))
        };
        let numeric: Vec<usize> = (0..self.width()).filter(is_numeric).collect();
        match numeric[..] {
            [column] => Ok(column),
            [] => bail!("no column of it begins with a number; {}", self.all()),
            _ => bail!(
                "several of its columns hold numbers; name one, as in FILE.csv:{}; they are: {}",
                numeric[0] + 1,
                self.labels(numeric)
            ),
        }
    }

    fn value(&self, line: &Line, column: usize) -> Result<f32> {
        let field = line.fields[column].as_str();
        let number = || line.number(self.text);
        let place = || format!("line {}, column {}", number(), self.label(column));
        if field.is_empty() {
            bail!("{}: {MISSING}", place());
        }
        let Ok(value) = field.parse::<f64>() else {
            let remedy = match is_number(field) {
                true => "write a decimal point, not a comma",
                false => "take the line out, or name another column",
            };
            bail!("{}: {:?} is no number; {remedy}", place(), clipped(field));
        };
        let value = value as f32;
        if !value.is_finite() {
            let (place, field) = (place(), clipped(field));
            bail!("{place}: {field} is no finite number of 32 bits; take the line out");
        }
        Ok(value)
    }
}

/// Whether the first line names the columns: where none of it is a number, where text
/// is above numbers alone, or where what is asked for is in it and can be no column's
/// number.
fn is_header(first: &Line, below: &[Line], asked: Option<&str>) -> bool {
    let fields = &first.fields;
    let has_number = fields.iter().any(|field| is_number(field));
    let is_above_numbers = |(column, field): (usize, &String)| {
        let values = below.iter().map(|line| line.fields[column].as_str());
        let mut values = values.filter(|value| !value.is_empty()).peekable();
        let is_text = !field.is_empty() && !is_number(field);
        is_text && values.peek().is_some() && values.all(is_number)
    };
    let is_asked = |asked: &str| {
        let is_name = fields.iter().any(|field| field == asked);
        is_name && column_number(asked, fields.len()).is_none()
    };
    !has_number || fields.iter().enumerate().any(is_above_numbers) || asked.is_some_and(is_asked)
}

/// The index of the column of that number, counted from 1.
fn column_number(asked: &str, width: usize) -> Option<usize> {
    let column = asked.parse::<usize>().ok()?.checked_sub(1)?;
    (column < width).then_some(column)
}

/// Whether it is a number, be it one with a decimal comma, of which its line tells.
fn is_number(field: &str) -> bool {
    field.replace(',', ".").parse::<f64>().is_ok()
}

/// A field that fits a line.
fn clipped(field: &str) -> String {
    const MOST: usize = 40;
    match field.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &field[..end]),
        None => field.to_owned(),
    }
}
