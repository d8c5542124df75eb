//! Times in a file, for serde's `with`: nanoseconds, with a fraction if needed. Integers are
//! written without one, and -0.0 is read as 0.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde::ser::{Serialize, Serializer};

/// Longest time in a file, ns: 292 years.
pub(super) const MAX_NS: f64 = (1_u64 << 63) as f64;

/// True for a time that a file may hold.
pub(super) fn is_time(ns: f64) -> bool {
    (0.0..=MAX_NS).contains(&ns)
}

/// One or more times.
pub(crate) trait Times {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
    fn drop_sign_of_zero(&mut self);
}

impl Times for f64 {
    #[expect(clippy::cast_sign_loss, reason = "the range begins at zero")]
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match is_time(*self) && self.fract() == 0.0 {
            true => serializer.serialize_u64(*self as u64),
            false => serializer.serialize_f64(*self),
        }
    }

    fn drop_sign_of_zero(&mut self) {
        *self += 0.0;
    }
}

impl<T: Times> Times for Option<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(Written).serialize(serializer)
    }

    fn drop_sign_of_zero(&mut self) {
        self.iter_mut().for_each(T::drop_sign_of_zero);
    }
}

impl<T: Times> Times for Vec<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Written))
    }

    fn drop_sign_of_zero(&mut self) {
        self.iter_mut().for_each(T::drop_sign_of_zero);
    }
}

impl<T: Times> Times for BTreeMap<String, T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(name, times)| (name, Written(times))))
    }

    fn drop_sign_of_zero(&mut self) {
        self.values_mut().for_each(T::drop_sign_of_zero);
    }
}

struct Written<'t, T>(&'t T);

impl<T: Times> Serialize for Written<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

pub(crate) fn serialize<T: Times, S: Serializer>(
    times: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    times.write(serializer)
}

pub(crate) fn deserialize<'de, T: Times + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let mut times = T::deserialize(deserializer)?;
    times.drop_sign_of_zero();
    Ok(times)
}

/// A time in whole nanoseconds.
#[expect(clippy::cast_sign_loss, reason = "a time is not negative")]
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let ns = f64::deserialize(deserializer)?;
    match is_time(ns) {
        true => Ok(ns.round() as u64),
        false => Err(D::Error::invalid_value(
            Unexpected::Float(ns),
            &"a time in ns, from 0 to 2^63",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_stay_and_whole_times_are_written_whole() {
        let text = "[812000.5, 0.61, 1e3, 0, -0.0, 7.0]";
        let times: Vec<f64> = deserialize(&mut serde_json::Deserializer::from_str(text)).unwrap();
        assert_eq!(times, [812_000.5, 0.61, 1_000.0, 0.0, 0.0, 7.0]);
        assert!(times[4].is_sign_positive());
        let written = serde_json::to_string(&Written(&times)).unwrap();
        assert_eq!(written, "[812000.5,0.61,1000,0,0,7]");
    }
}
