//! An operation as the recorder stores it: a name, a device and a size, once in memory for the life
//! of the process.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use super::lock;
use crate::profile::Device;

/// Most operations that a process distinguishes.
pub(super) const MAX_SITES: usize = 1 << 16;

/// Longest name, bytes.
const MAX_NAME: usize = 1_000;

/// The operation of all calls beyond that limit.
pub(super) static OVERFLOW: Site = Site::new("(more operations than the recorder keeps)");

/// A recorded place in a program, or an operation that several places share.
///
/// Created by [`scope!`](crate::scope) and the attribute; programs need not call it.
#[derive(Debug)]
pub struct Site {
    pub(super) name: &'static str,
    pub(super) device: &'static str,
    pub(super) size: Option<u64>,
    /// When the operation was first recorded, as a number; 0 for a place in the program.
    pub(super) ordinal: usize,
}

impl Site {
    /// A place that records the operation of that name.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            device: Device::CPU,
            size: None,
            ordinal: 0,
        }
    }

    #[inline]
    pub(super) fn is(&self, name: &str, device: Option<&str>, size: Option<u64>) -> bool {
        self.size == size && self.device == device.unwrap_or(Device::CPU) && self.name == name
    }
}

type Key<'a> = (&'a str, &'a str, Option<u64>);

static SITES: LazyLock<Mutex<HashMap<Key<'static>, &'static Site>>> = LazyLock::new(Mutex::default);

/// The unique site of that name, device and size. Sites are never freed; names and sizes may come
/// from outside, so their number is bounded.
pub(super) fn intern(name: &str, device: Option<&str>, size: Option<u64>) -> &'static Site {
    let name = match &name[..name.floor_char_boundary(MAX_NAME)] {
        "" => "(unnamed)",
        name => name,
    };
    let device = device
        .filter(|device| !device.is_empty())
        .unwrap_or(Device::CPU);
    let device = &device[..device.floor_char_boundary(MAX_NAME)];
    let mut sites = lock(&SITES);
    if let Some(site) = sites.get(&(name, device, size)) {
        return site;
    }
    if sites.len() >= MAX_SITES {
        return &OVERFLOW;
    }
    let site: &'static Site = Box::leak(Box::new(Site {
        name: name.to_owned().leak(),
        device: device.to_owned().leak(),
        size,
        ordinal: sites.len() + 1,
    }));
    sites.insert((site.name, site.device, size), site);
    site
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_operation_is_the_same_site() {
        let first = intern("site test", None, Some(3));
        let is_first = |device, size| std::ptr::eq(first, intern("site test", device, size));
        assert!(is_first(Some("cpu"), Some(3)));
        assert!(!is_first(None, None) && !is_first(Some("gpu"), Some(3)));
    }

    #[test]
    fn a_name_that_a_file_cannot_hold_is_replaced() {
        assert_eq!(intern("", Some(""), None).name, "(unnamed)");
        assert_eq!(intern("", Some(""), None).device, "cpu");
        let long = intern(&"µ".repeat(5_000), None, None);
        assert_eq!(long.name.len(), MAX_NAME);
    }
}
