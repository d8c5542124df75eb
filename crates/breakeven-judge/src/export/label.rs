//! What devices and operations are called in an export.

use std::borrow::Cow;

use breakeven_profile::profile::{Operation, Profile};

/// The id of a device that an event does not name.
pub(super) const CPU: &str = "cpu";

/// The id of a device; a GPU that is a program on the CPU is always named so.
pub(super) fn device(profile: &Profile, id: &str) -> String {
    if profile.is_software_gpu(id) {
        format!("{id} (software)")
    } else {
        id.to_owned()
    }
}

/// An operation's name, with its size where the profile has several of that
/// name on that device.
pub(super) fn operation(profile: &Profile, operation: &Operation) -> String {
    let mut others = profile
        .operations
        .iter()
        .filter(|other| (&other.name, &other.device) == (&operation.name, &operation.device));
    match operation.size {
        Some(size) if others.any(|other| other.size != Some(size)) => {
            format!("{} (size {size})", operation.name)
        }
        _ => operation.name.clone(),
    }
}

/// A call of a timeline or a frame of a stack, with its device where that is not the CPU.
pub(super) fn call<'a>(profile: &Profile, name: &'a str, id: Option<&str>) -> Cow<'a, str> {
    match id.filter(|id| *id != CPU) {
        Some(id) => Cow::Owned(format!("{name} on {}", device(profile, id))),
        None => Cow::Borrowed(name),
    }
}
