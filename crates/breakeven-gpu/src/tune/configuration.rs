//! What of a kernel may be otherwise, and one choice of it.

use std::collections::BTreeMap;
use std::fmt;

use breakeven_profile::unit;
use serde::{Deserialize, Serialize};

use crate::tensor::shape;

/// A number that a kernel is compiled with and that changes how fast it is, not what it
/// computes: units of a cube, rows of a unit, elements of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunable {
    /// Its name, as tables show it.
    pub name: &'static str,
    /// What it is unless something was measured to be faster.
    pub default: u32,
    /// What it may be, on the device and for the shapes that were asked about.
    pub values: Vec<u32>,
}

/// What may be otherwise in a kernel: the space that is searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Space {
    /// A number of the kernel's source ([`source_number`]): what was measured of another is void.
    pub source: u64,
    /// What decides the fastest configuration, in addition to the sizes of a call, as in `window
    /// 16`; empty for nothing.
    pub variant: String,
    /// What is tunable; nothing, and the kernel is not.
    pub tunables: Vec<Tunable>,
}

/// Returns a hash of a source text: FNV-1a (Fowler, Noll and Vo, 1991).
///
/// ```
/// const SOURCE: u64 = breakeven_gpu::tune::source_number(b"out[i] = a[i] + b[i]");
/// ```
pub const fn source_number(text: &[u8]) -> u64 {
    let (mut number, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < text.len() {
        number = (number ^ text[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    number
}

/// A value for each of a kernel's tunables, by name.
///
/// ```
/// use breakeven_gpu::tune::Configuration;
///
/// let configuration = Configuration::from([("units", 256), ("rows", 4)]);
/// assert_eq!(configuration.to_string(), "rows 4, units 256");
/// assert_eq!(configuration.get("units"), Some(256));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Configuration(BTreeMap<String, u32>);

/// Sizes for which one configuration is kept: calls of one class have as many items and
/// bytes an item up to a factor of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SizeClass {
    /// Binary logarithm of the items in a call, rounded down.
    pub items: u32,
    /// The same of the bytes that go with an item.
    pub item_bytes: u32,
}

impl Tunable {
    /// One that may have these values, and the default.
    pub fn new(name: &'static str, default: u32, values: impl IntoIterator<Item = u32>) -> Self {
        let mut values: Vec<u32> = values.into_iter().chain([default]).collect();
        values.sort_unstable();
        values.dedup();
        Self {
            name,
            default,
            values,
        }
    }
}

impl Configuration {
    /// One of those names and values.
    pub fn of<'n>(values: impl IntoIterator<Item = (&'n str, u32)>) -> Self {
        let values = values.into_iter();
        Self(
            values
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.0.get(name).copied()
    }

    /// Names and values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Returns true if there is nothing to choose.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a value for each tunable: this configuration's if it is allowed, else the default.
    pub(crate) fn complete(&self, tunables: &[Tunable]) -> Self {
        let value = |tunable: &Tunable| {
            let own = self.get(tunable.name);
            let own = own.filter(|value| tunable.values.contains(value));
            (tunable.name.to_owned(), own.unwrap_or(tunable.default))
        };
        Self(tunables.iter().map(value).collect())
    }

    /// All choices that there are, the default first.
    pub(crate) fn all(tunables: &[Tunable]) -> Vec<Self> {
        let default = Self::default().complete(tunables);
        let mut all = vec![Self::default()];
        for Tunable { name, values, .. } in tunables {
            let with = |one: &Self| {
                let one = one.clone();
                let values = values.iter();
                values.map(move |value| {
                    let mut one = one.clone();
                    one.0.insert((*name).to_owned(), *value);
                    one
                })
            };
            all = all.iter().flat_map(with).collect();
        }
        all.retain(|one| *one != default);
        all.insert(0, default);
        all
    }
}

impl<const N: usize> From<[(&str, u32); N]> for Configuration {
    fn from(values: [(&str, u32); N]) -> Self {
        Self::of(values)
    }
}

/// `rows 4, units 256`.
impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.iter().map(|(name, value)| format!("{name} {value}"));
        f.pad(&values.collect::<Vec<_>>().join(", "))
    }
}

impl SizeClass {
    /// The class of a call on inputs of these shapes with an output of that one.
    pub fn of_call(inputs: &[&[usize]], output: &[usize]) -> Self {
        let items = output.first().map_or(1, |items| *items as u64).max(1);
        let bytes = inputs.iter().copied().chain([output]).map(shape::bytes);
        Self::of(items, bytes.fold(0, u64::saturating_add) / items)
    }

    /// Returns the size class of `items` items of `item_bytes` bytes.
    pub fn of(items: u64, item_bytes: u64) -> Self {
        Self {
            items: items.max(1).ilog2(),
            item_bytes: item_bytes.max(1).ilog2(),
        }
    }
}

/// `1 item of 2 MiB`: the least of the class.
impl fmt::Display for SizeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = 1_u64 << self.items.min(63);
        let each = unit::bytes(1 << self.item_bytes.min(63));
        let s = if items == 1 { "" } else { "s" };
        f.pad(&format!("{items} item{s} of {each}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_comes_once_and_the_default_first() {
        let tunables = [
            Tunable::new("units", 256, [64, 128]),
            Tunable::new("rows", 1, [1, 2, 4]),
        ];
        assert_eq!(tunables[0].values, [64, 128, 256]);
        let all = Configuration::all(&tunables);
        assert_eq!(all.len(), 9);
        assert_eq!(all[0], Configuration::from([("units", 256), ("rows", 1)]));
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), 9);
        assert_eq!(Configuration::all(&[]), [Configuration::default()]);
    }

    #[test]
    fn a_value_that_cannot_be_is_the_default() {
        let tunables = [Tunable::new("units", 256, [64])];
        let kept = |value| Configuration::from([("units", value), ("gone", 7)]);
        let of = |value| kept(value).complete(&tunables).get("units");
        assert_eq!((of(64), of(1024)), (Some(64), Some(256)));
        assert_eq!(kept(64).complete(&tunables).iter().count(), 1);
    }

    #[test]
    fn sizes_up_to_twice_as_large_are_of_one_class() {
        let class = |batch, side| SizeClass::of_call(&[&[batch, side, side]], &[batch, side, side]);
        assert_eq!(class(1, 512), class(1, 700));
        assert_ne!(class(1, 512), class(1, 1024));
        assert_ne!(class(1, 512), class(4, 256));
        assert_eq!(class(1, 512).to_string(), "1 item of 2 MiB");
        assert_eq!(SizeClass::of_call(&[], &[0]), SizeClass::of(0, 0));
    }
}
