//! Names in a file: short enough to be a row's head, a frame or a key wherever
//! the profile goes from here.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error};

/// The longest name that a file may hold, bytes. The names of types that
/// compilers generate reach some thousands.
pub(super) const MAX_NAME: usize = 65_536;

/// A name of an operation, a device, a thread, a phase.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(pub(super) String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        match too_long(&name) {
            Some(message) => Err(D::Error::custom(message)),
            None => Ok(Self(name)),
        }
    }
}

/// What is wrong with a name that is too long.
pub(super) fn too_long(name: &str) -> Option<String> {
    (name.len() > MAX_NAME).then(|| {
        let length = name.len();
        format!("the name is {length} bytes long; shorten it to at most {MAX_NAME}")
    })
}

pub(crate) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Name::deserialize(deserializer).map(|Name(name)| name)
}

pub(crate) fn optional_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(|Name(name)| name))
}

pub(crate) fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names: Vec<Name> = Vec::deserialize(deserializer)?;
    Ok(names.into_iter().map(|Name(name)| name).collect())
}

/// Values by their names.
pub(crate) fn by_name<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, V>, D::Error> {
    let values: BTreeMap<Name, V> = BTreeMap::deserialize(deserializer)?;
    Ok(values
        .into_iter()
        .map(|(Name(name), value)| (name, value))
        .collect())
}
