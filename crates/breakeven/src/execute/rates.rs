//! What a run knows of each device's rate: from the cost model at first, then
//! from the spans that were done.

use super::schedule::whole;

/// How much an older span still counts when one of at least
/// [`FULL_SPAN`] tasks was done.
const MEMORY: f64 = 0.85;

/// Tasks from which a span is worth a whole observation: of single tasks, whose
/// times differ, more are remembered.
const FULL_SPAN: f64 = 4.0;

/// How many standard errors of unlike tasks (whose deviation is their mean) a
/// worker reckons with.
const CAUTION: f64 = 2.0;

/// How far a prediction of the GPU moves towards what was seen.
const STEP: f64 = 0.8;

/// Part of a first launch's time that is at least its tasks'.
const LEAST_TASK_PART: f64 = 0.02;

/// Time that one worker takes for one task.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct CpuRate {
    ns: f64,
    tasks: f64,
    /// A time that was known before; it counts as much as the first span.
    prior: Option<f64>,
    /// The prior was measured at about this size.
    measured: bool,
}

impl CpuRate {
    /// A rate that is known before the run: `task_ns` for one worker.
    pub(super) fn known(task_ns: f64, measured: bool) -> Self {
        Self {
            prior: Some(task_ns.max(f64::MIN_POSITIVE)),
            measured,
            ..Self::default()
        }
    }

    /// Time of a task, ns.
    pub(super) fn task_ns(&self) -> Option<f64> {
        if self.tasks > 0.0 {
            return Some((self.ns / self.tasks).max(f64::MIN_POSITIVE));
        }
        self.prior
    }

    /// Time to reckon with where tasks may be longer than those that were done:
    /// short ones end first. Shrinks to the mean with the tasks seen.
    pub(super) fn cautious_ns(&self) -> Option<f64> {
        let seen = if self.measured {
            f64::INFINITY
        } else {
            self.tasks.max(1.0)
        };
        Some(self.task_ns()? * (1.0 + CAUTION / seen.sqrt()))
    }

    /// A worker did `tasks` tasks in `ns`.
    pub(super) fn observe(&mut self, tasks: usize, ns: f64) {
        let tasks = tasks as f64;
        if let Some(prior) = self.prior.take() {
            self.ns = prior * tasks;
            self.tasks = tasks;
        }
        let keep = MEMORY.powf((tasks / FULL_SPAN).clamp(1.0 / FULL_SPAN, 1.0));
        self.ns = self.ns * keep + ns;
        self.tasks = self.tasks * keep + tasks;
    }
}

/// Time of a launch: fixed and per task.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct GpuRate {
    fixed: Option<f64>,
    task: Option<f64>,
    /// A launch of which it is not known what was fixed: tasks and ns.
    first: Option<(f64, f64)>,
    measured: bool,
    /// Predicted time of the launch that was started last.
    flight: f64,
}

impl GpuRate {
    /// Nothing is known but, perhaps, what a launch costs.
    pub(super) fn unknown(launch_ns: Option<f64>) -> Self {
        Self {
            fixed: launch_ns,
            ..Self::default()
        }
    }

    /// A rate that is known before the run.
    pub(super) fn known(fixed_ns: f64, task_ns: f64, measured: bool) -> Self {
        Self {
            fixed: Some(fixed_ns.max(0.0)),
            task: Some(task_ns.max(f64::MIN_POSITIVE)),
            measured,
            ..Self::default()
        }
    }

    /// A rate that is known of launches of about one size, which took `ns`: what
    /// is fixed of it is not told.
    pub(super) fn of_one_size(tasks: u64, ns: f64, launch_ns: Option<f64>) -> Self {
        let mut rate = Self::unknown(launch_ns);
        rate.learn(tasks as f64, ns);
        rate
    }

    /// Tasks of the launch from which a larger one would tell what is fixed.
    pub(super) fn one_size(&self) -> Option<usize> {
        let (tasks, _) = self.first?;
        Some(whole(tasks))
    }

