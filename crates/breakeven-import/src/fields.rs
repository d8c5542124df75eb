//! Fields of records that are read one by one into memory that is used again.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text, or what stands for one: a number, true, nothing.
pub(crate) struct Text<'a>(pub(crate) &'a mut String);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.clear();
        deserializer.deserialize_any(self)
    }
}

impl Text<'_> {
    fn set(self, value: impl fmt::Display) {
        use fmt::Write as _;
        // Writing to a text does not fail.
        let _ = write!(self.0, "{value}");
    }
}

impl<'de> Visitor<'de> for Text<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.push_str(text);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.set(value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.set(value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.set(value);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.set(value);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        // As in `id2`: {"local": "0x1"}.
        while let Some(IgnoredAny) = map.next_key()? {
            map.next_value_seed(Text(&mut *self.0))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(IgnoredAny) = list.next_element()? {}
        Ok(())
    }
}

/// A count; what is none is nothing.
pub(crate) struct Count;

impl<'de> DeserializeSeed<'de> for Count {
    type Value = Option<u64>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<u64>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Count {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a count")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Option<u64>, E> {
        Ok(Some(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Option<u64>, E> {
        Ok(None)
    }

    #[expect(clippy::cast_sign_loss, reason = "the range begins at zero")]
    fn visit_f64<E>(self, value: f64) -> Result<Option<u64>, E> {
        let is_count = (0.0..9e15).contains(&value) && value.fract() == 0.0;
        Ok(is_count.then_some(value as u64))
    }

    fn visit_str<E>(self, text: &str) -> Result<Option<u64>, E> {
        Ok(text.trim().parse().ok())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<u64>, A::Error> {
        while let Some((IgnoredAny, IgnoredAny)) = map.next_entry()? {}
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<u64>, A::Error> {
        while let Some(IgnoredAny) = list.next_element()? {}
        Ok(None)
    }
}

/// A time of a trace, as ns of its clock: a number in a unit of so many ns.
pub(crate) struct Time {
    pub(crate) unit_ns: u32,
}

/// The farthest from its clock's zero that a time may be, ns: 146 years.
const FARTHEST_NS: f64 = (1_u64 << 62) as f64;

impl<'de> DeserializeSeed<'de> for Time {
    type Value = Option<i64>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<i64>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Time {
    fn whole<E: Error>(&self, value: i128) -> Result<Option<i64>, E> {
        let ns = value * i128::from(self.unit_ns);
        match i64::try_from(ns) {
            Ok(ns) if ns.abs_diff(0) <= 1 << 62 => Ok(Some(ns)),
            _ => Err(E::custom(format_args!("{value} is not a time"))),
        }
    }
}

impl<'de> Visitor<'de> for Time {
    type Value = Option<i64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time, a number")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Option<i64>, E> {
        self.whole(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Option<i64>, E> {
        self.whole(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Option<i64>, E> {
        // The whole part times the unit is exact, where the product of all is not.
        let unit = f64::from(self.unit_ns);
        if !value.is_finite() || value.abs() * unit > FARTHEST_NS {
            return Err(E::custom(format_args!("{value:e} is not a time")));
        }
        let fraction = (value.fract() * unit).round() as i64;
        Ok(Some(
            value.trunc() as i64 * i64::from(self.unit_ns) + fraction,
        ))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<i64>, E> {
        match (text.trim().parse::<i64>(), text.trim().parse::<f64>()) {
            (Ok(whole), _) => self.visit_i64(whole),
            (_, Ok(value)) => self.visit_f64(value),
            _ => Err(E::custom(format_args!("{text:?} is not a time"))),
        }
    }

    fn visit_unit<E>(self) -> Result<Option<i64>, E> {
        Ok(None)
    }
}

/// Three counts, as of a launch's grid.
pub(crate) struct Three;

impl<'de> DeserializeSeed<'de> for Three {
    type Value = Option<[u64; 3]>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Three {
    type Value = Option<[u64; 3]>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of three counts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut three = [None; 3];
        for one in &mut three {
            *one = list.next_element_seed(Count)?.flatten();
        }
        while let Some(IgnoredAny) = list.next_element()? {}
        let [x, y, z] = three;
        Ok(x.map(|x| [x, y.unwrap_or(1), z.unwrap_or(1)]))
    }

    /// `{"x": 64, "y": 1, "z": 1}`, as rocprofv3 writes it.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut three = [None; 3];
        while let Some(key) = map.next_key::<String>()? {
            let at = ["x", "y", "z"].iter().position(|name| *name == key);
            let count = map.next_value_seed(Count)?;
            if let Some(one) = at.and_then(|at| three.get_mut(at)) {
                *one = count;
            }
        }
        let [x, y, z] = three;
        Ok(x.map(|x| [x, y.unwrap_or(1), z.unwrap_or(1)]))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Which of these names a key is; `None` for any other.
pub(crate) struct KeyOf(pub(crate) &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for KeyOf {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOf {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|name| **name == key).copied())
    }
}
