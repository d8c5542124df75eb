//! The user's series, as the forecast takes it: a column of a CSV file.

use std::path::Path;

use anyhow::{Result, anyhow};

use self::table::Table;

mod lines;
mod table;

/// Reads `FILE.csv` or `FILE.csv:column`: the column of that name or number,
/// counted from 1, else the only one that holds numbers.
pub(crate) fn read(asked: &str) -> Result<Vec<f32>> {
    let (path, column) = parts(asked);
    let unreadable = |why: String| anyhow!("cannot read the series {path}: {why}");
    let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    let text = text(&bytes).map_err(|error| unreadable(error.to_string()))?;
    column_of(text, column).map_err(|error| unreadable(error.to_string()))
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

fn text(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let lines = bytes[..error.valid_up_to()].iter();
        let line = 1 + lines.filter(|byte| **byte == b'\n').count();
        anyhow!("line {line} is not UTF-8; save the file as UTF-8")
    })?;
    // Spreadsheets begin a file with a mark.
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn column_of(text: &str, asked: Option<&str>) -> Result<Vec<f32>> {
    Table::read(text, asked)?.values(asked)
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
        let days = "day,x\nMonday, 4 \r\nTuesday,5\r\n";
        assert_eq!(values(days, None), [4.0, 5.0]);
        assert_eq!(values("Monday,4\nTuesday,5", None), [4.0, 5.0]);
        assert_eq!(values("\"a,b\"\n7\n", None), [7.0]);
        // A name that is a number is a name.
        assert_eq!(values("a,b\n1,2\n", Some("2")), [2.0]);
    }

    #[test]
    fn a_first_line_names_columns_or_is_one_of_them() {
        // Text above numbers; a year is a name there.
        assert_eq!(values("id,2019\n1,5\n2,6\n", Some("2019")), [5.0, 6.0]);
        assert_eq!(values("id,2019\n1,5\n2,6\n", Some("2")), [5.0, 6.0]);
        assert_eq!(values("a,2,3\n1,5,6\n", Some("2")), [5.0]);
        assert_eq!(values("a,3,2\n1,5,6\n", Some("2")), [6.0]);
        // Text above text, and a name that is no column's number.
        let years = "country,2019\nde,5\nfr,6\n";
        assert_eq!(values(years, Some("2019")), [5.0, 6.0]);
        // No names.
        assert_eq!(values("2024-01-01,5.3\n2024-01-02,6\n", None), [5.3, 6.0]);
        assert_eq!(values("a,2,3\nx,5,6\n", Some("2")), [2.0, 5.0]);
        assert_eq!(values("a1,4\n7,5\nb2,6\n", Some("2")), [4.0, 5.0, 6.0]);
        assert_eq!(values(",4\n7,5\n", Some("2")), [4.0, 5.0]);
        assert_snapshot!(refused("country,2019\nde,5\n", Some("2018")), @r#"there is no column "2018"; its columns, split at commas, are: 1, 2"#);
    }

    #[test]
    fn columns_are_split_at_what_the_first_line_has_most_of() {
        assert_eq!(values("\n \nday;\"a,b\"\nMonday;4\n", None), [4.0]);
        assert_eq!(values("day\tx\nMonday, 1st\t4\n", None), [4.0]);
        assert_eq!(values("\"a;b;c\",x\nMonday,4\n", None), [4.0]);
        assert_eq!(values("\"a\"\"b;c;\",x\nMonday,4\n", None), [4.0]);
        assert_eq!(values("5\" of; rain,x,y\nMonday,4,z\n", None), [4.0]);
        // As many: commas.
        assert_eq!(values("day;t,x\nMonday,4\n", None), [4.0]);
        assert_snapshot!(refused("day;temp\n1.1.;2,5\n", None), @r#"line 2, column 2 (temp): "2,5" is no number; write a decimal point, not a comma"#);
        assert_snapshot!(refused("day;temp\n1.1.;2\n2.1.;2,5\n", Some("temp")), @r#"line 3, column 2 (temp): "2,5" is no number; write a decimal point, not a comma"#);
        assert_snapshot!(refused("a;b\n1;2\n3\n", None), @"line 3 has 1 column, line 1 has 2, split at semicolons; give every line as many");
        assert_snapshot!(refused("day|temp\nMonday|4\n", None), @"no column of it begins with a number; its columns, split at commas, are: 1 (day|temp)");
        assert_snapshot!(refused("a\tb\n1\t2\n", Some("c")), @r#"there is no column "c"; its columns, split at tabs, are: 1 (a), 2 (b)"#);
    }

    #[test]
    fn an_empty_line_is_a_missing_value_of_the_only_column() {
        assert_snapshot!(refused("1\n2\n\n3\n", None), @"line 3: the value is missing; fill it in, or take the line out");
        assert_snapshot!(refused("1\r\n2\r\n \t\r\n\r\n3\r\n", None), @"line 3: the value is missing; fill it in, or take the line out");
        assert_snapshot!(refused("1\r2\r\r3\r", None), @"line 3: the value is missing; fill it in, or take the line out");
        assert_snapshot!(refused("x\n\n3\n", None), @"line 2: the value is missing; fill it in, or take the line out");
        assert_snapshot!(refused("1\n\"\"\n", None), @"line 2, column 1: the value is missing; fill it in, or take the line out");
        for end in ["", "\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\n \n", "\n\t"] {
            let text = format!("\n1\r\n2{end}");
            assert_eq!(values(&text, None), [1.0, 2.0], "{end:?}");
        }
        assert_eq!(values("\"a\n\nb\"\n1\n2\n", None), [1.0, 2.0]);
        assert_eq!(values("a,b\n\nx,1\n  \n\ny,2\n\n", None), [1.0, 2.0]);
    }

    #[test]
    fn what_is_no_series_is_told_with_its_place() {
        assert_snapshot!(refused(DAYS, None), @"several of its columns hold numbers; name one, as in FILE.csv:3; they are: 3 (temp), 4 (rain)");
        assert_snapshot!(refused(DAYS, Some("snow")), @r#"there is no column "snow"; its columns, split at commas, are: 1 (day), 2 (city), 3 (temp), 4 (rain)"#);
        assert_snapshot!(refused(DAYS, Some("0")), @r#"there is no column "0"; its columns, split at commas, are: 1 (day), 2 (city), 3 (temp), 4 (rain)"#);
        assert_snapshot!(refused(DAYS, Some("city")), @r#"line 2, column 2 (city): "Ulm" is no number; take the line out, or name another column"#);
        assert_snapshot!(refused("x\n1\n2\ntwo\n", None), @r#"line 4, column 1 (x): "two" is no number; take the line out, or name another column"#);
        assert_snapshot!(refused("t,x\na,1\nb,\n", None), @"line 3, column 2 (x): the value is missing; fill it in, or take the line out");
        assert_snapshot!(refused("1\nNaN\n", None), @"line 2, column 1: NaN is no finite number of 32 bits; take the line out");
        assert_snapshot!(refused("1\n1e39\n", None), @"line 2, column 1: 1e39 is no finite number of 32 bits; take the line out");
        assert_snapshot!(refused("a,b\n1,2\n3\n", None), @"line 3 has 1 column, line 1 has 2, split at commas; give every line as many");
        assert_snapshot!(refused("a,b\nc,d\n", None), @"no column of it begins with a number; its columns, split at commas, are: 1 (a), 2 (b)");
        assert_snapshot!(refused("a,a\n1,2\n", Some("a")), @r#"several columns are called "a"; give its number, from 1 on"#);
        assert_snapshot!(refused("\n\n", None), @"it is empty");
        assert_snapshot!(refused("a,b\n", None), @"there is nothing below its header");
        let long = format!("1\n{}\n", "é".repeat(1000));
        assert!(refused(&long, None).chars().count() < 130);
    }

    #[test]
    fn a_file_with_any_byte_changed_is_a_column_or_one_line_of_why() {
        let semicolons = DAYS.replace(',', ";").replace("1.5", "\"1.5\"");
        let files = [DAYS, semicolons.as_str(), "x\n1\n22\n\n"];
        let places = files
            .iter()
            .flat_map(|file| (0..file.len()).map(move |at| (file, at)));
        for (file, at) in places {
            for byte in *b"\n\r,;\t\" e-.\0\xff\xc3" {
                let mut bytes = file.as_bytes().to_vec();
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
        assert_eq!(parts("no/such.csv:a:b"), ("no/such.csv:a", Some("b")));
        assert_eq!(parts("C:\\such.csv"), ("C:\\such.csv", None));
        assert_eq!(parts("C:\\such.csv:2"), ("C:\\such.csv", Some("2")));
    }
}
