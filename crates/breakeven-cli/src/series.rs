//! The user's series, as the forecast takes it: a column of a CSV file.

use std::path::Path;

use anyhow::{Result, anyhow, bail};

/// Reads `FILE.csv` or `FILE.csv:column`: the column of that name or number,
/// counted from 1, else the only one that holds numbers.
pub(crate) fn read(asked: &str) -> Result<Vec<f32>> {
    let (path, column) = parts(asked);
    let unreadable = |why: String| anyhow!("cannot read the series {path}: {why}");
    let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    let text = text(&bytes).map_err(|error| unreadable(error.to_string()))?;
    column_of(text, column).map_err(|error| unreadable(error.to_string()))
}

/// The file and the column. A colon may be in the file's own name.
fn parts(asked: &str) -> (&str, Option<&str>) {
    if Path::new(asked).exists() {
        return (asked, None);
    }
    match asked.rsplit_once(':') {
        Some((path, column)) if !path.is_empty() && !column.contains(['/', '\\']) => {
            (path, Some(column))
        }
        _ => (asked, None),
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let lines = bytes[..error.valid_up_to()].iter();
        let line = 1 + lines.filter(|byte| **byte == b'\n').count();
        anyhow!("line {line} is not UTF-8; save the file as UTF-8")
    })?;
    // Spreadsheets begin a file with a mark.
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// A line with something in it.
struct Line {
    number: u64,
    fields: Vec<String>,
}

/// Lines of one length, and what their columns are called.
struct Table {
    names: Option<Vec<String>>,
    lines: Vec<Line>,
}

impl Table {
    fn read(text: &str) -> Result<Self> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            // Told below, with the line.
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut lines: Vec<Line> = Vec::new();
        let mut counted = LineCount {
            text,
            at: 0,
            line: 1,
        };
        for record in reader.records() {
            let record = record?;
            let start = record.position().map_or(0, csv::Position::byte);
            let number = counted.line_at(usize::try_from(start).unwrap_or(usize::MAX));
            let fields: Vec<String> = record.iter().map(str::to_owned).collect();
            if let Some(first) = lines
                .first()
                .filter(|line| line.fields.len() != fields.len())
            {
                bail!(
                    "line {number} has {}, line {} has {}; give every line as many",
                    columns(fields.len()),
                    first.number,
                    first.fields.len()
                );
            }
            lines.push(Line { number, fields });
        }
        let Some(first) = lines.first() else {
            bail!("it is empty");
        };
        let is_header = !first.fields.iter().any(|field| is_number(field));
        let names = is_header.then(|| lines.remove(0).fields);
        if lines.is_empty() {
            bail!("there is nothing below its header");
        }
        Ok(Self { names, lines })
    }

    /// How many columns there are.
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

    /// The column that was asked for. A name comes before a number.
    fn named(&self, asked: &str) -> Result<usize> {
        let names = self.names.iter().flatten();
        let named: Vec<usize> = (names.enumerate())
            .filter(|(_, name)| *name == asked)
            .map(|(column, _)| column)
            .collect();
        match named[..] {
            [column] => return Ok(column),
            [] => {}
            _ => bail!("several columns are called {asked:?}; give its number, from 1 on"),
        }
        let number = asked.parse::<usize>().ok();
        number
            .and_then(|number| number.checked_sub(1))
            .filter(|column| *column < self.width())
            .ok_or_else(|| {
                let all = self.labels(0..self.width());
                anyhow!("there is no column {asked:?}; its columns are: {all}")
            })
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
            [] => {
                let all = self.labels(0..self.width());
                bail!("no column of it begins with a number; its columns are: {all}")
            }
            _ => bail!(
                "several of its columns hold numbers; name one, as in FILE.csv:{}; they are: {}",
                numeric[0] + 1,
                self.labels(numeric)
            ),
        }
    }

    fn value(&self, line: &Line, column: usize) -> Result<f32> {
        let field = line.fields[column].as_str();
        let place = || format!("line {}, column {}", line.number, self.label(column));
        if field.is_empty() {
            bail!(
                "{}: the value is missing; fill it in, or take the line out",
                place()
            );
        }
        let Ok(value) = field.parse::<f64>() else {
            bail!(
                "{}: {:?} is no number; take the line out, or name another column",
                place(),
                clipped(field)
            );
        };
        let value = value as f32;
        if !value.is_finite() {
            bail!(
                "{}: {} is no finite number of 32 bits; take the line out",
                place(),
                clipped(field)
            );
        }
        Ok(value)
    }
}

fn column_of(text: &str, asked: Option<&str>) -> Result<Vec<f32>> {
    let table = Table::read(text)?;
    let column = match asked {
        Some(asked) => table.named(asked)?,
        None => table.only()?,
    };
    let lines = table.lines.iter();
    lines.map(|line| table.value(line, column)).collect()
}

fn is_number(field: &str) -> bool {
    field.parse::<f64>().is_ok()
}

fn columns(count: usize) -> String {
    match count {
        1 => "1 column".to_owned(),
        count => format!("{count} columns"),
    }
}

/// Counts lines up to places that come in their order. The reader's own count leaves
/// out empty lines.
struct LineCount<'t> {
    text: &'t str,
    at: usize,
    line: u64,
}

