//! `breakeven compare --accept`: makes the current side the baseline.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use breakeven_judge::Outcome;
use breakeven_judge::compare::FEWEST_RUNS;
use breakeven_judge::page::clean;
use breakeven_judge::page::figures::plural;
use breakeven_profile::file;
use breakeven_profile::profile::Profile;

/// The baseline up to now, which is one file; none if it does not exist.
pub(super) fn before(baseline: &[PathBuf]) -> Result<Vec<Profile>> {
    let [path] = baseline else {
        bail!("--accept replaces one file; name one baseline");
    };
    file::check_writable(path)?;
    Ok(match path.try_exists()? {
        // Another tool's file is an error, because it would be overwritten.
        true => vec![file::read(path)?],
        false => Vec::new(),
    })
}

/// Joins the runs of the current side, if they can be a baseline.
pub(super) fn joined(current: Vec<Profile>) -> Result<Profile> {
    let current = Profile::join(current)?;
    check(&current)?;
    Ok(current)
}

/// Makes these runs the baseline, and warns if they are fewer than a verdict needs.
pub(super) fn write(
    path: &Path,
    current: &Profile,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Outcome> {
    let fewest = current.operations.iter().map(|each| each.runs.len()).min();
    if let Some(runs @ ..FEWEST_RUNS) = fewest {
        let runs = plural(runs as u64, "run");
        let said = format!(
            "warning: {}: a baseline of {runs}: a verdict needs {FEWEST_RUNS} runs per side; five \
             or more are better",
            path.display()
        );
        // The reader of stderr may be gone.
        let _ = writeln!(err, "{}", clean(&said));
    }
    file::write(current, path)?;
    writeln!(out, "\n{}: written", path.display())?;
    out.flush()?;
    Ok(Outcome::Passed)
}

/// Refuses a profile that later runs could not be compared with.
fn check(current: &Profile) -> Result<()> {
    if current.operations.is_empty() {
        bail!("there are no operations in it; measure before accepting");
    }
    if current.interrupted {
        bail!("measuring was interrupted; measure again before accepting");
    }
    for operation in &current.operations {
        let key = operation.key();
        if let Some(failure) = &operation.failure {
            bail!("{key} failed: {failure}; a baseline needs it measured");
        }
        if operation.samples_ns().next().is_none() {
            bail!("{key} has no samples; a baseline needs it measured");
        }
    }
    Ok(())
}
