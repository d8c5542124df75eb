//! JSON of other tools: which keys a beginning has, and reading into a type with the
//! place of what is wrong.

use std::collections::BTreeSet;
use std::fmt;

use breakeven_profile::file::{FileError, FileErrorKind};
use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess};
use serde::de::{SeqAccess, Visitor};
use serde_json::error::Category;

use crate::source::Source;

/// How deep keys are looked at.
const DEPTH: usize = 4;

/// Keys of the document that begins so, each with those around it: `results`,
/// `results[].command`. Empty for what is no JSON.
pub(crate) fn keys(beginning: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut json = serde_json::Deserializer::from_slice(beginning);
    let keys = Keys {
        at: String::new(),
        depth: 0,
        found: &mut found,
    };
    // A beginning ends in the middle: what came before counts.
    let _ = keys.deserialize(&mut json);
    found
}

struct Keys<'f> {
    at: String,
    depth: usize,
    found: &'f mut BTreeSet<String>,
}

impl Keys<'_> {
    fn inside(&mut self, at: String) -> Keys<'_> {
        Keys {
            at,
            depth: self.depth + 1,
            found: self.found,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.depth >= DEPTH {
            return IgnoredAny::deserialize(deserializer).map(drop);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let at = match self.at.is_empty() {
                true => key,
                false => format!("{}.{key}", self.at),
            };
            self.found.insert(at.clone());
            map.next_value_seed(self.inside(at))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let at = format!("{}[]", self.at);
        self.found.insert(at.clone());
        while list.next_element_seed(self.inside(at.clone()))?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Reads a document that fits into memory.
pub(crate) fn read<T: DeserializeOwned>(source: Source) -> Result<T, FileError> {
    read_with(source, |json| T::deserialize(json))
}

/// Reads a document piece by piece: `visit` is given the deserializer.
pub(crate) fn read_with<T>(
    source: Source,
    visit: impl FnOnce(
        serde_path_to_error::Deserializer<
            '_,
            '_,
            &mut serde_json::Deserializer<serde_json::de::IoRead<Box<dyn std::io::BufRead>>>,
        >,
    ) -> Result<T, serde_json::Error>,
) -> Result<T, FileError> {
    let path = source.path().to_owned();
    not_empty(&source)?;
    let reader: Box<dyn std::io::BufRead> = Box::new(source.into_reader()?);
    let mut json = serde_json::Deserializer::from_reader(reader);
    let mut track = serde_path_to_error::Track::new();
    let read = visit(serde_path_to_error::Deserializer::new(
        &mut json, &mut track,
    ));
    let read = read.and_then(|value| json.end().map(|()| value));
    read.map_err(|error| explained(&error, &track.path().to_string()).at_path(&path))
}

/// Reads a document that may be longer than memory: `visit` keeps of it what it needs, and
/// `place` tells where it was. Faster than [`read_with`], which notes every key.
pub(crate) fn stream<T>(
    source: Source,
    visit: impl for<'de> DeserializeSeed<'de, Value = T>,
    place: impl Fn() -> String,
) -> Result<T, FileError> {
    let path = source.path().to_owned();
    not_empty(&source)?;
    let mut json = serde_json::Deserializer::from_reader(source.into_reader()?);
    let read = visit.deserialize(&mut json);
    let read = read.and_then(|value| json.end().map(|()| value));
    read.map_err(|error| explained(&error, &place()).at_path(&path))
}

fn not_empty(source: &Source) -> Result<(), FileError> {
    if source.head().iter().all(u8::is_ascii_whitespace) {
        let told = "the file is empty; look whether its writer ran";
        return Err(FileError::new(FileErrorKind::Empty, told).at_path(source.path()));
    }
    Ok(())
}

fn explained(error: &serde_json::Error, place: &str) -> FileError {
    let position = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let text = match text.strip_suffix(&position).unwrap_or(&text) {
        "trailing characters" => "something follows the end of the document",
        text => text,
    };
    let (kind, message) = match error.classify() {
        Category::Io => (FileErrorKind::Io, format!("cannot be read: {text}")),
        Category::Eof => (
            FileErrorKind::Truncated,
            "the file ends early; its writer was stopped or the copy is incomplete: copy or \
             measure again"
                .to_owned(),
        ),
        Category::Syntax => (FileErrorKind::Syntax, format!("not valid JSON: {text}")),
        Category::Data => (FileErrorKind::Value, text.to_owned()),
    };
    let told = FileError::new(kind, message).at_position(error.line(), error.column());
    match place {
        "" | "." => told,
        place => told.at_place(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_beginning() {
        let text = br#"{"a": [{"b": 1, "c": {"d": null}}, {"e": "x"}], "f": tru"#;
        let found: Vec<String> = keys(text).into_iter().collect();
        assert_eq!(
            found,
            ["a", "a[]", "a[].b", "a[].c", "a[].c.d", "a[].e", "f"]
        );
        assert!(keys(b"no JSON").is_empty());
        assert!(keys(&b"[".repeat(10_000)).len() <= DEPTH);
    }
}
