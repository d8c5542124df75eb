//! Judges profiles from any source: each operation's figures ([`overview()`]), which operations are
//! a problem and why ([`bottleneck`]), whether they meet their budgets ([`budget`]), what has
//! changed since a baseline ([`mod@compare`]), an overall verdict for CI ([`mod@gate`]), what to
//! change first ([`advise`]), and from which size another device pays ([`mod@break_even`]). It also
//! exports profiles to the formats of other tools ([`export`]) and lays out what is printed
//! ([`page`]). Needs no GPU and prints nothing.
//!
//! ```
//! use breakeven_judge::{Limits, overview};
//! use breakeven_profile::profile::{Operation, Profile, Run};
//!
//! let mut decode = Operation::new("decode", "cpu");
//! decode.runs.push(Run { samples_ns: vec![8e6, 8.1e6], ..Run::default() });
//! let profile = Profile { operations: vec![decode], ..Profile::default() };
//!
//! let overview = overview(&profile, &Limits::default());
//! assert_eq!(overview.rows[0].summary.map(|s| s.mean), Some(8_050_000.0));
//! assert_eq!(overview.findings[0].what.to_string(), "slow"); // over 5 ms
//! ```

mod ab;
pub mod advise;
pub mod audit;
pub mod bottleneck;
pub mod break_even;
pub mod budget;
pub mod compare;
mod compared;
pub mod export;
pub mod gate;
mod history;
mod load;
mod metric;
mod noise;
pub mod overview;
pub mod page;
mod roofline;
mod winner;

pub use ab::{Ab, AbComparison, ab};
pub use bottleneck::{Finding, FindingKind, Thresholds};
pub use budget::{Budget, BudgetError, Held, Limited, Limits, RelativeLimit, Scope, Standing};
pub use compare::{
    ChangeType, CompareError, ComparisonSummary, OperationComparison, PlannedRuns,
    ProfilerComparison, Threshold, compare, compare_profiling_runs, planned_runs,
};
pub use compared::{Compared, Hint, Source};
pub use gate::{Outcome, Policy, Verdict, gate};
pub use load::{LoadFigures, load_figures};
pub use noise::Noise;
pub use overview::{Overview, Row, overview};
pub use roofline::Roofline;
pub use winner::{Winner, run_medians};
