//! The rate of a GPU's launches: from the cost model at first, then from those that ended.

/// Least time of a unit of work, ns.
pub(super) const LEAST: f64 = 1e-9;

/// Time of a launch: `fixed` and `per_work` for each unit of work in it
/// (`density.rs` has the unit).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Fixed time of a launch, ns; none if it is not known separately yet.
    pub(super) fixed: Option<f64>,
    /// Time of a unit of work, ns.
    pub(super) per_work: Option<f64>,
    /// The work and time of a first launch, to be compared with a larger one.
    pub(super) first: Option<(f64, f64)>,
}

impl Rate {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        fixed: None,
        per_work: None,
        first: None,
    };

    /// Creates a rate that is known before the batch, from the time per task, ns.
    pub fn known(fixed_ns: f64, task_ns: f64) -> Self {
        Self {
            fixed: Some(fixed_ns.max(0.0)),
            per_work: Some(task_ns.max(LEAST)),
            ..Self::UNKNOWN
        }
    }

    /// Creates a rate from launches of about one size, which took `ns`: the fixed time is not known
    /// separately.
    pub fn of_one_size(tasks: f64, ns: f64) -> Self {
        let mut rate = Self::UNKNOWN;
        rate.learn_first(tasks.max(LEAST), ns);
        rate
    }

    /// Returns true if the fixed time is known separately from the time per work.
    pub(super) fn is_fixed_known(&self) -> bool {
        self.fixed.is_some() && self.per_work.is_some()
    }

    /// Predicts the time of a launch with that much work, ns.
    pub(super) fn predict(&self, work: f64) -> Option<f64> {
        Some(self.fixed.unwrap_or(0.0) + self.per_work? * work)
    }

    /// Converts to a new unit of work: a task has `times` as many of the new units.
    pub(super) fn rescale(&mut self, times: f64) {
        self.per_work = self.per_work.map(|ns| ns / times);
        self.first = self.first.map(|(work, ns)| (work * times, ns));
    }

    /// Records a launch: its work and its time. `step`, 0 to 1, says how far the rate moves towards
    /// it.
    pub(super) fn observe(&mut self, work: f64, ns: f64, step: f64) {
        let (Some(fixed), Some(per_work)) = (self.fixed, self.per_work) else {
            self.learn(work, ns);
            return;
        };
        let ratio = ns / (fixed + per_work * work).max(f64::MIN_POSITIVE);
        // Attributes the change to whichever makes up most of the time.
        let step = ratio.powf(step).clamp(1e-6, 1e6);
        if per_work * work >= fixed {
            self.per_work = Some(per_work * step);
        } else {
            self.fixed = Some(fixed * step);
        }
    }

    /// Learns from the first launches: two sizes separate the fixed time from the work.
    fn learn(&mut self, work: f64, ns: f64) {
        let work = work.max(LEAST);
        if let Some(fixed) = self.fixed {
            self.per_work = Some(((ns - fixed) / work).max(LEAST));
            self.fixed = Some(fixed.min(ns));
            return;
        }
        match self.first {
            Some((before, took)) if work >= 2.0 * before || before >= 2.0 * work => {
                let (more, longer) = (work - before, ns - took);
                let per_work = (longer / more).max(LEAST).min(ns / work);
                self.per_work = Some(per_work.max(LEAST));
                self.fixed = Some((ns - per_work * work).max(0.0));
            }
            _ => self.learn_first(work, ns),
        }
    }

    fn learn_first(&mut self, work: f64, ns: f64) {
        self.first = Some((work, ns));
        self.per_work = Some((ns / work).max(LEAST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found / expected - 1.0).abs() < 0.01)
    }

    #[test]
    fn two_sizes_separate_the_launch_from_its_work() {
        let mut rate = Rate::UNKNOWN;
        rate.observe(4.0, 1000.0 + 40.0, 1.0);
        assert!(!rate.is_fixed_known());
        rate.rescale(2.0);
        rate.observe(128.0, 1000.0 + 640.0, 1.0);
        let is_known = near(rate.fixed, 1000.0) && near(rate.per_work, 5.0);
        assert!(is_known, "{rate:?}");
    }

    #[test]
    fn a_device_that_slows_down_is_followed() {
        let mut rate = Rate::known(1000.0, 10.0);
        for _ in 0..4 {
            rate.observe(1000.0, 1000.0 + 30_000.0, 0.8);
        }
        assert!(near(rate.per_work, 30.0), "{rate:?}");
    }

    #[test]
    fn times_of_nothing_are_no_rates_of_nothing() {
        let mut rate = Rate {
            fixed: Some(0.0),
            ..Rate::UNKNOWN
        };
        rate.observe(10.0, 0.0, 1.0);
        rate.observe(10.0, 0.0, 1.0);
        assert!(rate.predict(10.0).is_some_and(f64::is_finite));
    }
}
