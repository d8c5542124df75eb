//! Inference on measurements: pure functions on slices, with no clock, no file
//! and no profile in sight. What describes one sample, and the errors, are in
//! [`breakeven_profile::stats`].
//!
//! Compare two samples with [`log_ratio_test`] (few runs a side;
//! [`log_ratio_tests`] for many operations together) or say by how much they
//! differ with [`bootstrap_median_ratio`] (many values a side); correct many
//! comparisons with [`benjamini_hochberg`]; give an interval with
//! [`mean_interval`], [`deviation_interval`] or [`bootstrap()`]; several groups
//! with [`one_way_anova`]; fit growth with [`theil_sen`] and
//! [`power_law`]; plan with [`runs_needed`] and [`Undecided::runs`].
//!
//! Every function accepts any slice and returns a [`StatsError`] if it has no answer: it neither
//! panics nor returns a NaN. Values are finite and of magnitude up to [`MAX_MAGNITUDE`], which
//! keeps sums of their squares finite. A unit is the caller's choice, the same for all values.
//!
//! ```
//! use breakeven_stats::log_ratio_test;
//!
//! // Medians of five runs a side, in ms.
//! let before = [8.02, 7.98, 8.05, 8.01, 7.99];
//! let after = [8.81, 8.79, 8.86, 8.80, 8.84];
//! let test = log_ratio_test(&before, &after, 0.95)?;
//! assert!(test.lower > 1.09 && test.upper < 1.12 && test.p_value < 1e-6);
//! # Ok::<(), breakeven_stats::StatsError>(())
//! ```
//!
//! [`MAX_MAGNITUDE`]: breakeven_profile::stats::MAX_MAGNITUDE

mod anova;
mod bootstrap;
mod change_points;
mod correction;
mod distribution;
mod fit;
mod interval;
mod log_ratio;
mod log_ratios;
mod prior;
mod sample_size;
mod sequential;

pub use anova::one_way_anova;
pub use bootstrap::{Bootstrap, BootstrapInterval, bootstrap, bootstrap_median_ratio};
pub use breakeven_profile::stats::StatsError;
pub use change_points::{ChangePoint, SHORTEST_SEGMENT, change_points};
pub use correction::benjamini_hochberg;
pub use fit::{Line, power_law, theil_sen};
pub use interval::{deviation_interval, mean_interval};
pub use log_ratio::{LogRatio, LogRatioMethod, Noise, log_ratio_test, typical};
pub use log_ratios::{Pair, log_ratio_tests};
pub use sample_size::{Undecided, runs_needed, smallest_seen};
pub use sequential::SequentialMean;
