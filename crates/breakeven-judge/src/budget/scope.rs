//! Which operations a limit applies to.

use std::fmt;

use breakeven_profile::profile::Operation;

/// The name that an operation must have, and its device and size if given. It is displayed as
/// `"conv2d" on "cpu" at size 65536`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The operation's name.
    pub operation: String,
    /// The device's id; `None` for every device.
    pub device: Option<String>,
    /// Elements in one call; `None` for every size.
    pub size: Option<u64>,
}

impl Scope {
    /// True if the limit applies to the operation.
    pub fn is_for(&self, operation: &Operation) -> bool {
        self.operation == operation.name
            && (self.device.as_ref()).is_none_or(|only| *only == operation.device)
            && self.size.is_none_or(|only| Some(only) == operation.size)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.operation)?;
        if let Some(device) = &self.device {
            write!(f, " on {device:?}")?;
        }
        match self.size {
            Some(size) => write!(f, " at size {size}"),
            None => Ok(()),
        }
    }
}

/// Of the limits that apply to an operation, the one that names its device, else the one that names
/// its size; among equals the first.
pub(super) fn best<'l, L>(
    limits: impl DoubleEndedIterator<Item = &'l L>,
    scope: fn(&L) -> &Scope,
    operation: &Operation,
) -> Option<&'l L> {
    let fitting = limits.filter(|limit| scope(limit).is_for(operation));
    // In reverse, because `max_by` returns the last maximum.
    fitting.rev().max_by_key(|limit| {
        let scope = scope(limit);
        (scope.device.is_some(), scope.size.is_some())
    })
}
