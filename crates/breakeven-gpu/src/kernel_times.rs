//! Times of a kernel that is not breakeven's.

use std::fmt;
use std::hint::black_box;

use breakeven_profile::recorder::Clock;
use breakeven_profile::stats::Moments;
use breakeven_profile::unit;

use crate::error::Error;

/// What [`profile_kernel`] measured.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KernelTimes {
    /// The kernel's name.
    pub name: String,
    /// Elements that a call works on.
    pub workload: usize,
    /// The first call, ns, listed separately because it may compile the kernel.
    pub first_ns: f64,
    /// The calls after it, ns, in their order.
    pub samples_ns: Vec<f64>,
}

/// Calls a kernel `iterations` times and once before, and takes the time of each call. A
/// kernel on a GPU must wait for it: a call that only starts it is not its time.
///
/// ```
/// let mut values = vec![1.0_f32; 1_000];
/// let times = breakeven_gpu::profile_kernel("double", values.len(), 20, || {
///     values.iter_mut().for_each(|value| *value *= 2.0);
/// })?;
/// assert!(times.mean_us() > 0.0 && times.samples_ns.len() == 20);
/// # Ok::<(), breakeven_types::Error>(())
/// ```
///
/// # Errors
///
/// [`ErrorKind::Invalid`](breakeven_types::ErrorKind::Invalid) for no iterations.
pub fn profile_kernel<R>(
    name: &str,
    workload: usize,
    iterations: usize,
    mut kernel: impl FnMut() -> R,
) -> Result<KernelTimes, Error> {
    if iterations == 0 {
        return Err(Error::invalid(format!(
            "{name}: 0 iterations measure nothing; give at least one"
        )));
    }
    let clock = Clock::new();
    let mut call = || {
        let start = clock.now();
        black_box(kernel());
        clock.ns_since(start) as f64
    };
    Ok(KernelTimes {
        name: name.to_owned(),
        workload,
        first_ns: call(),
        samples_ns: (0..iterations).map(|_| call()).collect(),
    })
}

impl KernelTimes {
    fn moments(&self) -> Moments {
        Moments::of(&self.samples_ns).unwrap_or_default()
    }

    /// The mean, µs.
    pub fn mean_us(&self) -> f64 {
        self.moments().mean().map_or(f64::NAN, |ns| ns / 1e3)
    }

    /// The standard deviation of a call, µs; 0 for a single one.
    pub fn stddev_us(&self) -> f64 {
        self.moments().deviation().map_or(0.0, |ns| ns / 1e3)
    }
}

/// Name, mean, deviation, and elements in a second.
impl fmt::Display for KernelTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mean, deviation) = (1e3 * self.mean_us(), 1e3 * self.stddev_us());
        let rate = unit::count(self.workload as f64 / mean.max(1.0) * 1e9);
        let (name, mean, deviation) = (&self.name, unit::time(mean), unit::time(deviation));
        write!(f, "{name}: {mean} ± {deviation}, {rate} elements/s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_timed_and_none_is_an_error() {
        let mut calls = 0;
        let times = profile_kernel("count", 10, 4, || calls += 1).expect("four calls");
        assert_eq!((calls, times.samples_ns.len()), (5, 4));
        let made_up = KernelTimes {
            samples_ns: vec![1_000.0, 2_000.0, 3_000.0, 6_000.0],
            ..times
        };
        assert_eq!(made_up.mean_us(), 3.0);
        assert!((made_up.stddev_us() - 2.160).abs() < 1e-3);
        let said = made_up.to_string();
        assert!(said.starts_with("count: 3.00 µs ± 2.16 µs"), "{said}");
        assert!(profile_kernel("none", 1, 0, || ()).is_err());
    }
}
