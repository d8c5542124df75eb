//! What devices draw while a program waits, and how long a difference of counters must last.

use std::thread;
use std::time::{Duration, Instant};

use super::energy::{EnergyCounter, EnergyDomain, EnergyMeter};
use super::unknown::EnergyUnknown;

/// How many times the resolution of its counters a measured time lasts, so that rounding is
/// at most a tenth of it.
const READINGS: u32 = 10;

/// For how long idle power is measured at the least: what else runs comes in bursts.
const LEAST_IDLE: Duration = Duration::from_millis(200);

/// What each device drew while this program waited.
#[derive(Debug, Clone, PartialEq)]
pub struct IdlePower {
    /// Per device, W, or why that is not known.
    pub watts: Vec<(EnergyDomain, Result<f64, EnergyUnknown>)>,
    /// Over how long; no time where no device tells.
    pub over: Duration,
}

impl IdlePower {
    /// What a device drew, W, or why that is not known; none where nothing counts it.
    pub fn of(&self, domain: &EnergyDomain) -> Option<&Result<f64, EnergyUnknown>> {
        let found = self.watts.iter().find(|(known, _)| known == domain);
        found.map(|(_, watts)| watts)
    }
}

/// The least time between two readings of these counters whose difference is mostly what was
/// spent: 10 ms of the processors' alone, one second where a GPU's driver tells. None where
/// no counter tells.
pub fn least_time<'c>(counters: impl IntoIterator<Item = &'c EnergyCounter>) -> Option<Duration> {
    let told = (counters.into_iter()).filter(|counter| counter.joules.is_ok());
    let resolution = told.map(|counter| counter.method.resolution()).max();
    resolution.map(|resolution: Duration| READINGS * resolution)
}

impl EnergyMeter {
    /// Waits for a while, and says what each device drew meanwhile: 0.2 s, or a second where
    /// a GPU's driver tells, or not at all where nothing does.
    pub fn measure_idle(&self) -> IdlePower {
        let (before, began) = (self.read(), Instant::now());
        let Some(least) = least_time(&before) else {
            let unknown = before.into_iter().map(|counter| {
                let watts = counter.joules.map(|_| 0.0);
                (counter.domain, watts)
            });
            return IdlePower {
                watts: unknown.collect(),
                over: Duration::ZERO,
            };
        };
        thread::sleep(least.max(LEAST_IDLE));
        let (after, over) = (self.read(), began.elapsed());
        let watts = after.into_iter().map(|counter| {
            let at_first = joules_of(&before, &counter.domain).unwrap_or(0.0);
            let watts =
                (counter.joules).map(|joules| (joules - at_first).max(0.0) / over.as_secs_f64());
            (counter.domain, watts)
        });
        IdlePower {
            watts: watts.collect(),
            over,
        }
    }
}

/// The joules of a device by these counters, where they are known.
pub fn joules_of(counters: &[EnergyCounter], domain: &EnergyDomain) -> Option<f64> {
    let counter = counters.iter().find(|counter| counter.domain == *domain)?;
    counter.joules.as_ref().ok().copied()
}
