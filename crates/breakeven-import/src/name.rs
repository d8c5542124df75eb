//! Texts of a file as a profile may hold them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

/// The longest name of a profile file, bytes.
const MOST: usize = 65_536;

/// What is kept of a longer one, and of a message, characters.
const BEGINNING: usize = 1_000;

/// A name that a profile can hold.
pub(crate) struct Name<'t> {
    pub(crate) text: Cow<'t, str>,
    pub(crate) is_shortened: bool,
}

/// The name; where it is too long its beginning and a hash, so that two that begin alike
/// stay apart.
pub(crate) fn bounded(name: &str) -> Name<'_> {
    let is_shortened = name.len() > MOST;
    let text = match name {
        "" => Cow::Borrowed("(unnamed)"),
        long if is_shortened => {
            let hash = xxh3_64(long.as_bytes());
            Cow::Owned(format!("{}… ({hash:016x})", beginning(long)))
        }
        name => Cow::Borrowed(name),
    };
    Name { text, is_shortened }
}

/// A message in one line of bounded length.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = beginning(text).split_whitespace().collect();
    words.join(" ")
}

/// A name with its parameters behind it: `Sorting.quick(size=1000)`.
pub(crate) fn with_parameters(name: &str, space: &str, all: &BTreeMap<String, Value>) -> String {
    let parameter = |(name, value): (&String, &Value)| format!("{name}={}", plain(value));
    with_details(name, space, all.iter().map(parameter))
}

/// A name with details of it in brackets, if there are any.
pub(crate) fn with_details<T: AsRef<str>>(
    name: &str,
    space: &str,
    details: impl IntoIterator<Item = T>,
) -> String {
    let mut text = name.to_owned();
    let mut before = [space, "("].concat();
    for detail in details {
        text.extend([&before, detail.as_ref()]);
        before = ", ".to_owned();
    }
    if text.len() > name.len() {
        text.push(')');
    }
    text
}

/// A value as a text: without quotes if it is one.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(BEGINNING);
    end.map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_stay_apart() {
        let long = "µ".repeat(MOST);
        let (one, other) = (format!("{long}a"), format!("{long}b"));
        assert_ne!(bounded(&one).text, bounded(&other).text);
        assert!(bounded(&one).is_shortened && bounded(&one).text.len() < MOST);
        assert_eq!(bounded("f").text, "f");
        assert_eq!(bounded("").text, "(unnamed)");
    }

    #[test]
    fn messages_are_one_line() {
        assert_eq!(one_line(" no\nsuch\t file\r\n"), "no such file");
    }
}
