//! Comparison, gate and advice: `breakeven-judge` for Python.

use std::path::PathBuf;

use breakeven_judge::advise::ProfilerOptimizer;
use breakeven_judge::compare::{Metric, Options};
use breakeven_judge::gate::Policy;
use breakeven_judge::page::{Page, Text, Tone};
use breakeven_judge::{
    CompareError as Cause, Limits, Outcome, ProfilerComparison, Threshold, compare as judge, gate,
};
use breakeven_profile::profile::{Difference, Profile as Data};
use pyo3::prelude::*;

use crate::errors::{CompareError, FileError, InvalidError, ProfileError, file_error};
use crate::profile::{Printed, Profile, json, written};

/// A comparison. Python users see `breakeven.Comparison`.
#[pyclass(frozen, module = "breakeven._breakeven")]
pub(crate) struct Comparison(ProfilerComparison);

fn data(profiles: &[Py<Profile>]) -> Vec<Data> {
    let all = profiles.iter().map(|profile| &*profile.get().data);
    all.cloned().collect()
}

fn refused(cause: Cause) -> PyErr {
    match cause {
        Cause::Option { .. } => InvalidError::new_err(cause.to_string()),
        cause => CompareError::new_err(cause.to_string()),
    }
}

fn limits(budget: Option<PathBuf>) -> PyResult<Limits> {
    let Some(path) = budget else {
        return Ok(Limits::default());
    };
    let name = path.display();
    let text = std::fs::read_to_string(&path)
        .map_err(|error| FileError::new_err(format!("{name}: cannot be read: {error}")))?;
    let limits = Limits::from_toml(&text);
    limits.map_err(|error| ProfileError::new_err(format!("budget file {name}: {error}")))
}

/// Refuses a fraction that is not a valid threshold.
#[pyfunction]
pub(crate) fn check_threshold(fraction: f64) -> PyResult<()> {
    Threshold::fraction(fraction).map(drop).map_err(refused)
}

/// Compares two sides of profiles. The threshold is in percent if `percent`, else a fraction.
#[pyfunction]
#[pyo3(signature = (
    baseline, current, threshold, *, history, percent = false, metric = "time", alpha = 0.05,
    relative = false, plain_threshold = false, budget = None
))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub(crate) fn compare(
    py: Python<'_>,
    baseline: Vec<Py<Profile>>,
    current: Vec<Py<Profile>>,
    threshold: f64,
    history: Vec<Py<Profile>>,
    percent: bool,
    metric: &str,
    alpha: f64,
    relative: bool,
    plain_threshold: bool,
    budget: Option<PathBuf>,
) -> PyResult<Comparison> {
    let threshold = match percent {
        true => Threshold::percent(threshold),
        false => Threshold::fraction(threshold),
    };
    let options = Options {
        threshold: threshold.map_err(refused)?,
        alpha,
        history: data(&history),
        relative_to_common_shift: relative,
        plain_threshold,
        metric: Metric::from(metric),
        limits: limits(budget)?,
    };
    let (before, after) = (data(&baseline), data(&current));
    let compared = py.detach(|| judge(&before, &after, &options));
    compared.map(Comparison).map_err(refused)
}

/// The result of [`Comparison::gate`] for Python.
type Gate = (String, u8, Vec<String>, Vec<String>);

#[pymethods]
impl Comparison {
    /// The comparison as JSON.
    fn json(&self) -> PyResult<String> {
        json(&self.0)
    }

    /// The counts of the verdicts.
    fn summary(&self) -> PyResult<String> {
        json(&self.0.get_summary())
    }

    /// The counts in a line.
    fn summary_text(&self) -> String {
        self.0.get_summary().text()
    }

    /// The warnings in words.
    fn warnings(&self) -> Vec<String> {
        let warnings = self.0.warnings.iter().map(ToString::to_string);
        self.0.shift_text().into_iter().chain(warnings).collect()
    }

    /// The operations in the order of their weight: regressions first.
    fn by_weight(&self) -> PyResult<String> {
        json(&self.0.by_weight())
    }

