//! What the columns of a table are.

use std::str::FromStr;

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

/// Why a text names no columns.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnsError {
    /// A part is not of the form `name=COLUMN`.
    #[error("\"{0}\" is not of the form time=COLUMN")]
    Form(String),
    /// There is no such thing to name a column for.
    #[error("\"{0}\" is not known; there are name, time, unit, run, device and size")]
    Unknown(String),
    /// A column is named twice for the same.
    #[error("{0}= occurs twice; keep one")]
    Twice(&'static str),
    /// A column that must be named is not.
    #[error("{0}= is missing; name its column, as in name=benchmark,time=mean,unit=ms")]
    Missing(&'static str),
}

/// The words, those that must be there first.
const WORDS: [&str; 6] = ["name", "time", "unit", "run", "device", "size"];

impl FromStr for Columns {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<Self, ColumnsError> {
        let mut named: [Option<String>; 6] = Default::default();
        for part in text.split(',').map(str::trim) {
            let form = || ColumnsError::Form(part.to_owned());
            let (word, column) = part.split_once('=').ok_or_else(form)?;
            let (word, column) = (word.trim(), column.trim());
            let unknown = || ColumnsError::Unknown(word.to_owned());
            let at = WORDS.iter().position(|known| *known == word);
            let at = at.ok_or_else(unknown)?;
            if column.is_empty() {
                return Err(form());
            }
            if named[at].replace(column.to_owned()).is_some() {
                return Err(ColumnsError::Twice(WORDS[at]));
            }
        }
        let [name, time, unit, run, device, size] = named;
        Ok(Self {
            name: name.ok_or(ColumnsError::Missing("name"))?,
            time: time.ok_or(ColumnsError::Missing("time"))?,
            unit,
            run,
            device,
            size,
        })
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
