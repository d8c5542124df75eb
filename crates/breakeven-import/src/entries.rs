//! A list of a JSON document whose entries are read one by one: an entry that is not as it
//! should be is left out and named, and the others are kept. So is a value inside an entry
//! that may be missing.

use breakeven_profile::file::in_words;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use crate::note::Notes;

/// The entries, and what was left out: what it is, its place, and what is wrong with it.
pub(crate) struct Entries<T> {
    pub(crate) read: Vec<T>,
    left_out: Vec<(&'static str, String)>,
}

/// Keys of an entry's name in the formats that are read.
const NAMES: [&str; 6] = [
    "name",
    "fullname",
    "benchmark",
    "command",
    "FullName",
    "tag",
];

impl<T> Entries<T> {
    /// Those that could be read; the others are noted.
    pub(crate) fn noted(self, notes: &mut Notes) -> Vec<T> {
        self.note(notes);
        self.read
    }

    pub(crate) fn note(&self, notes: &mut Notes) {
        for (what, place) in &self.left_out {
            notes.leave_out(what, "they are not as the tool writes them", place);
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all: Vec<Value> = Deserialize::deserialize(deserializer)?;
        let (mut read, mut left_out) = (Vec::new(), Vec::new());
        for (number, entry) in (1..).zip(all) {
            let name = NAMES.iter().find_map(|key| entry.get(key)?.as_str());
            let name = name.map_or_else(String::new, |name| format!(", {name}"));
            let (whats, wrong) = match lenient(entry) {
                Ok((entry, odd)) => {
                    read.push(entry);
                    ("value(s)", odd)
                }
                Err(why) => ("result(s)", vec![why]),
            };
            let places = wrong
                .iter()
                .map(|why| format!("number {number}{name}: {why}"));
            left_out.extend(places.map(|place| (whats, place)));
        }
        Ok(Self { read, left_out })
    }
}

/// Most values of one entry that may be of another shape.
const MOST_ODD: usize = 64;

/// Reads a value. What in it is of another shape than the tool writes is read as missing,
/// if it may be, and returned beside it with its place.
pub(crate) fn lenient<T: DeserializeOwned>(mut value: Value) -> Result<(T, Vec<String>), String> {
    let (mut odd, mut first) = (Vec::new(), None);
    for _ in 0..=MOST_ODD {
        let error = match serde_path_to_error::deserialize(&value) {
            Ok(read) => return Ok((read, odd)),
            Err(error) => error,
        };
        let text = in_words(&error.to_string());
        let taken = take(&mut value, error.path());
        if taken.as_ref().is_some_and(|taken| !taken.is_null()) {
            odd.push(text.clone());
        }
        first.get_or_insert(text);
        if taken.is_none() {
            break;
        }
    }
    Err(first.unwrap_or_default())
}

/// Takes the value at a place out of a document. In a list, whose other entries keep their
/// places, null stands for it, unless that is what was wrong.
fn take(document: &mut Value, place: &Path) -> Option<Value> {
    let mut steps: Vec<&Segment> = place.iter().collect();
    let last = steps.pop()?;
    let around = steps
        .into_iter()
        .try_fold(document, |around, step| match step {
            Segment::Map { key } => around.get_mut(key),
            Segment::Seq { index } => around.get_mut(index),
            _ => None,
        })?;
    match (around, last) {
        (Value::Object(map), Segment::Map { key }) => map.remove(key),
        (Value::Array(list), Segment::Seq { index }) => match list.get_mut(*index)? {
            Value::Null => Some(list.remove(*index)),
            entry => Some(entry.take()),
        },
        _ => None,
    }
}
