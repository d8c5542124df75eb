//! What describes one sample: pure functions on slices, with no clock, no file
//! and no profile in sight. Tests, intervals and fits are in the crate
//! `breakeven-stats`, which is built on these.
//!
//! Describe a sample with [`Summary`], or with [`Moments`] where its values are
//! too many to keep; take one figure of it with [`median`] or [`quantile`].
//!
//! Every function takes any slice whatever and answers with a [`StatsError`]
//! where it has no answer: it neither panics nor returns a NaN. Values are
//! finite and of magnitude up to [`MAX_MAGNITUDE`], which keeps sums of their
//! squares finite. A unit is the caller's choice, the same for all values.
//!
//! The checks ([`check_finite`] and those beside it) and the quantiles of values
//! that were checked ([`median_in_place`], [`quantile_of_sorted`]) are public for
//! statistics that are built on these.

mod error;
mod moments;
mod quantile;
mod summary;

pub use error::{MAX_MAGNITUDE, StatsError, check_finite, check_fraction, check_positive, finite};
pub use moments::Moments;
pub use quantile::{median, median_in_place, quantile, quantile_of_sorted};
pub use summary::Summary;
