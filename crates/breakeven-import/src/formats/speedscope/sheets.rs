//! One profile of a speedscope file: events as they come, or samples with their weights.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::state::Read;
use crate::fields::KeyOf;
use crate::trace::When;

/// A profile that is read.
pub(super) struct Sheet<'r> {
    read: &'r mut Read,
    name: String,
    /// ns of a unit.
    unit_ns: Option<f64>,
}

impl<'r> Sheet<'r> {
    pub(super) fn of(read: &'r mut Read) -> Self {
        Self {
            read,
            name: String::new(),
            unit_ns: None,
        }
    }

    /// ns of a unit of that name.
    fn unit<E: Error>(&self, unit: &str) -> Result<f64, E> {
        match (unit, self.read.count_ns) {
            ("nanoseconds", _) => Ok(1.0),
            ("microseconds", _) => Ok(1e3),
            ("milliseconds", _) => Ok(1e6),
            ("seconds", _) => Ok(1e9),
            ("none", Some(count_ns)) => Ok(count_ns),
            ("none", None) => Err(E::custom(
                "its unit is none, so its weights are counts of samples; give the unit: the rate \
                 of the samples, as in 100hz",
            )),
            (unit, _) => Err(E::custom(format_args!(
                "its unit is {unit:?}, which is not a unit of time; export a profile of times"
            ))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Sheet<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

const KEYS: &[&str] = &["type", "name", "unit", "events", "samples", "weights"];

impl<'de> Visitor<'de> for Sheet<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a profile, an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let (mut paths, mut weights) = (None, None);
        while let Some(key) = map.next_key_seed(KeyOf(KEYS))? {
            match key {
                Some("name") => self.name = map.next_value()?,
                Some("unit") => {
                    let unit: String = map.next_value()?;
                    self.unit_ns = Some(self.unit(&unit)?);
                }
                Some("events") => {
                    let unit_ns = self.unit_ns;
                    let unit_ns = unit_ns.ok_or_else(|| A::Error::missing_field("unit"))?;
                    map.next_value_seed(Events {
                        track: self.read.trace.track(&self.name),
                        read: self.read,
                        unit_ns,
                    })?;
                }
                Some("samples") => paths = Some(map.next_value_seed(Samples(self.read))?),
                Some("weights") => weights = Some(map.next_value::<Vec<f64>>()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let Some(paths) = paths else { return Ok(()) };
        let unit_ns = self
            .unit_ns
            .ok_or_else(|| A::Error::missing_field("unit"))?;
        let weights = weights.ok_or_else(|| A::Error::missing_field("weights"))?;
        if paths.len() != weights.len() {
            return Err(A::Error::custom(format_args!(
                "it has {} samples and {} weights",
                paths.len(),
                weights.len()
            )));
        }
        self.read.samples += paths.len() as u64;
        for (path, weight) in paths.into_iter().zip(weights) {
            self.read.folded.sample(path, weight * unit_ns);
        }
        Ok(())
    }
}

/// The events of a profile.
struct Events<'r> {
    read: &'r mut Read,
    track: u32,
    unit_ns: f64,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: Kind,
    at: f64,
    frame: u64,
}

#[derive(Deserialize)]
enum Kind {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

impl<'de> DeserializeSeed<'de> for Events<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut open: Vec<(u64, i64)> = Vec::new();
        let mut number = 0_u64;
        while let Some(event) = list.next_element::<Event>()? {
            self.read.evented += 1;
            let ns = event.at * self.unit_ns;
            if !ns.is_finite() || ns.abs() > (1_u64 << 62) as f64 {
                return Err(A::Error::custom(format_args!(
                    "events[{number}]: {} is not a time",
                    event.at
                )));
            }
            let at = ns.round() as i64;
            match event.kind {
                Kind::Open => open.push((event.frame, at)),
                Kind::Close => {
                    let begun = open.pop().filter(|(frame, _)| *frame == event.frame);
                    let when = begun.and_then(|(_, start)| When::between(start, at));
                    let Some(when) = when else {
                        return Err(A::Error::custom(format_args!(
                            "events[{number}]: it closes frame {}, which was not the last to \
                             be opened, or ends before it began",
                            event.frame
                        )));
                    };
                    let operation = self.read.operation(event.frame);
                    self.read.trace.call(operation, self.track, when);
                }
            }
            number += 1;
        }
        self.read.unclosed += open.len() as u64;
        Ok(())
    }
}

/// The samples of a profile, each as its call path.
struct Samples<'r>(&'r mut Read);

impl<'de> DeserializeSeed<'de> for Samples<'_> {
    type Value = Vec<Option<usize>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Samples<'_> {
    type Value = Vec<Option<usize>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of samples")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut paths = Vec::new();
        while let Some(path) = list.next_element_seed(Stack(&mut *self.0))? {
            paths.push(path);
        }
        Ok(paths)
    }
}

/// The frames of a sample, the outermost first.
struct Stack<'r>(&'r mut Read);

impl<'de> DeserializeSeed<'de> for Stack<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Stack<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of frames")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut at = None;
        while let Some(frame) = list.next_element::<u64>()? {
            let next = self.0.sampled.len();
            let number = *self.0.sampled.entry(frame).or_insert(next);
            at = self.0.folded.step(at, number);
        }
        Ok(at)
    }
}
