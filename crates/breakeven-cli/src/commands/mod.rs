//! One command per file.

use std::path::Path;

use anyhow::{Context, Result};
use breakeven_judge::Limits;

pub(crate) mod ab;
pub(crate) mod accept;
pub(crate) mod advise;
pub(crate) mod compare;
pub(crate) mod describe;
pub(crate) mod devices;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod history;
pub(crate) mod import;
mod input;
pub(crate) mod monitor;
pub(crate) mod plan;
pub(crate) mod profile;
pub(crate) mod report;
#[cfg(unix)]
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod sweep;
pub(crate) mod tune;

/// The limits of a budget file.
fn limits(path: Option<&Path>) -> Result<Option<Limits>> {
    let Some(path) = path else { return Ok(None) };
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the budget file {name}"))?;
    let limits = Limits::from_toml(&text).with_context(|| format!("budget file {name}"))?;
    Ok(Some(limits))
}
