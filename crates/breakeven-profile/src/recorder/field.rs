//! The fields that a program sets for a call.

use std::borrow::Cow;
use std::mem;

/// The value of an attribute: a boolean, a number or a text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// A boolean or a number.
    Plain(serde_json::Value),
}

macro_rules! value_from {
    ($($from:ty)+ => $value:ident: $to:expr) => {$(
        impl<'a> From<$from> for Value<'a> {
            fn from($value: $from) -> Self {
                $to
            }
        }
    )+};
}

value_from!(bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize => value: Self::Plain(value.into()));
value_from!(&'a str &'a String String => text: Self::Text(text.into()));
// A number that JSON lacks becomes a text.
value_from!(f32 f64 => value: match value.is_finite() {
    true => Self::Plain(value.into()),
    false => Self::Text(value.to_string().into()),
});

impl Value<'_> {
    pub(super) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Plain(value) => Value::Plain(value),
        }
    }

    /// The value in a profile.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_ref().into(),
            Self::Plain(value) => value.clone(),
        }
    }
}

/// A figure of each call, and where it is in a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    Bytes,
    Items,
    Flops,
    /// In units of 1e-9.
    GpuUse,
}

/// A field with its value.
#[derive(Debug)]
pub(super) enum Field<'a> {
    Figure(Figure, u64),
    MemoryBytes(u64),
    Attribute(&'static str, Value<'a>),
}

impl Field<'_> {
    /// A fraction of the GPU's units; none if it is NaN.
    #[expect(clippy::cast_sign_loss, reason = "clamped to 0 to 1")]
    pub(super) fn gpu_use(part: f64) -> Option<Self> {
        let units = (part.clamp(0.0, 1.0) * 1e9).round() as u64;
        (!part.is_nan()).then_some(Self::Figure(Figure::GpuUse, units))
    }

    /// True if both set the same field.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Figure(this, _), Self::Figure(that, _)) => this == that,
            (Self::Attribute(this, _), Self::Attribute(that, _)) => this == that,
            _ => mem::discriminant(self) == mem::discriminant(other),
        }
    }

    pub(super) fn into_owned(self) -> Field<'static> {
        match self {
            Self::Figure(figure, value) => Field::Figure(figure, value),
            Self::MemoryBytes(bytes) => Field::MemoryBytes(bytes),
            Self::Attribute(name, value) => Field::Attribute(name, value.into_owned()),
        }
    }
}

/// The methods by which a program sets the fields of a call: they hand a [`Field`] to `set_field`.
macro_rules! setters {
    ($self:ident: $by:ty) => {
        /// Sets how many bytes the call reads and writes.
        #[inline]
        pub fn bytes($self: $by, bytes: impl TryInto<u64>) {
            $self.set_field(Field::Figure(Figure::Bytes, count(bytes)));
        }

        /// Sets how many items (images, records) the call processes.
        #[inline]
        pub fn items($self: $by, items: impl TryInto<u64>) {
            $self.set_field(Field::Figure(Figure::Items, count(items)));
        }

        /// Sets how many floating-point operations the call does.
        #[inline]
        pub fn flops($self: $by, flops: impl TryInto<u64>) {
            $self.set_field(Field::Figure(Figure::Flops, count(flops)));
        }

        /// Sets the peak memory of the call, bytes.
        #[inline]
        pub fn memory_bytes($self: $by, bytes: impl TryInto<u64>) {
            $self.set_field(Field::MemoryBytes(count(bytes)));
        }

        /// Sets the fraction of the GPU's units that the call keeps busy. A value outside of 0 to 1
        /// is clamped; NaN is ignored.
        pub fn gpu_use($self: $by, part: f64) {
            if let Some(field) = Field::gpu_use(part) {
                $self.set_field(field);
            }
        }

        /// Sets an attribute. The profile has the last value of each name.
        pub fn attribute<'a>($self: $by, name: &'static str, value: impl Into<Value<'a>>) {
            $self.set_field(Field::Attribute(name, value.into()));
        }
    };
}
pub(super) use setters;

/// A count of any whole type; 0 for a negative one.
#[doc(hidden)]
#[inline]
pub fn count(count: impl TryInto<u64>) -> u64 {
    count.try_into().unwrap_or(0)
}

/// Attributes by name, in the order in which they were first set.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Attributes(Vec<(&'static str, Value<'static>)>);

/// Most attributes per operation and path.
const MAX_ATTRIBUTES: usize = 32;

/// Longest text, bytes.
const MAX_TEXT: usize = 1_000;

impl Attributes {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Sets one; an equal value costs no allocation.
    pub(super) fn set(&mut self, name: &'static str, mut value: Value<'_>) {
        if let Value::Text(text) = &mut value
            && text.len() > MAX_TEXT
        {
            *text = Cow::Owned(text[..text.floor_char_boundary(MAX_TEXT)].to_owned());
        }
        // Strips the prefix of a field whose name is a keyword.
        let name = name.strip_prefix("r#").unwrap_or(name);
        let has_room = self.0.len() < MAX_ATTRIBUTES;
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) if *known == value => {}
            Some((_, known)) => *known = value.into_owned(),
            None if has_room => self.0.push((name, value.into_owned())),
            None => {}
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &Value<'static>)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_stays_and_their_number_is_bounded() {
        const NAMES: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN";
        let mut attributes = Attributes::new();
        attributes.set("r#type", "first".into());
        attributes.set("type", 2.into());
        (0..NAMES.len()).for_each(|at| attributes.set(&NAMES[at..=at], true.into()));
        let all: Vec<_> = attributes.iter().collect();
        assert_eq!(all[0], ("type", &Value::from(2)));
        assert_eq!(all.len(), MAX_ATTRIBUTES);
    }

    #[test]
    fn what_json_cannot_hold_is_a_text() {
        assert_eq!(Value::from(f64::NAN).to_json(), "NaN");
        assert_eq!(Value::from(0.5_f32).to_json(), 0.5);
        assert_eq!(Value::from(u64::MAX).to_json(), u64::MAX);
    }

    #[test]
    fn a_negative_number_of_things_is_none() {
        assert_eq!(count(-3_i32), 0);
        assert_eq!(count(usize::MAX), usize::MAX as u64);
    }
}
