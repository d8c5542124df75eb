//! Judges profiles, wherever they come from: what each operation's samples say
//! ([`overview()`]), which operations are a problem and why ([`bottleneck`]), and
//! whether they keep their budgets ([`budget`]); and hands them on in the formats of
//! other tools ([`export`]). Needs no GPU and prints nothing.
//!
//! ```
//! use breakeven_judge::{Limits, overview};
//! use breakeven_profile::profile::{Operation, Profile, Run};
//!
//! let mut decode = Operation::new("decode", "cpu");
//! decode.runs.push(Run { samples_ns: vec![8_000_000, 8_100_000], ..Run::default() });
//! let profile = Profile { operations: vec![decode], ..Profile::default() };
//!
//! let overview = overview(&profile, &Limits::default());
//! assert_eq!(overview.rows[0].summary.map(|s| s.mean), Some(8_050_000.0));
//! assert_eq!(overview.findings[0].what.to_string(), "slow"); // over 5 ms
//! ```

pub mod bottleneck;
pub mod budget;
pub mod export;
pub mod overview;
mod winner;

pub use bottleneck::{Finding, FindingKind, Thresholds};
pub use budget::{Budget, BudgetError, Held, Limits, Standing};
pub use overview::{Overview, Row, overview};
pub use winner::Winner;
