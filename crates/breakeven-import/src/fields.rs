//! Fields of records that are read one by one into memory that is used again.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Visits of what is passed over, whatever it holds.
macro_rules! passes_over {
    ($($what:ident)*) => { $(crate::fields::passes_over!(@ $what);)* };
    (@ bool) => { crate::fields::passes_over!(@ visit_bool bool); };
    (@ text) => { crate::fields::passes_over!(@ visit_str &str); };
    (@ numbers) => {
        crate::fields::passes_over!(@ visit_u64 u64);
        crate::fields::passes_over!(@ visit_i64 i64);
        crate::fields::passes_over!(@ visit_f64 f64);
    };
    (@ null) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
    (@ list) => {
        fn visit_seq<A: serde::de::SeqAccess<'de>>(
            self,
            mut list: A,
        ) -> Result<Self::Value, A::Error> {
            while let Some(serde::de::IgnoredAny) = list.next_element()? {}
            Ok(Default::default())
        }
    };
    (@ map) => {
        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            while let Some((serde::de::IgnoredAny, serde::de::IgnoredAny)) = map.next_entry()? {}
            Ok(Default::default())
        }
    };
    (@ $visit:ident $type:ty) => {
        fn $visit<E>(self, _: $type) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
}

/// What is read with a state: its value, and the kind of JSON that it is.
macro_rules! seed {
    ($what:ty => $value:ty, $how:ident) => {
        impl<'de> serde::de::DeserializeSeed<'de> for $what {
            type Value = $value;

            fn deserialize<D: serde::de::Deserializer<'de>>(
                self,
                from: D,
            ) -> Result<$value, D::Error> {
                from.$how(self)
            }
        }
    };
}

/// What an error names as expected.
macro_rules! expects {
    ($what:literal) => {
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str($what)
        }
    };
}

pub(crate) use {expects, passes_over, seed};

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

    expects!("a text or a number");

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

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        // As in `id2`: {"local": "0x1"}.
        while let Some(IgnoredAny) = map.next_key()? {
            map.next_value_seed(Text(&mut *self.0))?;
        }
        Ok(())
    }

    passes_over!(null list);
}

/// A count; what is none is nothing.
pub(crate) struct Count;

seed!(Count => Option<u64>, deserialize_any);

impl<'de> Visitor<'de> for Count {
    type Value = Option<u64>;

    expects!("a count");

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

    passes_over!(bool null list map);
}

/// A time of a trace, as ns of its clock: a number in a unit of so many ns. What is no
/// time, or farther away than 146 years, is nothing.
pub(crate) struct Time {
    pub(crate) unit_ns: u32,
}

/// The farthest from its clock's zero that a time may be, ns.
const FARTHEST_NS: u64 = 1 << 62;

seed!(Time => Option<i64>, deserialize_any);

impl<'de> Visitor<'de> for Time {
    type Value = Option<i64>;

    expects!("a time, a number");

    fn visit_u64<E: Error>(self, value: u64) -> Result<Option<i64>, E> {
        i64::try_from(value).map_or(Ok(None), |value| self.visit_i64(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Option<i64>, E> {
        let ns = value.checked_mul(self.unit_ns.into());
        Ok(ns.filter(|ns| ns.unsigned_abs() <= FARTHEST_NS))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Option<i64>, E> {
        // The whole part times the unit is exact, where the product of all is not.
        let unit = f64::from(self.unit_ns);
        let is_near = value.abs() * unit <= FARTHEST_NS as f64;
        let fraction = (value.fract() * unit).round() as i64;
        let whole = value.trunc() as i64;
        Ok(is_near.then(|| whole * i64::from(self.unit_ns) + fraction))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<i64>, E> {
        match (text.trim().parse::<i64>(), text.trim().parse::<f64>()) {
            (Ok(whole), _) => self.visit_i64(whole),
            (_, Ok(value)) => self.visit_f64(value),
            _ => Ok(None),
        }
    }

    passes_over!(bool null list map);
}

/// Three counts, as of a launch's grid.
pub(crate) struct Three;

seed!(Three => Option<[u64; 3]>, deserialize_any);

impl<'de> Visitor<'de> for Three {
    type Value = Option<[u64; 3]>;

    expects!("a list of three counts");

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

    passes_over!(bool null text numbers);
}

/// Which of these names a key is; `None` for any other.
pub(crate) struct KeyOf(pub(crate) &'static [&'static str]);

seed!(KeyOf => Option<&'static str>, deserialize_str);

impl Visitor<'_> for KeyOf {
    type Value = Option<&'static str>;

    expects!("a key");

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|name| **name == key).copied())
    }
}
