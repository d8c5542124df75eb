//! Data for the script.

use std::fmt::Write;

use serde::Serialize;

/// JSON that may stand inside a script element. The replaced characters occur in texts only.
pub(crate) fn script_safe(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(safe, "\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// A number as JSON: an integer if it is one, and `null` if it is not finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number(pub(crate) Option<f64>);

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(Some(value))
    }
}

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.filter(|value| value.is_finite()) {
            None => serializer.serialize_none(),
            // Beyond this, a double has no fraction digits.
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 9e15 => {
                serializer.serialize_i64(whole as i64)
            }
            Some(value) => serializer.serialize_f64(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_short() {
        let numbers = [1.0, -0.0, 0.25, f64::NAN, 1e300].map(Number::from);
        let json = serde_json::to_string(&(numbers, Number(None))).expect("numbers");
        assert_eq!(json, "[[1,0,0.25,null,1e+300],null]");
    }

    proptest! {
        #[test]
        fn json_stays_the_same_and_cannot_end_its_script(text in "\\PC*|[<>&\u{2028}/a-z!-]*") {
            let json = serde_json::to_string(&text).expect("a text");
            let safe = script_safe(&json);
            let is_left = safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']);
            prop_assert!(!is_left);
            let read: String = serde_json::from_str(&safe).expect("still JSON");
            prop_assert_eq!(read, text);
        }
    }
}
