//! `breakeven compare --accept`: makes the current side the baseline.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use breakeven_judge::compare::FEWEST_RUNS;
use breakeven_judge::page::clean;
use breakeven_judge::page::figures::plural;
use breakeven_judge::{CompareError, OperationComparison};
use breakeven_profile::file;
use breakeven_profile::profile::{Profile, Run};

/// The file that becomes the baseline.
pub(super) struct Accepted<'a>(&'a Path);

impl<'a> Accepted<'a> {
    /// # Errors
    ///
    /// If the baseline is several files, or one that cannot be written.
    pub(super) fn at(baseline: &'a [PathBuf]) -> Result<Self> {
        let [path] = baseline else {
            bail!("--accept replaces one file; name one baseline");
        };
        file::check_writable(path)?;
        Ok(Self(path))
    }

    /// The baseline up to now, none if the file does not exist. Another tool's file is an error,
    /// because it would be overwritten.
    pub(super) fn before(&self) -> Result<Option<Profile>> {
        let exists = self.0.try_exists()?;
        let read = exists.then(|| file::read(self.0)).transpose();
        let tool = || breakeven_import::read(self.0, &<_>::default()).ok()?.format;
        if read.is_err()
            && let Some(tool) = tool()
        {
            let (name, tool) = (self.0.display(), tool.name());
            bail!(
                "--accept writes breakeven profiles, and {name} is a file of {tool}; name another"
            );
        }
        Ok(read?)
    }

    /// The error text if the sides cannot be compared.
    pub(super) fn refusal(&self, error: CompareError) -> anyhow::Error {
        let name = self.0.display();
        let stays = format!("{name}: stays the baseline; delete it to begin anew, or name another");
        anyhow::Error::new(error).context(stays)
    }

    /// Warns if the new baseline has fewer runs of an operation than the old one, or than a verdict
    /// needs.
    pub(super) fn warn(
        &self,
        current: &Profile,
        compared: &[OperationComparison],
        err: &mut dyn Write,
    ) {
        let fewer = compared
            .iter()
            .filter(|each| (1..each.baseline_runs).contains(&each.current_runs))
            .max_by_key(|each| each.baseline_runs - each.current_runs);
        let fewest = current.operations.iter().map(|each| each.runs.len()).min();
        let why = match (fewer, fewest) {
            (Some(each), _) => format!(
                "its {} runs are replaced by {}: a comparison with fewer runs finds fewer \
                 changes; measure as many",
                each.baseline_runs, each.current_runs
            ),
            (None, Some(runs @ ..FEWEST_RUNS)) => format!(
                "a baseline of {}: a verdict needs {FEWEST_RUNS} runs per side; five or more \
                 are better",
                plural(runs as u64, "run")
            ),
            _ => return,
        };
        let said = format!("warning: {}: {why}", self.0.display());
        // The reader of stderr may be gone.
        let _ = writeln!(err, "{}", clean(&said));
    }

    /// Makes these runs the baseline.
    pub(super) fn write(&self, current: &Profile, out: &mut dyn Write) -> Result<()> {
        file::write(current, self.0)?;
        said(self.0, out)
    }
}

/// Joins the runs of the current side, if they can be a baseline.
pub(super) fn joined(current: Vec<Profile>) -> Result<Profile> {
    let current = Profile::join(current)?;
    check(&current)?;
    Ok(current)
}

fn said(path: &Path, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "\n{}: written", path.display())?;
    Ok(out.flush()?)
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
        if operation.runs.iter().any(is_zero) {
            bail!(
                "{key}: a run has a median of 0 ns, so nothing could be compared with it; \
                 measure more work in a call"
            );
        }
    }
    Ok(())
}

fn is_zero(run: &Run) -> bool {
    let zeros = run.samples_ns.iter().filter(|ns| **ns == 0.0).count();
    2 * zeros > run.samples_ns.len()
}
