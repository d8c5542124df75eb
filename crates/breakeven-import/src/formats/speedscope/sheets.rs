//! One profile of a speedscope file: events as they come, or samples with their weights.

use serde::Deserialize;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::state::Read;
use crate::fields::{Count, KeyOf, Text, expects, seed};
use crate::json::{Entry, Number};
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

seed!(Sheet<'_> => (), deserialize_map);

const KEYS: &[&str] = &["type", "name", "unit", "events", "samples", "weights"];

impl<'de> Visitor<'de> for Sheet<'_> {
    type Value = ();

    expects!("a profile, an object");

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let (mut paths, mut weights) = (None, None);
        while let Some(key) = map.next_key_seed(KeyOf(KEYS))? {
            match key {
                Some("name") => map.next_value_seed(Text(&mut self.name))?,
                Some("unit") => {
                    let unit: String = map.next_value()?;
                    self.unit_ns = Some(self.unit(&unit)?);
                }
                Some("events") => {
                    let unit_ns = self.unit_ns;
                    let unit_ns = unit_ns.ok_or_else(|| A::Error::missing_field("unit"))?;
                    map.next_value_seed(Events {
                        track: self.read.trace.track(&self.name),
                        name: &self.name,
                        read: self.read,
                        unit_ns,
                    })?;
                }
                Some("samples") => paths = Some(map.next_value_seed(Samples(self.read))?),
                Some("weights") => weights = Some(map.next_value::<Vec<Number>>()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let Some(paths) = paths else { return Ok(()) };
        let unit_ns = self
            .unit_ns
            .ok_or_else(|| A::Error::missing_field("unit"))?;
        let weights = weights.ok_or_else(|| A::Error::missing_field("weights"))?;
        self.read.unweighted += paths.len().abs_diff(weights.len()) as u64;
        self.read.samples += paths.len() as u64;
        for (path, weight) in paths.into_iter().zip(weights) {
            self.read.folded.sample(path, weight.0 * unit_ns);
        }
        Ok(())
    }
}

/// The events of a profile.
struct Events<'r> {
    read: &'r mut Read,
    name: &'r str,
    track: u32,
    unit_ns: f64,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: Kind,
    at: Number,
    frame: u64,
}

#[derive(Deserialize)]
enum Kind {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

impl Events<'_> {
    /// Closes the frame, and those inside that were not closed; false if it is not open, or
    /// ends before it began.
    fn close(&mut self, open: &mut Vec<(u64, i64)>, frame: u64, at: i64) -> bool {
        let begun = open.iter().rposition(|(begun, _)| *begun == frame);
        let Some((number, when)) = begun.and_then(|number| {
            let when = When::between(open[number].1, at)?;
            Some((number, when))
        }) else {
            return false;
        };
        self.read.unclosed += (open.len() - number - 1) as u64;
        open.truncate(number);
        let operation = self.read.operation(frame);
        self.read.trace.call(operation, self.track, when);
        true
    }
}

seed!(Events<'_> => (), deserialize_seq);

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    expects!("a list of events");

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let mut open: Vec<(u64, i64)> = Vec::new();
        let mut number = 0_u64;
        while let Some(event) = list.next_element::<Entry<Event>>()? {
            self.read.evented += 1;
            let event = event.ok().and_then(|event| {
                let ns = event.at.0 * self.unit_ns;
                (ns.abs() <= (1_u64 << 62) as f64)
                    .then(|| (event.kind, event.frame, ns.round() as i64))
            });
            match event {
                Some((Kind::Open, frame, at)) => open.push((frame, at)),
                Some((Kind::Close, frame, at)) if self.close(&mut open, frame, at) => {}
                _ => (self.read.wrong).add(|| format!("events[{number}] of {:?}", self.name)),
            }
            number += 1;
        }
        self.read.unclosed += open.len() as u64;
        Ok(())
    }
}

/// The samples of a profile, each as its call path.
struct Samples<'r>(&'r mut Read);

seed!(Samples<'_> => Vec<Option<usize>>, deserialize_seq);

impl<'de> Visitor<'de> for Samples<'_> {
    type Value = Vec<Option<usize>>;

    expects!("a list of samples");

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

seed!(Stack<'_> => Option<usize>, deserialize_seq);

impl<'de> Visitor<'de> for Stack<'_> {
    type Value = Option<usize>;

    expects!("a list of frames");

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (mut at, mut is_wrong) = (None, false);
        while let Some(frame) = list.next_element_seed(Count)? {
            let Some(frame) = frame else {
                is_wrong = true;
                continue;
            };
            let next = self.0.sampled.len();
            let number = *self.0.sampled.entry(frame).or_insert(next);
            at = self.0.folded.step(at, number);
        }
        Ok(at.filter(|_| !is_wrong))
    }
}
