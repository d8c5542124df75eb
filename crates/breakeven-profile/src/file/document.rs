//! The top level of a document, handing over one operation at a time.

use std::collections::HashMap;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
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
        let mut keys: Vec<String> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            header.key(&key);
            let is_known = TOP.split(' ').any(|known| known == key);
            if is_known && keys.contains(&key) {
                let told = "the key occurs twice; keep one of them";
                let error = FileError::new(FileErrorKind::Value, told);
                return Err(self.findings.raise(error.at_place(key)));
            }
            match key.as_str() {
                "format" => header
                    .format(&map.next_value()?)
                    .map_err(|error| self.findings.raise(error))?,
                "version" => header
                    .version(map.next_value()?)
                    .map_err(|error| self.findings.raise(error))?,
                "created" => profile.created = map.next_value()?,
                "generator" => profile.generator = map.next_value()?,
                "interrupted" => profile.interrupted = map.next_value()?,
                "benchmark" => profile.benchmark = map.next_value()?,
                "environment" => Object(profile.environment) = map.next_value()?,
                "evidence" => Object(profile.evidence) = map.next_value()?,
                "operations" => map.next_value_seed(Operations {
                    findings: self.findings,
                    each: &mut self.each,
                })?,
                "stacks" => {
                    let stacks: Vec<Object<Stack>> = map.next_value()?;
                    profile.stacks = stacks.into_iter().map(|Object(stack)| stack).collect();
                }
                "timeline" => {
                    let timeline: Option<Object<Timeline>> = map.next_value()?;
                    profile.timeline = timeline.map(|Object(timeline)| timeline);
                }
                "activity" => {
                    let activity: Vec<Object<Activity>> = map.next_value()?;
                    profile.activity = activity.into_iter().map(|Object(one)| one).collect();
                }
                "load" => {
                    let load: Vec<Object<LoadRecord>> = map.next_value()?;
                    profile.load = load.into_iter().map(|Object(one)| one).collect();
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
            if is_known || keys.len() < MOST_KEYS {
                keys.push(key);
            }
        }
        header
            .finish()
            .map_err(|error| self.findings.raise(error))?;
        match misspelt(&keys, TOP, ALIKE, "the") {
            Some(error) => Err(self.findings.raise(error)),
            None => Ok(profile),
        }
    }
}

/// Keys of the top level among which a misspelt one is looked for.
const MOST_KEYS: usize = 64;

/// The top-level keys that mean something.
const TOP: &str = "format version created generator interrupted benchmark environment evidence \
                   operations stacks timeline activity load";

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
        match misspelt_in_operation(&keys).map_or_else(|| self.keys.note(&operation), Err) {
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

/// How alike a field that is unknown and one that is missing are at least if one is the other
/// with a wrong letter (Jaro and Winkler).
const ALIKE: f64 = 0.9;

/// The error of the unknown field that is most likely one of those that are missing: otherwise
/// a wrong letter would lose what it holds without a word.
fn misspelt(keys: &[String], fields: &'static str, least: f64, whose: &str) -> Option<FileError> {
    let fields: Vec<&str> = fields.split(' ').collect();
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
    let message = format!("{whose} field {key:?} is unknown; did you mean {field}?");
    Some(FileError::new(FileErrorKind::Value, message))
}

/// The error of a misspelt field of an operation; of one without any field for what was
/// measured whatever is most like one.
fn misspelt_in_operation(keys: &[String]) -> Option<FileError> {
    let is_measured = |key: &String| ["runs", "samples_ns", "failure"].contains(&&key[..]);
    match keys.iter().any(is_measured) {
        true => misspelt(keys, FIELDS, ALIKE, "its"),
        false => misspelt(keys, FIELDS, 0.0, "the operation has no samples, and its"),
    }
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
