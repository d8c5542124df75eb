//! A profile as text, one format per file.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use crate::suite::{Workload, default_budgets_us};
use anyhow::Result;
use breakeven::hardware::AbsentBackend;
use breakeven_judge::{Budget, Limits, Overview, Standing, Thresholds, overview};
use breakeven_profile::profile::Profile;

use self::forecast::Forecast;
use crate::args::Format;
use crate::exit::Exit;

pub(crate) mod advice;
pub(crate) mod compare;
mod csv;
pub(crate) mod devices;
mod environment;
mod executions;
pub(crate) mod forecast;
mod json;
mod markdown;
pub(crate) mod plan;
pub(crate) mod sweep;
mod table;
pub(crate) mod text;
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
    /// What is worth knowing beside it.
    pub(crate) remarks: Vec<String>,
    /// What comes after the user's series.
    pub(crate) forecast: Option<Forecast>,
    /// Budgets of the user's that nothing was held against.
    pub(crate) unmatched: Vec<String>,
    /// How a gate ends for their sake.
    exit_of_unmatched: Exit,
    /// True where the user gave the budgets.
    budgets_given: bool,
    /// Names of operations of which the profile has several sizes.
    sized: HashSet<String>,
}

impl Report {
    /// Judges a profile by the limits given, else by the suite's own.
    pub(crate) fn new(
        mut profile: Profile,
        limits: Option<Limits>,
        absent: Vec<AbsentBackend>,
        notes: Vec<String>,
    ) -> Self {
        for_display(&mut profile);
        let budgets_given = limits.is_some();
        let limits = limits.unwrap_or_else(|| default_limits(&profile));
        let mut unmatched = limits.unmatched(&profile);
        if !budgets_given {
            // The suite's own are for whatever of it was measured.
            unmatched.clear();
        }
        // An operation without samples failed; one that is not there is a wrong name.
        let failed = |budget: &&Budget| profile.operations.iter().any(|each| budget.is_for(each));
        let exit_of_unmatched = match unmatched.as_slice() {
            [] => Exit::Done,
            all if all.iter().all(failed) => Exit::Failed,
            _ => Exit::WrongUse,
        };
        let unmatched = unmatched.iter().map(ToString::to_string).collect();
        Self {
            unmatched,
            exit_of_unmatched,
            budgets_given,
            sized: sized(&profile),
            overview: overview(&profile, &limits),
            profile,
            thresholds: limits.thresholds,
            absent,
            notes,
            remarks: Vec::new(),
            forecast: None,
        }
    }

    /// How a command that measured ends.
    pub(crate) fn exit(&self) -> Exit {
        let mut rows = self.overview.rows.iter();
        if !self.notes.is_empty() || rows.any(|row| row.failure.is_some()) {
            return Exit::Failed;
        }
        self.exit_of_budgets()
    }

    /// How a gate ends: never well on a budget that holds nothing.
    pub(crate) fn exit_of_budgets(&self) -> Exit {
        let mut held = self.overview.rows.iter().filter_map(|row| row.budget);
        if self.budgets_given && held.any(|held| held.standing == Standing::Over) {
            Exit::Failed
        } else {
            self.exit_of_unmatched
        }
    }

    /// An operation's name, with its size where the profile has several.
    fn operation(&self, name: &str, size: Option<u64>) -> String {
        match size.filter(|_| self.sized.contains(name)) {
            Some(size) => format!("{name} (size {size})"),
            None => name.to_owned(),
        }
    }

    /// An operation and its device.
    fn who(&self, name: &str, size: Option<u64>, device: &str) -> String {
        format!("{} on {}", self.operation(name, size), self.label(device))
    }

