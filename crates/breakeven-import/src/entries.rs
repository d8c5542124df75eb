//! A list of a JSON document whose entries are read one by one: an entry that is not as it
//! should be is left out and named, and the others are kept.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, SeqAccess, Visitor};
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

impl<T> Default for Entries<T> {
    fn default() -> Self {
        let (read, wrong) = (Vec::new(), Vec::new());
        Self { read, wrong }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(EntriesVisitor(PhantomData))
    }
}

struct EntriesVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for EntriesVisitor<T> {
    type Value = Entries<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entries<T>, A::Error> {
        let mut entries = Entries::default();
        let mut number = 0_u64;
        while let Some(value) = list.next_element::<Value>()? {
            number += 1;
            let name = NAMES.iter().find_map(|key| value.get(*key)?.as_str());
            let name = name.map_or_else(String::new, |name| format!(", {name}"));
            match serde_path_to_error::deserialize(value) {
                Ok(entry) => entries.read.push(entry),
                Err(error) => entries
                    .wrong
                    .push(format!("number {number}{name}: {error}")),
            }
        }
        Ok(entries)
    }
}
