//! The user's series, as the forecast takes it: a column of a CSV file.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use csv::{ErrorKind, Position, StringRecord, Trim};

/// Reads `FILE.csv` or `FILE.csv:column`: the column of that name or number,
/// counted from 1, else the only one that holds numbers.
pub(crate) fn read(asked: &str, separator: u8) -> Result<Vec<f32>> {
    let (path, column) = parts(asked);
    let unreadable = |why: String| anyhow!("cannot read the series {path}: {why}");
    let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    column_of(&bytes, separator, column).map_err(|error| unreadable(error.to_string()))
}

/// The file and the column. A colon may be in the name of either: what is before the
/// last one up to which there is such a file is the file's.
fn parts(asked: &str) -> (&str, Option<&str>) {
    if Path::new(asked).exists() {
        return (asked, None);
    }
    let is_file = |path: &str| Path::new(path).exists() && !Path::new(path).is_dir();
    let mut splits = asked.rmatch_indices(':').map(|(at, _)| asked.split_at(at));
    if let Some((path, column)) = splits.find(|(path, _)| is_file(path)) {
        return (path, column.strip_prefix(':'));
    }
    match asked.rsplit_once(':') {
        Some((path, column)) if !path.is_empty() && !column.contains(['/', '\\']) => {
            (path, Some(column))
        }
        _ => (asked, None),
    }
}

fn column_of(bytes: &[u8], separator: u8, asked: Option<&str>) -> Result<Vec<f32>> {
    // Spreadsheets begin a file with a mark.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(separator)
        .trim(Trim::All)
        .from_reader(bytes);
    let records: Result<Vec<StringRecord>, csv::Error> = reader.records().collect();
    let mut records = records.map_err(|error| refused(bytes, &error))?;
    if records.is_empty() {
        bail!("it is empty");
    }
    let names = is_header(&records, asked).then(|| records.remove(0));
    if records.is_empty() {
        bail!("there is nothing below its header");
    }
    let table = Table {
        bytes,
        names,
        records,
    };
    let column = match asked {
        Some(asked) => table.named(asked)?,
        None => table.only()?,
    };
    table.values(column)
}

/// What the reader says, in our words.
fn refused(bytes: &[u8], error: &csv::Error) -> anyhow::Error {
    let (line, _) = place(bytes, error.position());
    match error.kind() {
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => anyhow!(
            "line {line} has {len} column(s), those above have {expected_len}; give every line \
             the same number, and --separator if it is not a comma"
        ),
        ErrorKind::Utf8 { .. } => anyhow!("line {line} is not UTF-8; save the file as UTF-8"),
        _ => anyhow!("{error}"),
    }
}

/// The line of a record, and how many empty lines the reader passed over before it: its
/// own position is before those.
fn place(bytes: &[u8], position: Option<&Position>) -> (u64, u64) {
    let Some(position) = position else {
        return (0, 0);
    };
    let at = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let (read, mut rest) = bytes.split_at(at.min(bytes.len()));
    if read.ends_with(b"\r") {
        // The other half of the last line's end.
        rest = rest.strip_prefix(b"\n").unwrap_or(rest);
    }
    let ends = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    let empty = ends.filter(|byte| **byte == b'\n').count() as u64;
    (position.line() + empty, empty)
}

/// Lines of one length, and what their columns are called.
struct Table<'t> {
    bytes: &'t [u8],
    names: Option<StringRecord>,
    records: Vec<StringRecord>,
}

