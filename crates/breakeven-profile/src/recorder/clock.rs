//! A cheap monotonic clock that measures its own cost.

use crate::profile;

/// Consecutive readings from which cost and resolution are measured.
const READINGS: usize = 2_000;

/// A monotonic clock: the CPU's time stamp counter if it runs at a constant rate on all cores,
/// otherwise the operating system's clock (`quanta` decides).
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Clock {
    inner: quanta::Clock,
}

/// A reading of a [`Clock`]: its ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub(super) u64);

impl Instant {
    /// Ticks of the clock from `start` until this reading; 0 if this one is earlier.
    #[inline]
    pub(super) fn ticks_since(self, start: Self) -> u64 {
        self.0.saturating_sub(start.0)
    }

    pub(super) fn after(self, ticks: u64) -> Self {
        Self(self.0.saturating_add(ticks))
    }

    pub(super) fn before(self, ticks: u64) -> Self {
        Self(self.0.saturating_sub(ticks))
    }
}

impl Clock {
    /// Returns the clock. The first call in a process calibrates the counter, which can take up to
    /// 0.2 s.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the clock.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant(self.inner.raw())
    }

    /// Nanoseconds from `start` to `end`; 0 if `end` is earlier.
    #[inline]
    pub fn ns_between(&self, start: Instant, end: Instant) -> u64 {
        self.inner.delta_as_nanos(start.0, end.0)
    }

    /// Nanoseconds from `start` until now.
    #[inline]
    pub fn ns_since(&self, start: Instant) -> u64 {
        self.ns_between(start, self.now())
    }

    pub(super) fn ns_of(&self, ticks: u64) -> u64 {
        self.inner.delta_as_nanos(0, ticks)
    }

    #[expect(clippy::cast_sign_loss, reason = "neither is negative")]
    pub(super) fn ticks_of(&self, ns: u64) -> u64 {
        (ns as f64 / self.ns_per_tick()) as u64
    }

    pub(super) fn ns_per_tick(&self) -> f64 {
        // Hours of ticks, so that rounding to whole nanoseconds does not matter.
        const MANY: u64 = 1 << 44;
        self.ns_of(MANY) as f64 / MANY as f64
    }

    /// Measures the clock itself: the smallest cost of one reading (over blocks of readings, so
    /// that the result is finer than one step) and the smallest observed step between two readings
    /// (the middle one of those blocks, in whole nanoseconds, at least one).
    pub fn measure(&self) -> profile::Clock {
        let mut read_ns = f64::INFINITY;
        let mut steps = Vec::new();
        for _ in 0..20 {
            let start = self.now();
            let mut step = u64::MAX;
            let mut before = start;
            for _ in 0..READINGS {
                let now = self.now();
                if now.0 > before.0 {
                    step = step.min(self.ns_between(before, now));
                }
                before = now;
            }
            let block = self.ns_between(start, before);
            read_ns = read_ns.min(block as f64 / READINGS as f64);
            steps.push(step);
        }
        steps.sort_unstable();
        let step = steps[steps.len() / 2];
        profile::Clock {
            source: self.source().to_owned(),
            read_ns,
            resolution_ns: if step == u64::MAX {
                0.0
            } else {
                step.max(1) as f64
            },
        }
    }

    /// `counter` if a raw reading is not in nanoseconds, else `os`.
    fn source(&self) -> &'static str {
        let start = self.now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let end = self.now();
        let ns = self.ns_between(start, end) as f64;
        let raw = end.0.saturating_sub(start.0) as f64;
        if (raw / ns - 1.0).abs() > 1e-3 {
            "counter"
        } else {
            "os"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_operating_systems_clock() {
        let clock = Clock::new();
        let (start, os_start) = (clock.now(), std::time::Instant::now());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let os = os_start.elapsed().as_nanos() as f64;
        let ours = clock.ns_since(start) as f64;
        assert!((ours / os - 1.0).abs() < 0.01, "{ours} ns against {os} ns");
    }

    #[test]
    fn it_knows_its_cost() {
        let measured = Clock::new().measure();
        assert!(
            measured.read_ns > 0.1 && measured.read_ns < 5_000.0,
            "{measured:?}"
        );
    }

    #[test]
    fn time_never_runs_backwards() {
        let clock = Clock::new();
        let later = clock.now();
        let earlier = Instant(later.0.saturating_sub(1_000));
        assert_eq!(clock.ns_between(later, earlier), 0);
    }
}
