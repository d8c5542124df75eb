//! Describes one sample: pure functions on slices, which know no clock, file or profile. The crate
//! `breakeven-stats` builds tests, intervals and fits on these.
//!
//! Describe a sample with [`Summary`], or with [`Moments`] if its values are too many to keep; take
//! one figure of it with [`median`] or [`quantile`].
//!
//! Every function accepts any slice and returns a [`StatsError`] if there is no answer: it neither
//! panics nor returns a NaN. Values are finite and of magnitude up to [`MAX_MAGNITUDE`], which
//! keeps sums of their squares finite. The unit is the caller's choice, the same for all values.
//!
//! The checks ([`check_finite`] and its neighbours) and the quantiles of checked values
//! ([`median_in_place`], [`quantile_of_sorted`]) are public for statistics that build on these.

mod error;
mod moments;
mod quantile;
mod summary;

pub use error::{MAX_MAGNITUDE, StatsError, check_finite, check_fraction, check_positive, finite};
pub use moments::Moments;
pub use quantile::{median, median_in_place, quantile, quantile_of_sorted};
pub use summary::Summary;
