//! The keys that the beginning of a JSON document has.

use std::collections::BTreeSet;
use std::io::BufReader;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::fields::{expects, passes_over};
use crate::lenient::Lenient;
use crate::mended::Mended;
use crate::utf8::Utf8;

/// How deep keys are looked at.
const DEPTH: usize = 4;

/// Keys of the document that begins so, each with those around it: `results`,
/// `results[].command`. Empty for what is no JSON.
pub(crate) fn keys(beginning: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let text = BufReader::new(Utf8::of(beginning, Mended::default()));
    let mut json = serde_json::Deserializer::from_reader(Lenient::of(text, Mended::default()));
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

    expects!("anything");

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

    passes_over!(bool null text numbers);
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
