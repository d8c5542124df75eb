//! Times in a file.

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected};

/// Longest time in a file, ns: 292 years.
pub(crate) const MAX_NS: f64 = (1_u64 << 63) as f64;

/// True for a time that a file may hold.
pub(crate) fn is_time(ns: f64) -> bool {
    (0.0..=MAX_NS).contains(&ns)
}

/// Reads a time that is a whole number here, rounded.
#[expect(clippy::cast_sign_loss, reason = "a time is not negative")]
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let ns = f64::deserialize(deserializer)?;
    match is_time(ns) {
        true => Ok(ns.round() as u64),
        false => Err(Error::invalid_value(
            Unexpected::Float(ns),
            &"a time in ns, from 0 to 2^63",
        )),
    }
}
