//! The top level of a document, handing over one operation at a time.

use std::collections::HashMap;
use std::fmt;

use serde::de::value::{Error as ValueError, MapAccessDeserializer, StrDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::error::{FileError, FileErrorKind, clipped};
use super::header::Header;
use super::operation::{FIELDS, Object};
use crate::profile::{
    Activity, LoadRecord, Operation, OperationKey, Profile, Run, Stack, Timeline,
};

/// What the reader learns beside the profile itself.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) is_object: bool,
    /// An error of ours. serde's own error type has room for its text only.
    pub(super) error: Option<FileError>,
}

impl Findings {
    fn raise<E: Error>(&mut self, error: FileError) -> E {
        let text = E::custom(error.message());
        self.error = Some(error);
        text
    }
}

/// Reads a document into a profile without operations; `each` gets those.
pub(super) struct Document<'a, F> {
    pub(super) findings: &'a mut Findings,
    pub(super) each: F,
}

impl<'de, F: FnMut(Operation)> DeserializeSeed<'de> for Document<'_, F> {
    type Value = Profile;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Profile, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, F: FnMut(Operation)> Visitor<'de> for Document<'_, F> {
    type Value = Profile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a profile, which is an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Profile, A::Error> {
        self.findings.is_object = true;
        let mut header = Header::default();
        let mut profile = Profile::default();
        let mut seen = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            header.key(&key);
            let field = <StrDeserializer<'_, ValueError>>::new(&key);
            let Ok(field) = Field::deserialize(field) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if seen.contains(&field) {
                let error = FileError::new(
                    FileErrorKind::Value,
                    "the key occurs twice; keep one of them",
                );
                return Err(self.findings.raise(error.at_place(key)));
            }
            seen.push(field);
            match field {
                Field::Format => header
                    .format(&map.next_value()?)
                    .map_err(|error| self.findings.raise(error))?,
                Field::Version => header
                    .version(map.next_value()?)
                    .map_err(|error| self.findings.raise(error))?,
                Field::Created => profile.created = map.next_value()?,
                Field::Generator => profile.generator = map.next_value()?,
                Field::Interrupted => profile.interrupted = map.next_value()?,
                Field::Benchmark => profile.benchmark = map.next_value()?,
                Field::Environment => Object(profile.environment) = map.next_value()?,
                Field::Evidence => Object(profile.evidence) = map.next_value()?,
                Field::Operations => map.next_value_seed(Operations {
                    findings: self.findings,
                    each: &mut self.each,
                })?,
                Field::Stacks => {
                    let stacks: Vec<Object<Stack>> = map.next_value()?;
                    profile.stacks = stacks.into_iter().map(|Object(stack)| stack).collect();
                }
                Field::Timeline => {
                    let timeline: Option<Object<Timeline>> = map.next_value()?;
                    profile.timeline = timeline.map(|Object(timeline)| timeline);
                }
                Field::Activity => {
                    let activity: Vec<Object<Activity>> = map.next_value()?;
                    profile.activity = activity.into_iter().map(|Object(one)| one).collect();
                }
                Field::Load => {
                    let load: Vec<Object<LoadRecord>> = map.next_value()?;
                    profile.load = load.into_iter().map(|Object(one)| one).collect();
                }
            }
        }
        header
            .finish()
            .map_err(|error| self.findings.raise(error))?;
        Ok(profile)
    }
}

/// The top-level keys that mean something.
#[derive(Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Field {
    Format,
    Version,
    Created,
    Generator,
    Interrupted,
    Benchmark,
    Environment,
    Evidence,
    Operations,
    Stacks,
    Timeline,
    Activity,
    Load,
}

/// Hands over the list of operations one by one.
struct Operations<'a, F> {
    findings: &'a mut Findings,
    each: &'a mut F,
}

impl<'de, F: FnMut(Operation)> DeserializeSeed<'de> for Operations<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(Operation)> Visitor<'de> for Operations<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of operations")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut keys = Keys::default();
        while let Some(operation) = list.next_element_seed(Next {
            findings: &mut *self.findings,
            keys: &mut keys,
        })? {
            (self.each)(operation);
        }
        Ok(())
    }
}

