//! Times in a file: whole nanoseconds, with decimals from other tools rounded.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};

use super::names::Name;

/// The greatest time that a file may hold, ns: 292 years.
pub(super) const MAX_NS: u64 = 1 << 63;

struct Time(u64);

struct TimeVisitor;

impl Visitor<'_> for TimeVisitor {
    type Value = Time;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time in ns, a number from 0 to 2^63")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Time, E> {
        if value <= MAX_NS {
            Ok(Time(value))
        } else {
            Err(E::invalid_value(Unexpected::Unsigned(value), &self))
        }
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Time, E> {
        match u64::try_from(value) {
            Ok(value) => Ok(Time(value)),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(value), &self)),
        }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Time, E> {
        if (0.0..=MAX_NS as f64).contains(&value) {
            #[expect(clippy::cast_sign_loss, reason = "the range begins at zero")]
            let whole = value.round() as u64;
            Ok(Time(whole))
        } else {
            Err(E::invalid_value(Unexpected::Float(value), &self))
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(TimeVisitor)
    }
}

pub(super) struct Times(pub(super) Vec<u64>);

struct TimesVisitor;

impl<'de> Visitor<'de> for TimesVisitor {
    type Value = Times;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of times in ns")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Times, A::Error> {
        let mut times = Vec::new();
        while let Some(Time(ns)) = list.next_element()? {
            times.push(ns);
        }
        Ok(Times(times))
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(TimesVisitor)
    }
}

struct PhasesVisitor;

impl<'de> Visitor<'de> for PhasesVisitor {
    type Value = BTreeMap<String, Vec<u64>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a list of times in ns for each phase")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut phases = BTreeMap::new();
        while let Some((Name(phase), Times(times))) = map.next_entry::<Name, Times>()? {
            if phases.contains_key(&phase) {
                return Err(A::Error::custom(format_args!(
                    "the phase {phase:?} is there twice"
                )));
            }
            phases.insert(phase, times);
        }
        Ok(phases)
    }
}

pub(crate) fn times<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    Times::deserialize(deserializer).map(|Times(times)| times)
}

pub(crate) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Time::deserialize(deserializer).map(|Time(ns)| ns)
}

pub(crate) fn optional_time<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(|Time(ns)| ns))
}

pub(crate) fn phases<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<u64>>, D::Error> {
    deserializer.deserialize_map(PhasesVisitor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Vec<u64>> {
        let Times(times) = serde_json::from_str(text).ok()?;
        Some(times)
    }

    #[test]
    fn decimals_are_rounded_to_the_nearest_nanosecond() {
        let times = parsed("[812000.5, 0.4, 1e3, 0, -0.0]");
        assert_eq!(times, Some(vec![812_001, 0, 1000, 0, 0]));
    }

    #[test]
    fn the_range_ends_at_two_to_the_63_and_everything_else_is_refused() {
        let last = parsed("[9223372036854775808, 9.223372036854775808e18]");
        assert_eq!(last, Some(vec![MAX_NS; 2]));
        let refused = "[9223372036854775809] [1e19] [99999999999999999999999] [1e400] [-1] [-0.1] \
                       [null] [\"5\"] [NaN] [true] [[1]] 5 {}";
        for text in refused.split(' ') {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
