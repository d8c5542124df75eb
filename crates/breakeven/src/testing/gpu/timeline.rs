//! When a batch is done: a pure model of a device with an upload engine, one
//! compute queue and a download engine. All times are ns since the first
//! submission; nothing in here reads a clock.

use std::time::Duration;

use super::spec::{Onset, SimulatedSpec, Slowdown};

/// When each engine has done all that it was given.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timeline {
    upload_free_ns: u64,
    kernel_free_ns: u64,
    download_free_ns: u64,
}

/// What a batch asks of the engines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stages {
    upload_ns: u64,
    launch_ns: u64,
    /// Time of the tasks before the slowdowns that begin at a time, ns.
    work_ns: f64,
    download_ns: u64,
}

impl Stages {
    /// Those of a batch of `tasks` tasks whose tasks take `work_ns` together.
    pub(super) fn new(spec: &SimulatedSpec, tasks: usize, work_ns: f64) -> Self {
        let transfer = |bytes_per_task: u64| {
            let bytes = bytes_per_task as f64 * tasks as f64;
            if bytes > 0.0 {
                whole_ns(bytes / spec.transfer_bytes_per_s * 1e9)
            } else {
                0
            }
        };
        Self {
            upload_ns: transfer(spec.upload_bytes_per_task),
            launch_ns: ns(spec.launch),
            work_ns,
            download_ns: transfer(spec.download_bytes_per_task),
        }
    }
}

impl Timeline {
    /// Puts a batch behind those before it, engine by engine; returns when its
    /// outputs are on the host.
    pub(super) fn admit(&mut self, now_ns: u64, stages: &Stages, slowdowns: &[Slowdown]) -> u64 {
        let after = |ready: u64, free: u64, takes: u64| ready.max(free).saturating_add(takes);
        self.upload_free_ns = after(now_ns, self.upload_free_ns, stages.upload_ns);
        let begun = after(self.upload_free_ns, self.kernel_free_ns, stages.launch_ns);
        self.kernel_free_ns = finish(begun, stages.work_ns, slowdowns);
        let (computed, free) = (self.kernel_free_ns, self.download_free_ns);
        self.download_free_ns = after(computed, free, stages.download_ns);
        self.download_free_ns
    }
}

/// When work that begins then is done, past all changes of the rate on its way.
fn finish(begun_ns: u64, work_ns: f64, slowdowns: &[Slowdown]) -> u64 {
    let (mut at, mut left) = (begun_ns, work_ns);
    loop {
        let factor = latest(slowdowns, at, time_onset);
        let end = at.saturating_add(whole_ns(left * factor));
        match next_change(slowdowns, at) {
            Some(change) if change < end => {
                left -= (change - at) as f64 / factor;
                at = change;
            }
            _ => return end,
        }
    }
}

/// The factor in force for the task of that number.
pub(super) fn factor_of_task(slowdowns: &[Slowdown], number: u64) -> f64 {
    latest(slowdowns, number, |onset| match onset {
        Onset::Tasks(tasks) => Some(tasks),
        Onset::Time(_) => None,
    })
}

/// The factor of the last change whose onset was reached.
fn latest(slowdowns: &[Slowdown], reached: u64, onset: impl Fn(Onset) -> Option<u64>) -> f64 {
    let changes = slowdowns.iter();
    let changes = changes.filter_map(|change| Some((onset(change.onset)?, change.factor)));
    let begun = changes.filter(|&(begins, _)| begins <= reached);
    let last = begun.max_by_key(|&(begins, _)| begins);
    last.map_or(1.0, |(_, factor)| factor)
}

/// When the rate changes next after that time.
fn next_change(slowdowns: &[Slowdown], at_ns: u64) -> Option<u64> {
    let changes = slowdowns.iter();
    let times = changes.filter_map(|change| time_onset(change.onset));
    times.filter(|&begins| begins > at_ns).min()
}

fn time_onset(onset: Onset) -> Option<u64> {
    match onset {
        Onset::Time(after) => Some(ns(after)),
        Onset::Tasks(_) => None,
    }
}

/// A duration in ns; saturates after 584 years.
pub(super) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A float as whole ns: what is negative or no number is 0, what is too large
/// the largest.
#[expect(clippy::cast_sign_loss, reason = "a float cast saturates")]
fn whole_ns(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn change(onset: Onset, factor: f64) -> Slowdown {
        Slowdown { onset, factor }
    }

    fn stages(upload_ns: u64, work_ns: f64, download_ns: u64) -> Stages {
        Stages {
            upload_ns,
            launch_ns: 10,
            work_ns,
            download_ns,
        }
    }

    #[test]
    fn uploads_and_downloads_overlap_the_kernels_of_others() {
        let mut timeline = Timeline::default();
        let batch = stages(50, 100.0, 30);
        // Upload 0..50, kernel 50..160, download 160..190.
        assert_eq!(timeline.admit(0, &batch, &[]), 190);
        // Upload 50..100, kernel 160..270, download 270..300.
        assert_eq!(timeline.admit(5, &batch, &[]), 300);
        // After a pause nothing is left to wait for.
        assert_eq!(timeline.admit(1_000, &batch, &[]), 1_190);
    }

    #[test]
    fn a_device_slows_in_the_middle_of_a_batch() {
        let at = |ms: u32| Onset::Time(MS * ms);
        let changes = [change(at(4), 0.5), change(at(1), 3.0)];
        // 1 ms at once, 1 ms of work in the 3 ms until 4 ms, 8 ms of work in 4 ms.
        assert_eq!(finish(0, 10e6, &changes), 8_000_000);
        assert_eq!(finish(0, 1e6, &changes), 1_000_000);
        assert_eq!(finish(1_000_000, 0.5e6, &changes), 2_500_000);
    }

    #[test]
    fn the_rate_by_tasks_is_the_last_that_was_reached() {
        let changes =
            [(20, 1.0), (10, 4.0)].map(|(tasks, factor)| change(Onset::Tasks(tasks), factor));
        let factors = [9, 10, 19, 20].map(|number| factor_of_task(&changes, number));
        assert_eq!(factors, [1.0, 4.0, 4.0, 1.0]);
        assert_eq!(finish(0, 100.0, &changes), 100);
    }

    #[test]
    fn no_rate_breaks_the_clock() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let spec = SimulatedSpec::default().with_transfer(rate, u64::MAX, 1);
            let ready = Timeline::default().admit(7, &Stages::new(&spec, 3, 0.0), &[]);
            assert!(ready == 7 || ready == u64::MAX, "{rate}: {ready}");
        }
        let never = [change(Onset::Time(MS), f64::INFINITY)];
        assert_eq!(finish(0, 2e6, &never), u64::MAX);
        let at_once = [change(Onset::Time(Duration::ZERO), 0.0)];
        assert_eq!(finish(5, 2e6, &at_once), 5);
    }
}
