//! Advice: what to change first, why, and the estimated gain.
//!
//! ```
//! use breakeven_judge::advise::ProfilerOptimizer;
//! use breakeven_profile::profile::{Operation, Profile, Run};
//!
//! let operation = |device: &str, samples_ns: Vec<f64>| {
//!     let mut operation = Operation::new("blur", device);
//!     operation.runs.push(Run { samples_ns, ..Run::default() });
//!     operation
//! };
//! let profile = Profile {
//!     operations: vec![
//!         operation("cpu", vec![800_000.0, 810_000.0, 805_000.0]),
//!         operation("cuda:0", vec![100_000.0, 101_000.0, 100_500.0]),
//!     ],
//!     ..Profile::default()
//! };
//! let optimizer = ProfilerOptimizer::new(&profile);
//! let first = &optimizer.get_suggestions(1)[0];
//! assert_eq!(first.kind.to_string(), "ROUTING");
//! assert_eq!(first.target_device.as_deref(), Some("cuda:0"));
//! assert!(first.description.contains("measured: cuda:0 is 8.01 times as fast"));
//! ```
//!
//! A measurement in the profile (the operation on another device, a break-even size, a peak)
//! replaces a rule's constant and overrules it: no operation is moved to a device that was measured
//! slower. Every estimate has a formula in the documentation of its rule. Without one there is no
//! estimate, and the suggestion ranks behind those that have one. `docs/advice.md` describes all
//! rules. The same profile always gives the same advice, whatever the order of its operations.

use std::io::{self, Write};
use std::path::Path;

use breakeven_profile::file::{self, FileError};
use breakeven_profile::profile::Profile;
use serde::Serialize;

use crate::page::{Page, WIDTH};

mod calls;
mod case;
mod elsewhere;
mod evidence;
mod rank;
mod rules;
mod words;

pub use calls::CallsOf;
pub use case::LookedAt;
pub use evidence::{Evidence, EvidenceKind};
pub use rank::{OptimizationSuggestion, Priority};
pub use rules::{Rule, SuggestionType};
pub use words::items;

use case::Case;
use evidence::Verdict;

/// The advice of all rules about a profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[must_use]
pub struct Advice {
    /// Who made the calls that the samples measure.
    pub calls_of: CallsOf,
    /// True if operations' own times are known without those inside them. Otherwise nested
    /// operations count with the operation around them.
    pub nesting_known: bool,
    /// How many operations were examined.
    pub looked_at: LookedAt,
    /// Total time, ms: the own times of all operations.
    pub total_ms: f64,
    /// Saving of all suggestions together, ms: of each operation the largest one.
    pub potential_ms: f64,
    /// The suggestions, the largest saving first.
    pub suggestions: Vec<OptimizationSuggestion>,
    /// Rules of thumb that a measurement overruled.
    pub overruled: Vec<Overruled>,
}

/// A rule of thumb that applied, and the measurement that overruled it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overruled {
    /// The operation's name.
    pub operation: String,
    /// The device that it ran on.
    pub device: String,
    /// True if that device is a software GPU.
    pub software_gpu: bool,
    /// Elements in one call's input.
    pub size: Option<u64>,
    /// The rule.
    pub rule: Rule,
    /// The measurement that overruled it.
    pub evidence: Vec<Evidence>,
}

/// Advice on one profile.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct ProfilerOptimizer {
    advice: Advice,
}

impl ProfilerOptimizer {
    /// Applies all rules to a profile.
    pub fn new(profile: &Profile) -> Self {
        let case = Case::new(profile);
        let mut proposals = Vec::new();
        let mut overruled = Vec::new();
        for subject in case.subjects.iter().filter(|subject| subject.matters) {
            for &rule in Rule::ALL {
                match rule.ask(&case, subject) {
                    Verdict::Silent => {}
                    Verdict::Suggest(advised) => proposals.push((rule, subject, *advised)),
                    Verdict::Overruled(evidence) => overruled.push(Overruled {
                        operation: subject.operation.name.clone(),
                        device: subject.operation.device.clone(),
                        software_gpu: profile.is_software_gpu(&subject.operation.device),
                        size: subject.operation.size,
                        rule,
                        evidence: vec![evidence],
                    }),
                }
            }
        }
        let (suggestions, potential_ns) = rank::ranked(&case, proposals);
        let advice = Advice {
            calls_of: case.calls_of,
            nesting_known: case.nesting,
            looked_at: case.looked_at,
            total_ms: case.whole_ns / 1e6,
            potential_ms: potential_ns / 1e6,
            suggestions,
            overruled,
        };
        Self { advice }
    }

    /// Returns the complete advice.
    pub fn advice(&self) -> &Advice {
        &self.advice
    }

    /// Returns the suggestions that save the most, at most `top_n`.
    pub fn get_suggestions(&self, top_n: usize) -> &[OptimizationSuggestion] {
        let all = &self.advice.suggestions;
        &all[..top_n.min(all.len())]
    }

    /// Returns the suggestions that each save a quarter or more of the total time.
    pub fn get_critical_suggestions(&self) -> Vec<&OptimizationSuggestion> {
        let all = self.advice.suggestions.iter();
        all.filter(|suggestion| suggestion.priority == Priority::Critical)
            .collect()
    }

    /// Writes the advice as JSON into the file at `path`, in one step as
    /// [`file::write()`] does.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn export_suggestions(&self, path: &Path) -> Result<(), ExportError> {
        file::replace(path, |out| Ok(self.write_suggestions(out)?))
    }

    /// Writes the advice as JSON.
    pub fn write_suggestions(&self, mut out: impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut out, &self.advice)?;
        writeln!(out)
    }

    /// Prints the suggestions that save the most as plain text, at most `top_n`.
    pub fn print_suggestions(&self, top_n: usize, mut out: impl Write) -> io::Result<()> {
        let page = self.advice.page(self.get_suggestions(top_n));
        page.text(WIDTH, false, &mut out)
    }

    /// Prints the suggestions that each save a quarter or more of the total time.
    pub fn print_critical_suggestions(&self, mut out: impl Write) -> io::Result<()> {
        let critical = self.get_critical_suggestions().into_iter().cloned();
        let page = self.advice.page(&critical.collect::<Vec<_>>());
        page.text(WIDTH, false, &mut out)
    }

    /// Prints a short summary: what was examined, and the saving of all suggestions.
    pub fn print_summary(&self, mut out: impl Write) -> io::Result<()> {
        let mut page = Page::default();
        page.say(self.advice.conclusion());
        for caveat in self.advice.caveats() {
            page.say(caveat);
        }
        page.text(WIDTH, false, &mut out)
    }
}

/// Why advice could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file cannot be created or replaced.
    #[error(transparent)]
    File(#[from] FileError),
    /// Writing failed half-way.
    #[error("the advice cannot be written: {0}")]
    Write(#[from] io::Error),
}