    /// The gate: outcome, exit code, and a sentence for each reason and for each undecided
    /// operation that it accepts.
    fn gate(&self, strict: bool, allow_missing: bool, require_decided: bool) -> Gate {
        let verdict = gate(
            &self.0,
            Policy {
                allow_missing,
                require_decided,
                strict,
            },
        );
        let [reasons, undecided] = [&verdict.reasons, &verdict.undecided]
            .map(|all| all.iter().map(ToString::to_string).collect());
        let outcome = verdict.outcome;
        (outcome.to_string(), outcome.exit_code(), reasons, undecided)
    }

    /// The complete page, with the outcome of a gate if there was one, and the notes on the files.
    fn page(&self, gate: Option<Gate>, notes: Vec<String>) -> Printed {
        let comparison = &self.0;
        let mut page = Page::default();
        page.aside(comparison.how_text());
        page.blocks.extend(comparison.page().blocks);
        page.list(Text::new("Notes", Tone::Warning), notes);
        let summary = comparison.get_summary().text();
        match gate {
            None => page.heading(summary),
            Some((outcome, code, reasons, _)) => {
                page.list(Text::new("Not passed", Tone::Bad), reasons);
                let tone = match code {
                    code if code == Outcome::Passed.exit_code() => Tone::Good,
                    code if code == Outcome::Inconclusive.exit_code() => Tone::Warning,
                    _ => Tone::Bad,
                };
                page.heading(Text::new(format!("{summary}; gate {outcome}"), tone));
            }
        }
        Printed(page)
    }

    fn print_summary(&self) -> PyResult<String> {
        written(|out| self.0.print_summary(out))
    }

    fn print_regressions(&self, top_n: usize) -> PyResult<String> {
        written(|out| self.0.print_regressions(top_n, out))
    }

    fn print_improvements(&self, top_n: usize) -> PyResult<String> {
        written(|out| self.0.print_improvements(top_n, out))
    }
}

/// Advice. Python users see `breakeven.Advice`.
#[pyclass(frozen, module = "breakeven._breakeven")]
pub(crate) struct Advice(ProfilerOptimizer);

/// Applies all rules to a profile, with evidence from other profiles of the same machine.
#[pyfunction]
pub(crate) fn advise(
    py: Python<'_>,
    profile: Py<Profile>,
    evidence: Vec<Py<Profile>>,
) -> PyResult<Advice> {
    let mut profile = (*profile.get().data).clone();
    for (place, other) in data(&evidence).into_iter().enumerate() {
        let taken = profile.take_evidence(other);
        taken.map_err(|Difference { what, first, second, .. }| {
            ProfileError::new_err(format!(
                "evidence[{place}] is from another machine: the {what} is {second} there, {first} \
                 in the profile"
            ))
        })?;
    }
    Ok(Advice(py.detach(|| ProfilerOptimizer::new(&profile))))
}

#[pymethods]
impl Advice {
    /// The complete advice.
    fn json(&self) -> PyResult<String> {
        json(self.0.advice())
    }

    /// What all suggestions save together.
    fn conclusion(&self) -> String {
        self.0.advice().conclusion()
    }

    /// The limits of the advice.
    fn caveats(&self) -> Vec<String> {
        self.0.advice().caveats()
    }

    /// The page of the first `top_n` suggestions.
    fn page(&self, top_n: usize) -> Printed {
        let mut page = self.0.advice().page(self.0.get_suggestions(top_n));
        for caveat in self.0.advice().caveats() {
            page.aside(caveat);
        }
        Printed(page)
    }

    fn print_suggestions(&self, top_n: usize) -> PyResult<String> {
        written(|out| self.0.print_suggestions(top_n, out))
    }

    fn print_critical_suggestions(&self) -> PyResult<String> {
        written(|out| self.0.print_critical_suggestions(out))
    }

    fn export(&self, path: PathBuf) -> PyResult<()> {
        use breakeven_judge::advise::ExportError;
        self.0
            .export_suggestions(&path)
            .map_err(|error| match error {
                ExportError::File(error) => file_error(error),
                error => FileError::new_err(error.to_string()),
            })
    }
}