/// Reads the next operation. It is compared with those before it while the
/// parser is still at its end, so that an error has its line.
struct Next<'a> {
    findings: &'a mut Findings,
    keys: &'a mut Keys,
}

impl<'de> DeserializeSeed<'de> for Next<'_> {
    type Value = Operation;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Operation, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Next<'_> {
    type Value = Operation;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an operation, an object with a name")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Operation, A::Error> {
        let mut keys = Vec::new();
        let watched = Watched {
            map,
            keys: &mut keys,
        };
        let operation = Operation::deserialize(MapAccessDeserializer::new(watched))?;
        match misspelt(&keys).map_or_else(|| self.keys.note(&operation), Err) {
            Ok(()) => Ok(operation),
            Err(error) => Err(self.findings.raise(error)),
        }
    }
}

/// An operation's fields, whose names are remembered.
struct Watched<'a, A> {
    map: A,
    keys: &'a mut Vec<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Watched<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some(key) = self.map.next_key::<String>()? else {
            return Ok(None);
        };
        let field = seed.deserialize(<StrDeserializer<'_, A::Error>>::new(&key))?;
        self.keys.push(key);
        Ok(Some(field))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// Of an operation without any field for what was measured, the unknown field that is most
/// likely a known one: otherwise a wrong letter would lose all samples without a word.
fn misspelt(keys: &[String]) -> Option<FileError> {
    let is_measured = |key: &String| ["runs", "samples_ns", "failure"].contains(&&key[..]);
    if keys.iter().any(is_measured) {
        return None;
    }
    let unknown = keys
        .iter()
        .filter(|key| FIELDS.split(' ').all(|known| known != *key));
    let likeness = |one: &'_ String, field| (strsim::jaro_winkler(one, field), one.clone(), field);
    let of = |one| FIELDS.split(' ').map(move |field| likeness(one, field));
    let (_, one, field) = unknown.flat_map(of).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let message = format!(
        "the operation has no samples, and its field {:?} is unknown; did you mean {field}?",
        clipped(&one)
    );
    Some(FileError::new(FileErrorKind::Value, message))
}

/// The operations seen so far, each with its index: none may be there twice.
#[derive(Default)]
pub(super) struct Keys(HashMap<OperationKey, usize>);

impl Keys {
    /// Takes the next operation of the list.
    pub(super) fn note(&mut self, operation: &Operation) -> Result<(), FileError> {
        let index = self.0.len();
        for (number, run) in operation.runs.iter().enumerate() {
            moments(run, &format!("operations[{index}].runs[{number}].moments"))?;
            let mut counted = run.counters.keys();
            if let Some(name) = counted.find(|name| !operation.counters.contains_key(*name)) {
                let name = clipped(name);
                return Err(FileError::new(
                    FileErrorKind::Value,
                    format!("{name:?} is not among the operation's counters; name its unit there"),
                )
                .at_place(format!("operations[{index}].runs[{number}].counters")));
            }
        }
        match self.0.insert(operation.key(), index) {
            None => Ok(()),
            Some(first) => Err(FileError::new(
                FileErrorKind::Value,
                format!(
                    "the same operation as operations[{first}], {}; give them different \
                     sizes, or put both in one operation as two runs",
                    clipped(&operation.key().to_string())
                ),
            )
            .at_place(format!("operations[{index}]"))),
        }
    }
}

/// Finds figures over all calls of a run that no calls can have.
fn moments(run: &Run, place: &str) -> Result<(), FileError> {
    let Some(moments) = &run.moments else {
        return Ok(());
    };
    let (calls, kept) = (moments.count(), run.samples_ns.len() as u64);
    let message = if calls < kept {
        Some(format!(
            "they count {calls} of the calls, and samples_ns has {kept}; count all calls of the run"
        ))
    } else if moments.total() < 0.0 || moments.min().is_some_and(|least| least < 0.0) {
        Some("a time in them is less than 0; times are from 0 to 2^63 ns".to_owned())
    } else {
        None
    };
    message.map_or(Ok(()), |message| {
        Err(FileError::new(FileErrorKind::Value, message).at_place(place))
    })
}
