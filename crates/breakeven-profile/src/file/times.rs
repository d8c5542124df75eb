//! Times in a file: nanoseconds, with a fraction where it has one. Those without are
//! written as whole numbers.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use super::names::Name;

/// The greatest time that a file may hold, ns: 292 years.
pub(super) const MAX_NS: f64 = (1_u64 << 63) as f64;

struct Time(f64);

struct TimeVisitor;

impl Visitor<'_> for TimeVisitor {
    type Value = Time;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time in ns, a number from 0 to 2^63")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Time, E> {
        if value <= 1 << 63 {
            Ok(Time(value as f64))
        } else {
            Err(E::invalid_value(Unexpected::Unsigned(value), &self))
        }
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Time, E> {
        match u64::try_from(value) {
            Ok(value) => self.visit_u64(value),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(value), &self)),
        }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Time, E> {
        if (0.0..=MAX_NS).contains(&value) {
            // Without the sign of -0.0.
            Ok(Time(value + 0.0))
        } else {
            Err(E::invalid_value(Unexpected::Float(value), &self))
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(TimeVisitor)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match whole(self.0) {
            Some(ns) => serializer.serialize_u64(ns),
            None => serializer.serialize_f64(self.0),
        }
    }
}

#[expect(clippy::cast_sign_loss, reason = "the range begins at zero")]
fn whole(ns: f64) -> Option<u64> {
    ((0.0..=MAX_NS).contains(&ns) && ns.fract() == 0.0).then_some(ns as u64)
}

/// A list of times.
struct Times(Vec<f64>);

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        time_list::deserialize(deserializer).map(Self)
    }
}

struct Written<'t>(&'t [f64]);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        time_list::serialize(self.0, serializer)
    }
}

/// A list of times, for serde's `with`.
pub(crate) mod time_list {
    use serde::de::{SeqAccess, Visitor};

    use super::{Deserializer, Serializer, Time, fmt};

    struct TimesVisitor;

    impl<'de> Visitor<'de> for TimesVisitor {
        type Value = Vec<f64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of times in ns")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<f64>, A::Error> {
            let mut times = Vec::new();
            while let Some(Time(ns)) = list.next_element()? {
                times.push(ns);
            }
            Ok(times)
        }
    }

    pub(crate) fn serialize<S: Serializer>(
        times: &[f64],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(times.iter().map(|ns| Time(*ns)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<f64>, D::Error> {
        deserializer.deserialize_seq(TimesVisitor)
    }
}

/// A time that may be missing, for serde's `with`.
pub(crate) mod optional_time {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Time};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<f64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(Time).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(|Time(ns)| ns))
    }
}

/// A list of times for each phase, for serde's `with`.
pub(crate) mod phases {
    use super::{
        BTreeMap, Deserializer, Error, MapAccess, Name, Serializer, Times, Visitor, Written, fmt,
    };

    struct PhasesVisitor;

    impl<'de> Visitor<'de> for PhasesVisitor {
        type Value = BTreeMap<String, Vec<f64>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object with a list of times in ns for each phase")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut phases = BTreeMap::new();
            while let Some((Name(phase), Times(times))) = map.next_entry::<Name, Times>()? {
                if phases.contains_key(&phase) {
                    return Err(A::Error::custom(format_args!(
                        "the phase {phase:?} occurs twice"
                    )));
                }
                phases.insert(phase, times);
            }
            Ok(phases)
        }
    }

    pub(crate) fn serialize<S: Serializer>(
        phases: &BTreeMap<String, Vec<f64>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(phases.iter().map(|(name, times)| (name, Written(times))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Vec<f64>>, D::Error> {
        deserializer.deserialize_map(PhasesVisitor)
    }
}

/// A time in whole nanoseconds.
#[expect(clippy::cast_sign_loss, reason = "a time is not negative")]
pub(crate) fn whole_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Time::deserialize(deserializer).map(|Time(ns)| ns.round() as u64)
}

/// A time with its fraction, for serde's `with`.
pub(crate) mod time {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Time};

    pub(crate) fn serialize<S: Serializer>(time: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Time(*time).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Time::deserialize(deserializer).map(|Time(ns)| ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Vec<f64>> {
        let Times(times) = serde_json::from_str(text).ok()?;
        Some(times)
    }

    #[test]
    fn fractions_stay_and_whole_times_are_written_whole() {
        let times = parsed("[812000.5, 0.61, 1e3, 0, -0.0, 7.0]").unwrap();
        assert_eq!(times, [812_000.5, 0.61, 1_000.0, 0.0, 0.0, 7.0]);
        let written = serde_json::to_string(&Written(&times)).unwrap();
        assert_eq!(written, "[812000.5,0.61,1000,0,0,7]");
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
