//! What is done about a device's error.

use crate::error::DeviceErrorKind;

/// What is to be done about a device after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    /// A smaller span may fit.
    Halve,
    /// One of the tasks is to blame: it is looked for.
    Isolate,
    /// The span goes to the CPU, the device goes on.
    Next,
    /// The operation leaves the device alone.
    LeaveOperation,
    /// Everybody leaves the device alone.
    Quarantine,
}

pub(super) fn reaction(kind: DeviceErrorKind) -> Reaction {
    match kind {
        DeviceErrorKind::OutOfMemory | DeviceErrorKind::NeverFits => Reaction::Halve,
        DeviceErrorKind::Refused => Reaction::Isolate,
        DeviceErrorKind::Launch | DeviceErrorKind::Other => Reaction::Next,
        DeviceErrorKind::Compile | DeviceErrorKind::Unsupported => Reaction::LeaveOperation,
        DeviceErrorKind::Unavailable { .. }
        | DeviceErrorKind::DeviceLost
        | DeviceErrorKind::Timeout
        | DeviceErrorKind::Panic
        | DeviceErrorKind::WrongResult => Reaction::Quarantine,
    }
}