    /// What a launch costs whatever its size, ns; none where it is not told from
    /// its tasks' time yet.
    pub(super) fn fixed_ns(&self) -> Option<f64> {
        self.fixed
    }

    /// Time of a task, ns.
    pub(super) fn task_ns(&self) -> Option<f64> {
        self.task
    }

    /// True where fixed and per-task time are told apart.
    pub(super) fn tells_fixed(&self) -> bool {
        self.fixed.is_some() && self.task.is_some()
    }

    /// True where it was measured at about this size before the run.
    pub(super) fn is_measured(&self) -> bool {
        self.measured
    }

    /// Time of a launch of `tasks` tasks, ns.
    pub(super) fn predict(&self, tasks: usize) -> Option<f64> {
        Some(self.fixed.unwrap_or(0.0) + self.task? * tasks as f64)
    }

    /// A launch was started that should take that long.
    pub(super) fn launched(&mut self, predicted_ns: f64) {
        self.flight = predicted_ns;
    }

    /// True where so little is left of what is in flight that the next launch
    /// should be prepared.
    pub(super) fn is_nearly_done(&self, busy_ns: f64) -> bool {
        busy_ns <= 0.5 * self.flight
    }

    /// A launch of `tasks` tasks took `ns`.
    pub(super) fn observe(&mut self, tasks: usize, ns: f64) {
        let count = tasks as f64;
        let (Some(fixed), Some(task)) = (self.fixed, self.task) else {
            self.learn(count, ns);
            return;
        };
        let ratio = ns / (fixed + task * count).max(f64::MIN_POSITIVE);
        // Whichever makes up most of the time is what changed.
        let step = ratio.powf(STEP).clamp(1e-6, 1e6);
        if task * count >= fixed {
            self.task = Some(task * step);
        } else {
            self.fixed = Some(fixed * step);
        }
    }

    /// The first launches: what is fixed is told from the tasks by two sizes.
    fn learn(&mut self, tasks: f64, ns: f64) {
        let least = LEAST_TASK_PART * ns / tasks;
        if let Some(fixed) = self.fixed {
            self.task = Some(((ns - fixed) / tasks).max(least));
            self.fixed = Some(fixed.min(ns));
            return;
        }
        match self.first {
            Some((before, took)) if tasks >= 2.0 * before || before >= 2.0 * tasks => {
                let slope = (ns - took) / (tasks - before);
                let task = slope.max(least).min(ns / tasks);
                self.task = Some(task);
                self.fixed = Some((ns - task * tasks).max(0.0));
            }
            _ => {
                self.first = Some((tasks, ns));
                self.task = Some(ns / tasks);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found / expected - 1.0).abs() < 0.01)
    }

    #[test]
    fn two_sizes_tell_the_launch_from_its_tasks() {
        let mut rate = GpuRate::unknown(None);
        rate.observe(4, 1000.0 + 40.0);
        assert!(!rate.tells_fixed());
        rate.observe(64, 1000.0 + 640.0);
        assert!(near(rate.fixed_ns(), 1000.0) && near(rate.task_ns(), 10.0));
    }

    #[test]
    fn a_device_that_slows_down_is_followed() {
        let mut rate = GpuRate::known(1000.0, 10.0, true);
        for _ in 0..4 {
            rate.observe(1000, 1000.0 + 30_000.0);
        }
        assert!(near(rate.task_ns(), 30.0), "{rate:?}");
        let mut rate = CpuRate::known(10.0, true);
        for _ in 0..20 {
            rate.observe(100, 3000.0);
        }
        assert!(rate.task_ns().is_some_and(|task| task > 28.0), "{rate:?}");
    }

    #[test]
    fn times_of_nothing_are_no_rates_of_nothing() {
        let mut rate = GpuRate::unknown(Some(0.0));
        rate.observe(10, 0.0);
        rate.observe(10, 0.0);
        assert!(rate.predict(10).is_some_and(f64::is_finite));
        let mut rate = CpuRate::default();
        rate.observe(1, 0.0);
        assert!(rate.task_ns().is_some_and(|task| task > 0.0));
    }
}
