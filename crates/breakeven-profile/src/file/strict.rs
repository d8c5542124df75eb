//! Checks that serde's derive does not make and a reader of profiles needs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::error::clipped;

/// The place of an error in the document, built from its end while the error is returned.
pub(super) type Place = RefCell<String>;

/// A deserializer that refuses, at every level, a list instead of an object, a duplicate name in an
/// object, and a misspelt field. It accepts `samples_ns` of an operation as its only run, and
/// records the place of an error.
pub(super) struct Strict<'p, T> {
    inner: T,
    place: &'p Place,
    /// Name and fields of the struct, if a struct is read.
    object: Option<(&'static str, &'static [&'static str])>,
}

impl<'p, T> Strict<'p, T> {
    pub(super) fn new(inner: T, place: &'p Place) -> Self {
        Self {
            inner,
            place,
            object: None,
        }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(Strict::new(visitor, self.place))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner
            .deserialize_option(Strict::new(visitor, self.place))
    }

    // A separate deserializer, because ignored values may be nested to any depth.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_ignored_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(Strict {
            object: Some((name, fields)),
            ..Strict::new(visitor, self.place)
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier
    }
}

/// Methods of `Visitor` that pass their value on.
macro_rules! hand_on {
    ($($method:ident($type:ty))*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.object {
            Some(_) => f.write_str("an object"),
            None => self.inner.expecting(f),
        }
    }

    hand_on! {
        visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64) visit_str(&str)
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Strict::new(deserializer, self.place))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Elements {
            list,
            place: self.place,
            next: 0,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let mut entries = Entries {
            map,
            place: self.place,
            has_runs: matches!(self.object, Some(("Operation", _))),
            keys: Vec::new(),
        };
        let value = self.inner.visit_map(&mut entries)?;
        let wrong = match self.object {
            Some(("Operation", fields)) if !entries.keys.iter().any(|key| is_measured(key)) => {
                misspelt(&entries.keys, fields, 0.0)
            }
            Some(("Profile" | "Operation" | "Run", fields)) => {
                misspelt(&entries.keys, fields, ALIKE)
            }
            Some(_) => None,
            None => twice(entries.keys),
        };
        wrong.map_or(Ok(value), |message| Err(A::Error::custom(message)))
    }
}

/// Reads the next level.
struct Inside<'p, S> {
    seed: S,
    place: &'p Place,
    step: fmt::Arguments<'p>,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Inside<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let read = self.seed.deserialize(Strict::new(deserializer, self.place));
        read.inspect_err(|_| {
            self.place
                .borrow_mut()
                .insert_str(0, &self.step.to_string())
        })
    }
}

struct Elements<'p, A> {
    list: A,
    place: &'p Place,
    next: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.next += 1;
        self.list.next_element_seed(Inside {
            seed,
            place: self.place,
            step: format_args!("[{}]", self.next - 1),
        })
    }
}

struct Entries<'p, A> {
    map: A,
    place: &'p Place,
    /// True of an operation.
    has_runs: bool,
    keys: Vec<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Some(key) = self.map.next_key::<String>()? else {
            return Ok(None);
        };
        let is_samples = |key: &String| key == "runs" || key == "samples_ns";
        if self.has_runs && is_samples(&key) && self.keys.iter().any(is_samples) {
            let reason = "it has runs and samples_ns, or one of them twice; keep one";
            return Err(A::Error::custom(reason));
        }
        let read = seed.deserialize(key.as_str().into_deserializer());
        self.keys.push(key);
        read.map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let key = self.keys.last().map_or("", String::as_str);
        let (place, step) = (self.place, format_args!(".{key}"));
        if self.has_runs && key == "samples_ns" {
            let seed_of_times = PhantomData::<Vec<f64>>;
            let times = Inside {
                seed: seed_of_times,
                place,
                step,
            };
            let run = BTreeMap::from([("samples_ns", self.map.next_value_seed(times)?)]);
            return seed.deserialize(vec![run].into_deserializer());
        }
        self.map.next_value_seed(Inside { seed, place, step })
    }
}

/// Smallest similarity (Jaro–Winkler) at which an unknown field counts as a misspelling of a
/// missing one.
const ALIKE: f64 = 0.9;

/// True for a field that has measurements of an operation. An operation without any most likely has
/// them under a misspelt name.
fn is_measured(key: &str) -> bool {
    ["runs", "samples_ns", "failure"].contains(&key)
}

/// Reports the unknown field that is most likely a misspelling of a missing one: otherwise a wrong
/// letter would silently drop its content.
fn misspelt(keys: &[String], fields: &[&str], least: f64) -> Option<String> {
    let unknown = keys.iter().filter(|key| !fields.contains(&key.as_str()));
    let missing = fields
        .iter()
        .filter(|field| keys.iter().all(|key| key != *field));
    let likeness = |key: &str, field| strsim::jaro_winkler(&key.to_lowercase(), field);
    let pairs = unknown.flat_map(|key| missing.clone().map(move |field| (key, field)));
    let alike = pairs.map(|(key, field)| (likeness(key, field), key, field));
    let (_, key, field) = alike
        .filter(|(likeness, ..)| *likeness >= least)
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    let key = clipped(key);
    Some(format!(
        "the field {key:?} is unknown; did you mean {field}?"
    ))
}

/// Reports a duplicate name, of which a map would keep only one.
fn twice(mut keys: Vec<String>) -> Option<String> {
    keys.sort_unstable();
    let pair = keys.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(format!(
        "{:?} occurs twice; keep one of them",
        clipped(&pair[0])
    ))
}
