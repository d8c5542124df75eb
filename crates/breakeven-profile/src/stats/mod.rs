//! Statistics on measurements: pure functions on slices, with no clock, no
//! file and no profile in sight.
//!
//! Describe one sample with [`Summary`] (or [`Moments`], where samples are too
//! many to keep); compare two with [`log_ratio_test`] (few runs a side;
//! [`log_ratio_tests`] for many operations together),
//! [`mann_whitney`] or [`brunner_munzel`] (many samples a side) and say by how
//! much with [`shift`] or [`bootstrap_median_ratio`]; correct many comparisons
//! with [`benjamini_hochberg`] or [`holm`]; fit growth with [`theil_sen`] and
//! [`power_law`]; plan with [`runs_needed`].
//!
//! Every function takes any slice whatever and answers with a [`StatsError`]
//! where it has no answer: it neither panics nor returns a NaN. Values are
//! finite and of magnitude up to [`MAX_MAGNITUDE`], which keeps sums of their
//! squares finite. A unit is the caller's choice, the same for all values.

mod bootstrap;
mod brunner_munzel;
mod correction;
mod distribution;
mod error;
mod fit;
mod log_ratio;
mod log_ratios;
mod mann_whitney;
mod mean;
mod moments;
mod quantile;
mod rank;
mod sample_size;
mod select;
mod shift;
mod summary;

pub use bootstrap::{
    Bootstrap, BootstrapInterval, BootstrapMethod, bootstrap, bootstrap_median_ratio,
};
pub use brunner_munzel::{BrunnerMunzel, BrunnerMunzelMethod, brunner_munzel};
pub use correction::{benjamini_hochberg, holm};
pub use error::{MAX_MAGNITUDE, StatsError};
pub use fit::{Line, PowerLaw, power_law, theil_sen};
pub use log_ratio::{LogRatio, LogRatioMethod, log_ratio_test, log_ratio_with_noise};
pub use log_ratios::log_ratio_tests;
pub use mann_whitney::{MannWhitney, MannWhitneyMethod, mann_whitney};
pub use mean::mean_interval;
pub use moments::Moments;
pub use quantile::{median, quantile};
pub use sample_size::runs_needed;
pub use shift::{Shift, pseudo_median, shift};
pub use summary::Summary;
