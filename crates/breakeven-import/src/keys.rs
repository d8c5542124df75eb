//! The keys that the beginning of a JSON document has.

use std::collections::BTreeSet;

use crate::mended::Mended;
use crate::raw::Raw;
use crate::walk::{Parts, Walk, Want};

/// How deep keys are looked at.
const DEPTH: usize = 4;

/// Keys of the document that begins so, each with those around it: `results`,
/// `results[].command`. Empty for what is no JSON.
pub(crate) fn keys(beginning: &[u8]) -> BTreeSet<String> {
    let mut keys = Keys::default();
    // A beginning ends in the middle: what came before counts.
    let _ = Walk::of(beginning, &mut keys, Mended::default()).document();
    keys.0
}

#[derive(Default)]
struct Keys(BTreeSet<String>);

impl Parts for Keys {
    fn want(&mut self, place: &str) -> Result<Want, String> {
        if place.is_empty() {
            return Ok(Want::Any);
        }
        if !self.0.contains(place) {
            self.0.insert(place.to_owned());
        }
        let depth = place.split('.').map(|key| 1 + key.matches("[]").count());
        Ok(match depth.sum::<usize>() < DEPTH {
            true => Want::Any,
            false => Want::Nothing,
        })
    }

    fn part(&mut self, _: &str, _: Raw<'_>) -> Result<(), String> {
        Ok(())
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
