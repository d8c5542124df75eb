//! Kernels and the host's calls that launched them, related by the tracer's correlation id.

use std::collections::{HashMap, VecDeque};

use breakeven_profile::profile::Launches;
use breakeven_profile::stats::median;

use crate::gather::Kept;

/// Calls and kernels that wait for the other side. In a trace they are near each other, or
/// all calls come before all kernels.
const WAITING: usize = 1 << 19;

/// What relates a call and its kernels: a process and a number that is unique in it.
pub(crate) type Correlation = (u64, u64);

struct Call {
    start: i64,
    duration: u64,
    launched: bool,
}

struct Kernel {
    device: u32,
    start: i64,
    duration: u64,
}

/// Calls and kernels as they come in, in any order.
#[derive(Default)]
pub(super) struct Related {
    calls: HashMap<Correlation, Call>,
    calls_in_order: VecDeque<Correlation>,
    kernels: HashMap<Correlation, Vec<Kernel>>,
    waiting: usize,
    devices: HashMap<u32, Device>,
}

#[derive(Default)]
struct Device {
    launches: Launches,
    calls: Kept,
    delays: Kept,
}

impl Related {
    pub(super) fn call(&mut self, id: Correlation, start: i64, duration: u64) {
        if self.calls_in_order.len() >= WAITING
            && let Some(oldest) = self.calls_in_order.pop_front()
        {
            self.calls.remove(&oldest);
        }
        let mut call = Call {
            start,
            duration,
            launched: false,
        };
        for kernel in self.kernels.remove(&id).unwrap_or_default() {
            self.waiting -= 1;
            relate(&mut self.devices, &mut call, &kernel);
        }
        if self.calls.insert(id, call).is_none() {
            self.calls_in_order.push_back(id);
        }
    }

    pub(super) fn kernel(&mut self, id: Correlation, device: u32, start: i64, duration: u64) {
        let kernel = Kernel {
            device,
            start,
            duration,
        };
        match self.calls.get_mut(&id) {
            Some(call) => relate(&mut self.devices, call, &kernel),
            None if self.waiting < WAITING => {
                self.waiting += 1;
                // Most calls launch one.
                let one = || Vec::with_capacity(1);
                self.kernels.entry(id).or_insert_with(one).push(kernel);
            }
            None => {}
        }
    }

    /// What is known of the launches on each device, and whether there were any of which
    /// nothing is known.
    pub(super) fn into_launches(self) -> (HashMap<u32, Launches>, bool) {
        let launched_nothing = self.calls.values().any(|call| !call.launched);
        let devices = self.devices.into_iter();
        let launches = devices.map(|(number, device)| {
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