impl LineCount<'_> {
    /// The line of the record that begins at `start` or after empty lines there.
    fn line_at(&mut self, start: usize) -> u64 {
        let bytes = self.text.as_bytes();
        let is_empty = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let mut end = start.clamp(self.at, bytes.len());
        end += bytes[end..]
            .iter()
            .take_while(|byte| is_empty(byte))
            .count();
        let passed = bytes[self.at..end].iter().filter(|byte| **byte == b'\n');
        self.line += passed.count() as u64;
        self.at = end;
        self.line
    }
}

/// A field that fits a line.
fn clipped(field: &str) -> String {
    const MOST: usize = 40;
    match field.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &field[..end]),
        None => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn values(text: &str, column: Option<&str>) -> Vec<f32> {
        column_of(text, column).expect("a column of numbers")
    }

    fn refused(text: &str, column: Option<&str>) -> String {
        column_of(text, column)
            .expect_err("no column of numbers")
            .to_string()
    }

    const DAYS: &str = "day,city,temp,rain\n2024-01-01,Ulm,1.5,0\n2024-01-02,Ulm,-2,3e1\n";

    #[test]
    fn a_column_by_name_number_or_for_want_of_another() {
        assert_eq!(values(DAYS, Some("temp")), [1.5, -2.0]);
        assert_eq!(values(DAYS, Some("4")), [0.0, 30.0]);
        assert_eq!(values("1\n2\n\n3\n", None), [1.0, 2.0, 3.0]);
        assert_eq!(
            values("day,x\nMonday, 4 \r\nTuesday,5\r\n", None),
            [4.0, 5.0]
        );
        assert_eq!(values("Monday,4\nTuesday,5", None), [4.0, 5.0]);
        assert_eq!(values("\"a,b\";\n7\n", None), [7.0]);
        // A name that is a number is a name.
        assert_eq!(values("a,b\n1,2\n", Some("2")), [2.0]);
    }

    #[test]
    fn what_is_no_series_is_told_with_its_place() {
        assert_snapshot!(refused(DAYS, None), @"several of its columns hold numbers; name one, as in FILE.csv:3; they are: 3 (temp), 4 (rain)");
        assert_snapshot!(refused(DAYS, Some("snow")), @r#"there is no column "snow"; its columns are: 1 (day), 2 (city), 3 (temp), 4 (rain)"#);
        assert_snapshot!(refused(DAYS, Some("0")), @r#"there is no column "0"; its columns are: 1 (day), 2 (city), 3 (temp), 4 (rain)"#);
        assert_snapshot!(refused(DAYS, Some("city")), @r#"line 2, column 2 (city): "Ulm" is no number; take the line out, or name another column"#);
        assert_snapshot!(refused("x\n1\n\ntwo\n", None), @r#"line 4, column 1 (x): "two" is no number; take the line out, or name another column"#);
        assert_snapshot!(refused("t,x\na,1\nb,\n", None), @"line 3, column 2 (x): the value is missing; fill it in, or take the line out");
        assert_snapshot!(refused("1\nNaN\n", None), @"line 2, column 1: NaN is no finite number of 32 bits; take the line out");
        assert_snapshot!(refused("1\n1e39\n", None), @"line 2, column 1: 1e39 is no finite number of 32 bits; take the line out");
        assert_snapshot!(refused("a,b\n1,2\n3\n", None), @"line 3 has 1 column, line 1 has 2; give every line as many");
        assert_snapshot!(refused("a,b\nc,d\n", None), @"no column of it begins with a number; its columns are: 1 (a), 2 (b)");
        assert_snapshot!(refused("a,a\n1,2\n", Some("a")), @r#"several columns are called "a"; give its number, from 1 on"#);
        assert_snapshot!(refused("\n\n", None), @"it is empty");
        assert_snapshot!(refused("a,b\n", None), @"there is nothing below its header");
        let long = format!("1\n{}\n", "é".repeat(1000));
        assert!(refused(&long, None).chars().count() < 130);
    }

    #[test]
    fn a_file_with_any_byte_changed_is_a_column_or_one_line_of_why() {
        for at in 0..DAYS.len() {
            for byte in *b"\n\r,\"e-.\0\xff\xc3" {
                let mut bytes = DAYS.as_bytes().to_vec();
                bytes[at] = byte;
                for column in [None, Some("temp"), Some("3")] {
                    let read = text(&bytes).and_then(|text| column_of(text, column));
                    match read {
                        Ok(values) => assert!(values.iter().all(|value| value.is_finite())),
                        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
                    }
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_told_with_their_line() {
        let said = text(b"1\n2\nGr\xf6\xdfe\n")
            .expect_err("Latin-1")
            .to_string();
        assert_snapshot!(said, @"line 3 is not UTF-8; save the file as UTF-8");
        assert_eq!(text("\u{feff}1\n".as_bytes()).ok(), Some("1\n"));
    }

    #[test]
    fn a_column_is_after_the_last_colon_unless_it_is_in_the_name() {
        assert_eq!(parts("no/such.csv"), ("no/such.csv", None));
        assert_eq!(parts("no/such.csv:x"), ("no/such.csv", Some("x")));
        assert_eq!(parts("no/such.csv:a:b"), ("no/such.csv:a", Some("b")));
        assert_eq!(parts("C:\\such.csv"), ("C:\\such.csv", None));
        assert_eq!(parts("C:\\such.csv:2"), ("C:\\such.csv", Some("2")));
    }
}
