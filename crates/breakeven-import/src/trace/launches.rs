//! Kernels and the host's calls that launched them, related by the tracer's correlation id.

use std::collections::HashMap;

use breakeven_profile::profile::Launches;
use breakeven_profile::stats::median;

use crate::gather::Kept;

/// What relates a call and its kernels: a process and a number that is unique in it.
pub(crate) type Correlation = (u64, u64);

struct Call {
    start: i64,
    duration: u64,
    launched: bool,
}

struct Kernel {
    id: Correlation,
    device: u32,
    start: i64,
    duration: u64,
}

/// Calls and kernels as they come in, in any order.
#[derive(Default)]
pub(super) struct Related {
    calls: HashMap<Correlation, Call>,
    kernels: Vec<Kernel>,
}

#[derive(Default)]
struct Device {
    launches: Launches,
    calls: Kept,
    delays: Kept,
}

impl Related {
    pub(super) fn call(&mut self, id: Correlation, start: i64, duration: u64) {
        let call = Call {
            start,
            duration,
            launched: false,
        };
        self.calls.insert(id, call);
    }

    pub(super) fn kernel(&mut self, id: Correlation, device: u32, start: i64, duration: u64) {
        self.kernels.push(Kernel {
            id,
            device,
            start,
            duration,
        });
    }

    /// What is known of the launches on each device, and whether there were any of which
    /// nothing is known.
    pub(super) fn into_launches(mut self) -> (HashMap<u32, Launches>, bool) {
        let mut devices = HashMap::new();
        for kernel in &self.kernels {
            if let Some(call) = self.calls.get_mut(&kernel.id) {
                relate(&mut devices, call, kernel);
            }
        }
        let launched_nothing = self.calls.values().any(|call| !call.launched);
        let devices = devices.into_iter();
        let launches = devices.map(|(number, device): (u32, Device)| {
            let launches = Launches {
                call_median_ns: middle(device.calls),
                delay_median_ns: middle(device.delays),
                ..device.launches
            };
            (number, launches)
        });
        (launches.collect(), launched_nothing)
    }
}

fn middle(kept: Kept) -> f64 {
    median(&kept.into_run().samples_ns).unwrap_or(0.0)
}

fn relate(devices: &mut HashMap<u32, Device>, call: &mut Call, kernel: &Kernel) {
    // Clocks of host and device that disagree give no delay.
    let Ok(after) = u64::try_from(kernel.start.saturating_sub(call.start)) else {
        return;
    };
    // It may begin before its call returns.
    let delay = after.saturating_sub(call.duration);
    let device = devices.entry(kernel.device).or_default();
    let launches = &mut device.launches;
    launches.kernels += 1;
    launches.delay_max_ns = launches.delay_max_ns.max(delay);
    launches.shorter += u64::from(kernel.duration < call.duration);
    // What is kept is finite, so nothing is refused.
    let _ = device.delays.push(delay as f64);
    if !call.launched {
        call.launched = true;
        launches.calls += 1;
        launches.call_total_ns = launches.call_total_ns.saturating_add(call.duration);
        let _ = device.calls.push(call.duration as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_kernels_meet_in_any_order() {
        let mut related = Related::default();
        related.call((1, 5), 100, 6);
        related.kernel((1, 5), 0, 130, 4);
        // A graph: one call, two kernels, which come first.
        related.kernel((1, 6), 0, 250, 40);
        related.kernel((1, 6), 0, 300, 40);
        related.call((1, 6), 200, 10);
        // Another process's.
        related.kernel((2, 5), 0, 900, 40);
        let launches = &related.into_launches().0[&0];
        assert_eq!(
            (launches.kernels, launches.calls, launches.shorter),
            (3, 2, 1)
        );
        assert_eq!((launches.call_total_ns, launches.call_median_ns), (16, 8.0));
        assert_eq!(
            (launches.delay_median_ns, launches.delay_max_ns),
            (40.0, 90)
        );
    }
}
