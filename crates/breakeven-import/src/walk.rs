//! A JSON document part by part, so that one of any length is read in the same memory.

use std::fmt;

use serde::Deserialize as _;
use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::value::RawValue;

/// What is wanted of the value at a place of a document.
pub(crate) enum Want {
    /// It is passed over.
    Nothing,
    /// It is handed over as it is written.
    Text,
    /// What is inside comes one by one; an error calls the object or the list so.
    Object(&'static str),
    List(&'static str),
    Either(&'static str),
    /// What is inside, if anything is.
    Any,
}

/// Takes a document part by part. A place is that of `keys`: `traceEvents[]`.
pub(crate) trait Parts {
    /// Before each value, and the end of a list.
    fn want(&mut self, place: &str) -> Result<Want, String>;

    /// A value whose text is wanted.
    fn part(&mut self, place: &str, text: &str) -> Result<(), String>;

    /// Behind the last value inside an object (`a`) or a list (`a[]`).
    fn end(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// A value of the document.
pub(crate) struct Walk<'p, P> {
    parts: &'p mut P,
    place: &'p str,
    want: Want,
}

impl<'p, P: Parts> Walk<'p, P> {
    /// The document.
    pub(crate) fn of(parts: &'p mut P) -> Result<Self, serde_json::Error> {
        Self::at(parts, "")
    }

    fn at<E: Error>(parts: &'p mut P, place: &'p str) -> Result<Self, E> {
        let want = parts.want(place).map_err(E::custom)?;
        Ok(Self { parts, place, want })
    }

    fn scalar<E: Error>(self, found: Unexpected<'_>) -> Result<(), E> {
        match self.want {
            Want::Any => Ok(()),
            _ => Err(E::invalid_type(found, &self)),
        }
    }
}

impl<'de, P: Parts> DeserializeSeed<'de> for Walk<'_, P> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.want {
            Want::Nothing => IgnoredAny::deserialize(from).map(drop),
            Want::Text => {
                let text = Box::<RawValue>::deserialize(from)?;
                let taken = self.parts.part(self.place, text.get());
                taken.map_err(D::Error::custom)
            }
            Want::Object(_) => from.deserialize_map(self),
            Want::List(_) => from.deserialize_seq(self),
            Want::Either(_) | Want::Any => from.deserialize_any(self),
        }
    }
}

impl<'de, P: Parts> Visitor<'de> for Walk<'_, P> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.want {
            Want::Object(name) | Want::List(name) | Want::Either(name) => f.write_str(name),
            Want::Nothing | Want::Text | Want::Any => f.write_str("anything"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let point = if self.place.is_empty() { "" } else { "." };
        while let Some(key) = map.next_key::<String>()? {
            let place = format!("{}{point}{key}", self.place);
            map.next_value_seed(Walk::at(self.parts, &place)?)?;
        }
        self.parts.end(self.place).map_err(A::Error::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let place = format!("{}[]", self.place);
        while list
            .next_element_seed(Walk::at(self.parts, &place)?)?
            .is_some()
        {}
        self.parts.end(&place).map_err(A::Error::custom)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.scalar(Unexpected::Unit)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar(Unexpected::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.scalar(Unexpected::Unsigned(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.scalar(Unexpected::Signed(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.scalar(Unexpected::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.scalar(Unexpected::Str(value))
    }
}
