//! The formats of the output: one row each, which names its writer.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use breakeven_judge::Compared;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::{github, json, junit, page};
use crate::values::by_extension;

/// A format of the output.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) name: &'static str,
    about: &'static str,
    pub(crate) write: Writer,
}

type Writer = fn(&Compared, &mut dyn Write) -> Result<()>;

/// The default is first.
pub(crate) static FORMATS: &[Format] = &[
    row("table", "A table, as wide as the terminal", page::table),
    row("json", "JSON with all figures", json::write),
    row("markdown", "For a report or a CI summary", page::markdown),
    row(
        "github",
        "For GitHub Actions: annotations of the pull request",
        github::write,
    ),
    row("junit", "For CI systems that display tests", junit::write),
];

const fn row(name: &'static str, about: &'static str, write: Writer) -> Format {
    Format { name, about, write }
}

impl Format {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// The format that a file's name stands for.
    pub(crate) fn of(path: &Path) -> Option<&'static Self> {
        let ends = [("json", "json"), ("md", "markdown"), ("xml", "junit")];
        Self::named(by_extension(path, &ends)?)
    }
}

/// Reads a format's name.
pub(crate) fn parser() -> impl TypedValueParser<Value = &'static Format> {
    let values = FORMATS.iter();
    let values = values.map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(values).map(|name| Format::named(&name).unwrap_or(&FORMATS[0]))
}
