//! What a process may change of the machine.

use super::facts::{Container, Facts};
use crate::hardware::Fact;

/// Where a process stands that would change settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rights {
    /// It is the administrator's.
    pub(super) root: bool,
    /// It is in a container.
    pub(super) container: bool,
}

impl Rights {
    pub(super) fn of(facts: &Facts) -> Self {
        let container = facts.settings.virtualisation.container.known();
        Self {
            root: facts.settings.root == Fact::Known(true),
            container: matches!(container, Some(Container::By(_))),
        }
    }
}
