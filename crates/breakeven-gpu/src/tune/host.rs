//! Constants of CPU forms that are tunable: how much of a batch a thread takes at once.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, OnceLock};

use super::{SizeClass, Tunable, Tuned, TunedKernel, this_cpu};
use crate::hardware::second_cache;
use crate::tensor::shape;

/// A constant of a kernel's CPU form that changes how fast it is, not what it computes: a
/// `static` of the kernel, which asks it for its value for the size of the call.
///
/// The values tuned on this CPU are read on the first request.
pub struct HostTunable {
    kernel: &'static str,
    pub(crate) name: &'static str,
    default: u32,
    in_large_caches: Option<u32>,
    values: &'static [u32],
    /// By the class of the bytes of a call's inputs; 0 for the default.
    tuned: OnceLock<[AtomicU32; 64]>,
}

impl fmt::Debug for HostTunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.name, self.kernel)
    }
}

impl HostTunable {
    /// One of that kernel, with its default and what else it may be.
    pub const fn new(
        kernel: &'static str,
        name: &'static str,
        default: u32,
        values: &'static [u32],
    ) -> Self {
        Self {
            kernel,
            name,
            default,
            in_large_caches: None,
            values,
            tuned: OnceLock::new(),
        }
    }

    /// Sets another default for a CPU whose cores have a second-level cache of 2 MiB or more, as
    /// Linux reports.
    pub const fn in_large_caches(mut self, default: u32) -> Self {
        self.in_large_caches = Some(default);
        self
    }

    fn default(&self) -> u32 {
        static IS_LARGE: LazyLock<bool> =
            LazyLock::new(|| second_cache().is_some_and(|bytes| bytes >= 2 << 20));
        self.in_large_caches
            .filter(|_| *IS_LARGE)
            .unwrap_or(self.default)
    }

    /// Returns its value for a call whose inputs have that many elements in total.
    #[inline]
    pub fn at(&self, elements: usize) -> usize {
        let tuned = self.tuned.get_or_init(|| self.kept());
        match tuned[class(elements)].load(Ordering::Relaxed) {
            0 => self.default() as usize,
            value => value as usize,
        }
    }

    pub(crate) fn set(&self, elements: usize, value: u32) {
        let tuned = self.tuned.get_or_init(|| self.kept());
        tuned[class(elements)].store(value, Ordering::Relaxed);
    }

    /// What was kept of it.
    #[cold]
    fn kept(&self) -> [AtomicU32; 64] {
        let values = [const { AtomicU32::new(0) }; 64];
        let mut kernels = Tuned::open_default().kernels();
        kernels.retain(|kernel| kernel.key.kernel == self.kernel && kernel.source == SOURCE);
        if kernels.is_empty() {
            return values;
        }
        let (cpu, threads) = this_cpu();
        let tunable = self.tunable();
        for TunedKernel {
            key, configuration, ..
        } in kernels
        {
            let value = configuration.get(self.name);
            let value = value.filter(|value| tunable.values.contains(value));
            let place = values.get(key.size.item_bytes as usize);
            if (&key.device, &key.driver) == (&cpu, &threads)
                && let (Some(value), Some(place)) = (value, place)
            {
                place.store(value, Ordering::Relaxed);
            }
        }
        values
    }

    pub(crate) fn tunable(&self) -> Tunable {
        let others = self.values.iter().copied().chain([self.default]);
        let others = others.chain(self.in_large_caches);
        Tunable::new(self.name, self.default(), others)
    }
}

/// What a CPU form was measured as: its code is this version's.
pub(crate) const SOURCE: u64 =
    super::source_number(concat!(env!("CARGO_PKG_VERSION"), ", by bytes").as_bytes());

fn class(elements: usize) -> usize {
    SizeClass::of(1, shape::bytes(&[elements])).item_bytes as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_cache_chooses_the_default_and_both_may_be_tuned() {
        let rows = HostTunable::new("product", "rows", 384, &[192]).in_large_caches(1024);
        let is_large = second_cache().is_some_and(|bytes| bytes >= 2 << 20);
        let expected = if is_large { 1024 } else { 384 };
        let tunable = rows.tunable();
        assert_eq!((rows.at(7), tunable.default), (expected as usize, expected));
        assert_eq!(tunable.values, [192, 384, 1024]);
        let same = HostTunable::new("product", "rows", 384, &[192]);
        assert_eq!(same.at(7), 384);
    }
}