impl Table<'_> {
    fn width(&self) -> usize {
        self.records[0].len()
    }

    /// A column as people are told of it: its number, and its name where it has one.
    fn label(&self, column: usize) -> String {
        let name = self.names.as_ref().map_or("", |names| &names[column]);
        match name {
            "" => (column + 1).to_string(),
            name => format!("{} ({})", column + 1, clipped(name).escape_debug()),
        }
    }

    fn labels(&self, columns: impl IntoIterator<Item = usize>) -> String {
        let labels: Vec<String> = columns.into_iter().map(|at| self.label(at)).collect();
        labels.join(", ")
    }

    /// What there is to choose from.
    fn all(&self) -> String {
        let labels = self.labels(0..self.width());
        format!("its columns are: {labels} (--separator says what is between them)")
    }

    /// The column that was asked for. A name comes before a number.
    fn named(&self, asked: &str) -> Result<usize> {
        let names = self.names.iter().flatten().enumerate();
        let mut named = names.filter(|(_, name)| *name == asked);
        match (named.next(), named.next()) {
            (Some((column, _)), None) => Ok(column),
            (None, _) => column_number(asked, self.width())
                .ok_or_else(|| anyhow!("there is no column {asked:?}; {}", self.all())),
            _ => bail!("several columns are called {asked:?}; give its number, from 1 on"),
        }
    }

    /// The one column of numbers: those whose first value is one.
    fn only(&self) -> Result<usize> {
        let is_numeric = |column: &usize| {
            let mut fields = self.records.iter().map(|record| &record[*column]);
            let first = fields.find(|field| !field.is_empty());
            first.is_some_and(is_number)
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

    fn values(&self, column: usize) -> Result<Vec<f32>> {
        let mut values = Vec::with_capacity(self.records.len());
        for record in &self.records {
            let (line, empty) = place(self.bytes, record.position());
            // An empty line of a single column is a value that is not there.
            let is_below = !values.is_empty() || self.names.is_some();
            if empty > 0 && self.width() == 1 && is_below {
                bail!("line {}: {MISSING}", line - empty);
            }
            let label = || self.label(column);
            values.push(
                value(&record[column])
                    .map_err(|why| anyhow!("line {line}, column {}: {why}", label()))?,
            );
        }
        Ok(values)
    }
}

/// What is said of a value that is not there.
const MISSING: &str = "the value is missing; fill it in, or remove the line";

fn value(field: &str) -> Result<f32, String> {
    if field.is_empty() {
        return Err(MISSING.to_owned());
    }
    let said = clipped(field);
    match field.parse::<f64>() {
        Ok(value) if (value as f32).is_finite() => Ok(value as f32),
        Ok(_) => Err(format!(
            "{said} is not a finite 32-bit number; remove the line"
        )),
        Err(_) if is_number(field) => Err(format!(
            "{said:?} is not a number; write a decimal point, not a comma"
        )),
        Err(_) => Err(format!(
            "{said:?} is not a number; remove the line, or name another column"
        )),
    }
}

/// Whether the first line names the columns: where none of it is a number, where text
/// is above a number, or where what is asked for is in it and can be no column's number.
fn is_header(records: &[StringRecord], asked: Option<&str>) -> bool {
    let first = &records[0];
    let is_above_a_number = |(column, name): (usize, &str)| {
        let below = records.get(1).and_then(|record| record.get(column));
        !name.is_empty() && !is_number(name) && below.is_some_and(is_number)
    };
    let is_asked = |asked: &str| {
        first.iter().any(|name| name == asked) && column_number(asked, first.len()).is_none()
    };
    !first.iter().any(is_number)
        || first.iter().enumerate().any(is_above_a_number)
        || asked.is_some_and(is_asked)
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

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn values(text: &str, column: Option<&str>) -> Vec<f32> {
        column_of(text.as_bytes(), b',', column).expect("a column of numbers")
    }

    fn refused(text: &str, column: Option<&str>) -> String {
        let read = column_of(text.as_bytes(), b',', column);
        read.expect_err("no column of numbers").to_string()
    }

    const DAYS: &str = "day,city,temp,rain\n2024-01-01,Ulm,1.5,0\n2024-01-02,Ulm,-2,3e1\n";

    #[test]
    fn a_column_by_name_number_or_for_want_of_another() {
        assert_eq!(values(DAYS, Some("temp")), [1.5, -2.0]);
        assert_eq!(values(DAYS, Some("4")), [0.0, 30.0]);
        assert_eq!(
            values("\u{feff}day,x\nMonday, 4 \r\nTuesday,5\r\n", None),
            [4.0, 5.0]
        );
        assert_eq!(values("Monday,4\nTuesday,5", None), [4.0, 5.0]);
        assert_eq!(values("\"a,b\"\n7\n", None), [7.0]);
        // A name that is a number is a name; a year is one above numbers.
        assert_eq!(values("a,b\n1,2\n", Some("2")), [2.0]);
        assert_eq!(values("id,2019\n1,5\n2,6\n", Some("2019")), [5.0, 6.0]);
        assert_eq!(values("id,2019\n1,5\n2,6\n", Some("2")), [5.0, 6.0]);
        assert_eq!(
            values("country,2019\nde,5\nfr,6\n", Some("2019")),
            [5.0, 6.0]
        );
        assert_eq!(values("2024-01-01,5.3\n2024-01-02,6\n", None), [5.3, 6.0]);
    }

    #[test]
    fn the_separator_is_the_users() {
        let with = |text: &str, separator| column_of(text.as_bytes(), separator, None);
        assert_eq!(with("day;x\nMonday, 1st;4\n", b';').unwrap(), [4.0]);
        assert_eq!(with("day\tx\nMonday\t4\n", b'\t').unwrap(), [4.0]);
        assert_snapshot!(with("day;temp\n1.1.;2,5\n", b';').unwrap_err(), @r#"
        line 2, column 2 (temp): "2,5" is not a number; write a decimal point, not a comma
        "#);
        assert_snapshot!(refused("day;temp\nMonday;4\n", None), @"no column of it begins with a number; its columns are: 1 (day;temp) (--separator says what is between them)");
        assert_snapshot!(refused("a;b\n1,5;2\n", None), @"line 2 has 2 column(s), those above have 1; give every line the same number, and --separator if it is not a comma");
    }

    #[test]
    fn what_is_no_series_is_told_with_its_place() {
        assert_snapshot!(refused(DAYS, None), @"several of its columns hold numbers; name one, as in FILE.csv:3; they are: 3 (temp), 4 (rain)");
        assert_snapshot!(refused(DAYS, Some("snow")), @r#"
        there is no column "snow"; its columns are: 1 (day), 2 (city), 3 (temp), 4 (rain) (--separator says what is between them)
        "#);
        assert_snapshot!(refused(DAYS, Some("0")), @r#"
        there is no column "0"; its columns are: 1 (day), 2 (city), 3 (temp), 4 (rain) (--separator says what is between them)
        "#);
        assert_snapshot!(refused(DAYS, Some("city")), @r#"
        line 2, column 2 (city): "Ulm" is not a number; remove the line, or name another column
        "#);
        assert_snapshot!(refused("x\n1\n2\ntwo\n", None), @r#"
        line 4, column 1 (x): "two" is not a number; remove the line, or name another column
        "#);
        assert_snapshot!(refused("t,x\na,1\nb,\n", None), @"line 3, column 2 (x): the value is missing; fill it in, or remove the line");
        assert_snapshot!(refused("1\n2\n\n3\n", None), @"line 3: the value is missing; fill it in, or remove the line");
        assert_snapshot!(refused("1\nNaN\n", None), @"line 2, column 1: NaN is not a finite 32-bit number; remove the line");
        assert_snapshot!(refused("1\n1e39\n", None), @"line 2, column 1: 1e39 is not a finite 32-bit number; remove the line");
        assert_snapshot!(refused("a,b\n1,2\n3\n", None), @"line 3 has 1 column(s), those above have 2; give every line the same number, and --separator if it is not a comma");
        assert_snapshot!(refused("a,b\nc,d\n", None), @"no column of it begins with a number; its columns are: 1 (a), 2 (b) (--separator says what is between them)");
        assert_snapshot!(refused("a,a\n1,2\n", Some("a")), @r#"
        several columns are called "a"; give its number, from 1 on
        "#);
        assert_snapshot!(refused("\n\n", None), @"it is empty");
        assert_snapshot!(refused("a,b\n", None), @"there is nothing below its header");
        let latin = column_of(b"1\n2\nGr\xf6\xdfe\n", b',', None);
        assert_snapshot!(latin.unwrap_err(), @"line 3 is not UTF-8; save the file as UTF-8");
        let long = format!("1\n{}\n", "é".repeat(1000));
        assert!(refused(&long, None).chars().count() < 130);
    }

    #[test]
    fn a_file_with_any_byte_changed_is_a_column_or_one_line_of_why() {
        let files = [DAYS, "x\n1\n22\n\n", "a,\"b\"\n1,\"2.5\"\n"];
        let places = files
            .iter()
            .flat_map(|file| (0..file.len()).map(move |at| (file, at)));
        for (file, at) in places {
            for byte in *b"\n\r,;\t\" e-.\0\xff\xc3" {
                let mut bytes = file.as_bytes().to_vec();
                bytes[at] = byte;
                for column in [None, Some("temp"), Some("3")] {
                    match column_of(&bytes, b',', column) {
                        Ok(values) => assert!(values.iter().all(|value| value.is_finite())),
                        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
                    }
                }
            }
        }
    }

    #[test]
    fn a_column_is_after_the_last_colon_of_a_file_or_of_all() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, "1\n").expect("a file");
            path.display().to_string()
        };
        let path = file("col.csv");
        for column in ["x", "speed (km/h)", "time:utc", "a\\b", "C:\\d", ""] {
            let asked = format!("{path}:{column}");
            assert_eq!(parts(&asked), (path.as_str(), Some(column)));
        }
        // The longest name of a file.
        #[cfg(unix)]
        {
            let longer = file("col.csv:time");
            assert_eq!(parts(&longer), (longer.as_str(), None));
            let asked = format!("{longer}:utc:x");
            assert_eq!(parts(&asked), (longer.as_str(), Some("utc:x")));
        }
        let folder = directory.path().display().to_string();
        let missing = format!("{folder}:a/b");
        assert_eq!(parts(&missing), (missing.as_str(), None));
        assert_eq!(parts("no/such.csv"), ("no/such.csv", None));
        assert_eq!(parts("no/such.csv:x"), ("no/such.csv", Some("x")));
        assert_eq!(parts("C:\\such.csv:2"), ("C:\\such.csv", Some("2")));
    }
}
