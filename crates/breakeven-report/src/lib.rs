//! Makes one self-contained HTML page of a profile: an overview, the verdicts of a
//! comparison, every operation's figures in a table that sorts and filters, and charts
//! (histograms, roofline, time line, flame graph, break-even curves, history). It opens
//! from disk and loads nothing.
//!
//! - `breakeven-judge` computes every figure, and `breakeven_profile::unit` formats it. The page's
//!   script sorts, filters and draws.
//! - Texts of a profile are untrusted. They are escaped when they enter the document, the script
//!   writes them as text, and the page's policy allows no other script (module `document`).
//! - Without scripts the page still has all texts and tables, and each chart's finding instead of
//!   the chart.
//!
//! ```
//! use breakeven_judge::advise::ProfilerOptimizer;
//! use breakeven_judge::{Limits, overview};
//! use breakeven_profile::profile::{Operation, Profile, Run};
//! use breakeven_report::{Report, Words};
//!
//! let mut decode = Operation::new("decode", "cpu");
//! decode.runs.push(Run { samples_ns: vec![8e6, 8.1e6], ..Run::default() });
//! let profile = Profile { operations: vec![decode], ..Profile::default() };
//!
//! let (overview, optimizer) =
//!     (overview(&profile, &Limits::default()), ProfilerOptimizer::new(&profile));
//! let report = Report {
//!     title: "decode, this week",
//!     profile: &profile,
//!     overview: &overview,
//!     advice: optimizer.advice(),
//!     comparison: None,
//!     history: &[],
//!     words: Words::default(),
//! };
//! let page = report.html();
//! assert!(page.starts_with("<!doctype html>") && page.contains("8.05 ms"));
//! ```

mod curves;
mod document;
mod flame;
mod forest;
mod histogram;
mod history;
mod load;
mod operations;
mod part;
mod roofline;
#[rustfmt::skip]
mod sections;
mod summary;
mod timeline;

use breakeven_judge::advise::Advice;
use breakeven_judge::page::Page;
use breakeven_judge::{Overview, ProfilerComparison};
use breakeven_profile::profile::Profile;

pub use history::{HistoryChange, HistoryPoint, HistorySeries};

/// The content of a page.
#[derive(Debug, Clone)]
pub struct Report<'r> {
    /// The page's title.
    pub title: &'r str,
    /// The profile.
    pub profile: &'r Profile,
    /// The figures computed from its samples.
    pub overview: &'r Overview,
    /// What to change first.
    pub advice: &'r Advice,
    /// What has changed since a baseline.
    pub comparison: Option<&'r ProfilerComparison>,
    /// How operations developed over earlier revisions.
    pub history: &'r [HistorySeries],
    /// Texts that accompany the figures.
    pub words: Words,
}

/// Texts that accompany the figures, as the commands print them. Empty texts are omitted.
#[derive(Debug, Clone, Default)]
pub struct Words {
    /// The machine and the build.
    pub environment: Page,
    /// What an executor decided, and what fell back.
    pub executions: Page,
    /// What the devices of a trace did.
    pub devices: Page,
    /// How busy the machine was meanwhile.
    pub load: Page,
    /// Winners, bottlenecks, targets, budgets.
    pub judged: Page,
    /// What was compared, with the verdicts and warnings.
    pub compared: Page,
}

impl Report<'_> {
    /// Builds the page, a complete HTML document.
    pub fn html(&self) -> String {
        let parts = [
            summary::part(self),
            forest::part(self),
            part::words(sections::JUDGED, &self.words.judged),
            part::words(sections::EXECUTIONS, &self.words.executions),
            part::words(sections::DEVICES, &self.words.devices),
            operations::part(self),
            roofline::part(self),
            timeline::part(self.profile),
            load::part(self.profile, &self.words.load),
            flame::part(self.profile),
            curves::part(self.profile),
            history::part(self.history),
            part::advice(self.advice),
            part::words(sections::ENVIRONMENT, &self.words.environment),
        ];
        document::document(self.title, parts.into_iter().flatten())
    }
}
