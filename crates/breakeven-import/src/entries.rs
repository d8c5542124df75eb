//! A list of a JSON document whose entries are read one by one: an entry that is not as it
//! should be is left out and named, and the others are kept.

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;

use crate::note::Notes;

/// The entries, and what was wrong with the others.
pub(crate) struct Entries<T> {
    pub(crate) read: Vec<T>,
    wrong: Vec<String>,
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
        for place in &self.wrong {
            let why = "they are not as the tool writes them";
            notes.leave_out("result(s)", why, place);
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut read, mut wrong) = (Vec::new(), Vec::new());
        let all: Vec<Entry<T>> = Deserialize::deserialize(deserializer)?;
        for (number, Entry(entry)) in (1..).zip(all) {
            match entry {
                Ok(entry) => read.push(entry),
                Err(why) => wrong.push(format!("number {number}{why}")),
            }
        }
        Ok(Self { read, wrong })
    }
}

/// An entry, or its name and what is wrong with it.
struct Entry<T>(Result<T, String>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Entry<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let name = NAMES.iter().find_map(|key| value.get(*key)?.as_str());
        let name = name.map_or_else(String::new, |name| format!(", {name}"));
        let read = serde_path_to_error::deserialize(value);
        Ok(Self(read.map_err(|error| format!("{name}: {error}"))))
    }
}
