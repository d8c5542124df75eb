//! A reading that may be impossible: known, or `Unknown`, never a stand-in.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A reading of the machine, or the statement that it could not be taken.
///
/// Not an `Option`: the absence is part of the answer, prints as `unknown` and
/// must not be mistaken for zero. As JSON it is the value or `null`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fact<T> {
    /// The reading.
    Known(T),
    /// The machine, the driver or the operating system does not report it.
    #[default]
    Unknown,
}

impl<T> Fact<T> {
    /// The reading, if there is one.
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(value) => Some(value),
            Fact::Unknown => None,
        }
    }

    /// Whether there is a reading.
    pub fn is_known(&self) -> bool {
        self.known().is_some()
    }

    /// Whether there is no reading.
    pub fn is_unknown(&self) -> bool {
        self.known().is_none()
    }

    /// A copy of the reading, if there is one.
    pub fn get(&self) -> Option<T>
    where
        T: Copy,
    {
        self.known().copied()
    }

    /// The reading changed by `change`; `Unknown` stays `Unknown`.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fact<U> {
        match self {
            Fact::Known(value) => Fact::Known(change(value)),
            Fact::Unknown => Fact::Unknown,
        }
    }

    /// This reading, else the other one.
    pub fn or(self, other: Fact<T>) -> Fact<T> {
        match self {
            Fact::Known(_) => self,
            Fact::Unknown => other,
        }
    }
}

impl<T> From<Option<T>> for Fact<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Fact::Unknown, Fact::Known)
    }
}

impl<T: fmt::Display> fmt::Display for Fact<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Known(value) => value.fmt(f),
            Fact::Unknown => f.pad("unknown"),
        }
    }
}

impl<T: Serialize> Serialize for Fact<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.known().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Fact<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Fact::from)
    }
}

#[cfg(test)]
mod tests {
    use super::Fact;

    #[test]
    fn json_is_the_value_or_null() {
        let known = serde_json::to_string(&Fact::Known(7_u64)).expect("a number is JSON");
        let unknown = serde_json::to_string(&Fact::<u64>::Unknown).expect("null is JSON");
        assert_eq!((known.as_str(), unknown.as_str()), ("7", "null"));
        let back: Fact<u64> = serde_json::from_str("7").expect("a number is a fact");
        assert_eq!(back, Fact::Known(7));
        let back: Fact<u64> = serde_json::from_str("null").expect("null is a fact");
        assert_eq!(back, Fact::Unknown);
        assert!(serde_json::from_str::<Fact<u64>>("\"seven\"").is_err());
    }

    #[test]
    fn display_says_unknown_and_keeps_the_padding() {
        assert_eq!(format!("{:>9}|", Fact::<u64>::Unknown), "  unknown|");
        assert_eq!(format!("{:>4}|", Fact::Known(12)), "  12|");
        assert_eq!(format!("{:.1}", Fact::Known(1.25)), "1.2");
    }

    #[test]
    fn unknown_is_not_zero() {
        assert_ne!(Fact::Known(0), Fact::Unknown);
        assert_eq!(Fact::Unknown.or(Fact::Known(3)), Fact::Known(3));
        assert_eq!(Fact::Known(0).or(Fact::Known(3)), Fact::Known(0));
        assert_eq!(Fact::<u32>::Unknown.map(|n| n + 1), Fact::Unknown);
        assert_eq!(Fact::Known(2).get(), Some(2));
    }
}
