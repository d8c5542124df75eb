//! A value of any shape, as it is written: what it is of the kind that is asked for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The farthest from its clock's zero that a time may be, ns: 146 years.
const FARTHEST_NS: u64 = 1 << 62;

/// A value, or none.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Raw<'t>(#[serde(borrow)] Option<&'t RawValue>);

impl<'t> Raw<'t> {
    /// The value, if it is of that type.
    pub(crate) fn read<T: Deserialize<'t>>(self) -> Option<T> {
        serde_json::from_str(self.0?.get()).ok()
    }

    /// The entries of a list, each if it is of that type.
    pub(crate) fn entries<T: Deserialize<'t>>(self) -> impl Iterator<Item = Option<T>> {
        let entries: Vec<Self> = self.read().unwrap_or_default();
        entries.into_iter().map(Self::read)
    }

    /// What it says: what is in a text, or the number or word.
    fn inner(self) -> &'t str {
        let text = self.0.map_or("", RawValue::get);
        let inner = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        inner.unwrap_or(text).trim()
    }

    /// A text, or what stands for one: a number, true, what is in an object; else nothing.
    pub(crate) fn text(self) -> Cow<'t, str> {
        let text = self.0.map_or("", RawValue::get);
        match text.as_bytes().first() {
            Some(b'"') if !text.contains('\\') => Cow::Borrowed(&text[1..text.len() - 1]),
            Some(b'"') => Cow::Owned(self.read().unwrap_or_default()),
            // As in `id2`: {"local": "0x1"}.
            Some(b'{') => {
                let inside: BTreeMap<String, Raw<'_>> = self.read().unwrap_or_default();
                Cow::Owned(inside.values().map(|value| value.inner()).collect())
            }
            Some(b'[') => Cow::Borrowed(""),
            _ => Cow::Borrowed(text),
        }
    }

    /// A number, also as a text.
    pub(crate) fn number(self) -> Option<f64> {
        self.inner().parse().ok()
    }

    /// A whole number that is not negative.
    #[expect(clippy::cast_sign_loss, reason = "the range begins at zero")]
    pub(crate) fn count(self) -> Option<u64> {
        let is_count = |value: &f64| (0.0..9e15).contains(value) && value.fract() == 0.0;
        let whole = self.inner().parse().ok();
        whole.or_else(|| Some(self.number().filter(is_count)? as u64))
    }

    /// A time of a trace, a number in a unit of so many ns, as ns of its clock.
    pub(crate) fn ns(self, unit_ns: u32) -> Option<i64> {
        let (text, unit) = (self.inner(), i64::from(unit_ns));
        let ns = match text.parse::<i64>() {
            Ok(whole) => whole.checked_mul(unit),
            Err(_) => {
                // The whole part times the unit is exact, where the product of all is not.
                let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
                let fraction = (value.fract() * f64::from(unit_ns)).round() as i64;
                (value.trunc() as i64)
                    .checked_mul(unit)?
                    .checked_add(fraction)
            }
        };
        ns.filter(|ns| ns.unsigned_abs() <= FARTHEST_NS)
    }

    /// Three counts, as of a launch's grid: `[64, 1, 1]`, or rocprofv3's `{"x": 64, …}`.
    pub(crate) fn three(self) -> Option<[u64; 3]> {
        let three = match self.read::<Vec<Raw<'_>>>() {
            Some(list) => [0, 1, 2].map(|at| list.get(at)?.count()),
            None => {
                let axes: BTreeMap<String, Raw<'_>> = self.read()?;
                ["x", "y", "z"].map(|axis| axes.get(axis)?.count())
            }
        };
        Some([three[0]?, three[1].unwrap_or(1), three[2].unwrap_or(1)])
    }
}

/// [`Raw::text`] as a field's `deserialize_with`; so are the others.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'de, str>, D::Error> {
    Ok(Raw::deserialize(from)?.text())
}

pub(crate) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(Raw::deserialize(from)?.count())
}

pub(crate) fn three<'de, D: Deserializer<'de>>(from: D) -> Result<Option<[u64; 3]>, D::Error> {
    Ok(Raw::deserialize(from)?.three())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        serde_json::from_str(text).expect(text)
    }

    #[test]
    fn values_of_any_shape() {
        assert_eq!(raw("12.5").ns(1_000), Some(12_500));
        assert_eq!(raw("\" 7 \"").count(), Some(7));
        assert_eq!(raw("2.0").count(), Some(2));
        for none in ["null", "\"nan\"", "\"inf\"", "1e999", "[1]", "-1e30"] {
            assert_eq!(
                (raw(none).ns(1_000), raw(none).count()),
                (None, None),
                "{none}"
            );
        }
        assert_eq!(raw(r#"{"x": 2, "y": 3}"#).three(), Some([2, 3, 1]));
        assert_eq!(raw("[4]").three(), Some([4, 1, 1]));
        assert_eq!(raw(r#"{"local": "0x1"}"#).text(), "0x1");
        assert_eq!(raw(r#""a\n""#).text(), "a\n");
    }

    #[test]
    fn what_is_nested_deep_is_no_text() {
        let deep = "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000);
        assert!(raw(&deep).text().len() < deep.len());
    }
}