    /// The id of a device, said to be software where it is a GPU and is.
    fn label(&self, device: &str) -> String {
        device_label(device, self.profile.is_software_gpu(device))
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

fn sized(profile: &Profile) -> HashSet<String> {
    let mut first: HashMap<&str, Option<u64>> = HashMap::new();
    let several = profile.operations.iter().filter(|operation| {
        let size = first.entry(&operation.name).or_insert(operation.size);
        *size != operation.size
    });
    several.map(|operation| operation.name.clone()).collect()
}

/// The suite's budgets: for discrete GPUs, and for the default sizes.
fn default_limits(profile: &Profile) -> Limits {
    let discrete = profile
        .environment
        .gpus
        .iter()
        .filter(|gpu| gpu.kind.as_deref() == Some("discrete"));
    let budgets = discrete
        .flat_map(|gpu| {
            default_budgets_us().map(|(operation, us)| Budget {
                operation: operation.to_owned(),
                device: Some(gpu.id.clone()),
                size: Workload::new(operation, 1)
                    .ok()
                    .map(|workload| workload.size()),
                max_ns: us as f64 * 1e3,
            })
        })
        .collect();
    Limits {
        budgets,
        ..Limits::default()
    }
}

/// Takes out of a profile's texts what a terminal would obey.
pub(crate) fn for_display(profile: &mut Profile) {
    let environment = &mut profile.environment;
    let mut texts: Vec<&mut String> = Vec::new();
    texts.extend(profile.created.as_mut());
    texts.extend(profile.generator.as_mut());
    texts.extend(environment.revision.as_mut());
    texts.extend(environment.build_profile.as_mut());
    texts.extend(environment.host.as_mut());
    texts.extend(environment.cpu.as_mut().and_then(|cpu| cpu.model.as_mut()));
    texts.extend(environment.clock.as_mut().map(|clock| &mut clock.source));
    for gpu in &mut environment.gpus {
        texts.push(&mut gpu.id);
        let others = [
            &mut gpu.name,
            &mut gpu.kind,
            &mut gpu.backend,
            &mut gpu.driver,
        ];
        texts.extend(others.into_iter().flatten());
    }
    texts.extend(
        profile
            .evidence
            .peaks
            .iter_mut()
            .map(|peak| &mut peak.device),
    );
    for found in &mut profile.evidence.break_even {
        texts.extend([&mut found.operation, &mut found.device, &mut found.over]);
    }
    // Names that belong together stay equal.
    for stack in &mut profile.stacks {
        texts.extend(&mut stack.frames);
    }
    for event in profile
        .timeline
        .iter_mut()
        .flat_map(|timeline| &mut timeline.events)
    {
        texts.push(&mut event.name);
        texts.extend(event.device.as_mut());
    }
    for operation in &mut profile.operations {
        texts.extend([&mut operation.name, &mut operation.device]);
        texts.extend(operation.workload.as_mut());
        if let Some(failure) = &mut operation.failure {
            texts.extend([&mut failure.kind, &mut failure.message]);
        }
    }
    texts.into_iter().for_each(text::shown);
}

/// Prints a report; what a format has no room for goes to `err`. A reader that
/// has gone stops the printing and nothing else.
pub(crate) fn write(
    report: &Report,
    format: Format,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<()> {
    let printed = match format {
        Format::Table => environment::write(report, out)
            .and_then(|()| table::write(report, out))
            .and_then(|()| executions::write(report, out))
            .and_then(|()| forecast::write(report, out))
            .and_then(|()| verdicts::write(report, out)),
        Format::Json => json::write(report, out),
        Format::Markdown => markdown::write(report, out),
        Format::Csv => csv::write(report, out),
    };
    unless_closed(printed.and_then(|()| Ok(out.flush()?)))?;
    // Nobody may be left to tell.
    for note in report.notes.iter().filter(|_| format == Format::Csv) {
        let _ = writeln!(err, "{note}");
    }
    for budget in &report.unmatched {
        let _ = writeln!(
            err,
            "error: the budget of {budget} holds nothing: no such operation has samples"
        );
    }
    Ok(())
}

/// What printing came to, where a reader that has gone is no error.
pub(crate) fn unless_closed(printed: Result<()>) -> Result<()> {
    match printed {
        Err(error) if !error.chain().any(is_closed_pipe) => Err(error),
        _ => Ok(()),
    }
}

/// True for a write to a pipe that nobody reads, however it is wrapped.
pub(crate) fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let kind = if let Some(io) = error.downcast_ref::<std::io::Error>() {
        Some(io.kind())
    } else if let Some(json) = error.downcast_ref::<serde_json::Error>() {
        json.io_error_kind()
    } else if let Some(csv) = error.downcast_ref::<::csv::Error>() {
        match csv.kind() {
            ::csv::ErrorKind::Io(io) => Some(io.kind()),
            _ => None,
        }
    } else {
        None
    };
    kind == Some(std::io::ErrorKind::BrokenPipe)
}
