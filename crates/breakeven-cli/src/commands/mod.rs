//! One command per file.

use std::path::Path;

use anyhow::{Context, Result};
use breakeven_judge::Limits;

pub(crate) mod accept;
pub(crate) mod advise;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod describe;
pub(crate) mod history;
pub(crate) mod input;
pub(crate) mod report;
pub(crate) mod show;

/// The limits of a budget file.
pub(crate) fn limits(path: Option<&Path>) -> Result<Option<Limits>> {
    let Some(path) = path else { return Ok(None) };
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the budget file {name}"))?;
    let limits = Limits::from_toml(&text).with_context(|| format!("budget file {name}"))?;
    Ok(Some(limits))
}
