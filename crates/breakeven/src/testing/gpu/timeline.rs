//! When a batch is done: a pure model of a device with an upload engine, one
//! compute queue and a download engine. All times are ns since the first
//! submission; nothing in here reads a clock.

use std::time::Duration;

use super::spec::SimulatedSpec;

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
    kernel_ns: u64,
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
            kernel_ns: ns(spec.launch).saturating_add(whole_ns(work_ns)),
            download_ns: transfer(spec.download_bytes_per_task),
        }
    }
}

impl Timeline {
    /// Puts a batch behind those before it, engine by engine; returns when its
    /// outputs are on the host.
    pub(super) fn admit(&mut self, now_ns: u64, stages: &Stages) -> u64 {
        let after = |ready: u64, free: u64, takes: u64| ready.max(free).saturating_add(takes);
        self.upload_free_ns = after(now_ns, self.upload_free_ns, stages.upload_ns);
        let (uploaded, free) = (self.upload_free_ns, self.kernel_free_ns);
        self.kernel_free_ns = after(uploaded, free, stages.kernel_ns);
        let (computed, free) = (self.kernel_free_ns, self.download_free_ns);
        self.download_free_ns = after(computed, free, stages.download_ns);
        self.download_free_ns
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
        let batch = Stages {
            upload_ns: 50,
            kernel_ns: 110,
            download_ns: 30,
        };
        // Upload 0..50, kernel 50..160, download 160..190.
        assert_eq!(timeline.admit(0, &batch), 190);
        // Upload 50..100, kernel 160..270, download 270..300.
        assert_eq!(timeline.admit(5, &batch), 300);
        // After a pause nothing is left to wait for.
        assert_eq!(timeline.admit(1_000, &batch), 1_190);
    }

    #[test]
    fn no_rate_breaks_the_clock() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let spec = SimulatedSpec::default().with_transfer(rate, u64::MAX, 1);
            let ready = Timeline::default().admit(7, &Stages::new(&spec, 3, 0.0));
            assert!(ready == 7 || ready == u64::MAX, "{rate}: {ready}");
        }
    }
}
