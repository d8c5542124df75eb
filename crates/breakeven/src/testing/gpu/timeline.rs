//! When a batch is done: a pure model of a device with an upload engine, one
//! compute queue and a download engine. All times are ns since the first
//! submission; nothing in here reads a clock.

use std::time::Duration;

use super::spec::SimulatedSpec;

/// When each engine will have finished its work.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timeline {
    free_ns: [u64; 3],
}

impl Timeline {
    /// Queues a batch behind earlier ones, engine by engine; returns when its outputs are on the
    /// host.
    pub(super) fn admit(&mut self, now_ns: u64, stages_ns: [u64; 3]) -> u64 {
        let engines = self.free_ns.iter_mut().zip(stages_ns);
        engines.fold(now_ns, |ready, (free, takes)| {
            *free = ready.max(*free).saturating_add(takes);
            *free
        })
    }
}

/// Returns the transfer times of `tasks` tasks to the device and back, ns.
pub(super) fn transfers_ns(spec: &SimulatedSpec, tasks: usize) -> [u64; 2] {
    [spec.upload_bytes_per_task, spec.download_bytes_per_task].map(|bytes_per_task| {
        let bytes = bytes_per_task as f64 * tasks as f64;
        match bytes > 0.0 {
            true => whole_ns(bytes / spec.transfer_bytes_per_s * 1e9),
            false => 0,
        }
    })
}

/// Returns the time on each engine of a batch with such transfers, whose tasks take `work_ns`
/// together, ns.
pub(super) fn stages_ns(spec: &SimulatedSpec, [up, down]: [u64; 2], work_ns: f64) -> [u64; 3] {
    let work = ns(spec.launch).saturating_add(whole_ns(work_ns));
    let stages = [up, work, down];
    match spec.overlaps {
        true => stages,
        // The remaining engines are never used.
        false => [0, stages.into_iter().fold(0, u64::saturating_add), 0],
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

    #[test]
    fn uploads_and_downloads_overlap_the_kernels_of_others() {
        let mut timeline = Timeline::default();
        let batch = [50, 110, 30];
        // Upload 0..50, kernel 50..160, download 160..190.
        assert_eq!(timeline.admit(0, batch), 190);
        // Upload 50..100, kernel 160..270, download 270..300.
        assert_eq!(timeline.admit(5, batch), 300);
        // After a pause nothing is left to wait for.
        assert_eq!(timeline.admit(1_000, batch), 1_190);
    }

    #[test]
    fn no_rate_breaks_the_clock() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let spec = SimulatedSpec::default().with_transfer(rate, u64::MAX, 1);
            let ready = Timeline::default().admit(7, stages_ns(&spec, transfers_ns(&spec, 3), 0.0));
            assert!(ready == 7 || ready == u64::MAX, "{rate}: {ready}");
        }
    }
}
