//! A profile as text, one format per file.

use std::io::Write;

use anyhow::Result;
use breakeven::hardware::AbsentBackend;
use breakeven::suite::DEFAULT_BUDGETS_US;
use breakeven_judge::{Budget, Limits, Overview, Standing, Thresholds, overview};
use breakeven_profile::profile::Profile;

use crate::args::Format;

mod csv;
pub(crate) mod devices;
mod environment;
mod json;
mod markdown;
mod table;
mod text;
mod verdicts;

/// Everything that is printed about a profile.
pub(crate) struct Report {
    pub(crate) profile: Profile,
    pub(crate) overview: Overview,
    pub(crate) thresholds: Thresholds,
    /// Backends without a device here; empty for a profile from elsewhere.
    pub(crate) absent: Vec<AbsentBackend>,
    /// What went wrong beside the operations.
    pub(crate) notes: Vec<String>,
}

impl Report {
    /// Judges a profile by the limits given, else by the suite's own.
    pub(crate) fn new(
        profile: Profile,
        limits: Option<Limits>,
        absent: Vec<AbsentBackend>,
        notes: Vec<String>,
    ) -> Self {
        let limits = limits.unwrap_or_else(|| default_limits(&profile));
        Self {
            overview: overview(&profile, &limits),
            profile,
            thresholds: limits.thresholds,
            absent,
            notes,
        }
    }

    pub(crate) fn is_over_budget(&self) -> bool {
        let mut budgets = self.overview.rows.iter().filter_map(|row| row.budget);
        budgets.any(|(_, standing)| standing == Standing::Over)
    }

    /// The id of a device, said to be software where it is a GPU and is.
    fn label(&self, device: &str) -> String {
        let software = self
            .profile
            .gpu(device)
            .is_some_and(|gpu| gpu.is_software());
        device_label(device, software)
    }
}

/// The id of a device; a GPU that is a program on the CPU is always named so.
pub(crate) fn device_label(device: &str, software_gpu: bool) -> String {
    if software_gpu {
        format!("{device} (software)")
    } else {
        device.to_owned()
    }
}

/// The suite's budgets: they are for discrete GPUs only.
fn default_limits(profile: &Profile) -> Limits {
    let discrete = profile
        .environment
        .gpus
        .iter()
        .filter(|gpu| gpu.kind.as_deref() == Some("discrete"));
    let budgets = discrete
        .flat_map(|gpu| {
            DEFAULT_BUDGETS_US.iter().map(|(operation, us)| Budget {
                operation: (*operation).to_owned(),
                device: Some(gpu.id.clone()),
                max_ns: *us as f64 * 1e3,
            })
        })
        .collect();
    Limits {
        budgets,
        thresholds: Thresholds::default(),
    }
}

/// Prints a report.
pub(crate) fn write(report: &Report, format: Format, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Table => {
            environment::write(report, out)?;
            table::write(report, out)?;
            verdicts::write(report, out)?;
        }
        Format::Json => json::write(report, out)?,
        Format::Markdown => markdown::write(report, out)?,
        Format::Csv => csv::write(report, out)?,
    }
    out.flush()?;
    Ok(())
}
