//! Devices that are left alone for a while after an error that would come again.
//!
//! Per process and device: what one manager learned, all know. Each failure in a
//! row doubles the time, from one second to five minutes. When it is over, one
//! execution at a time tries the device with a single task; the others still do
//! without it.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a device is left alone after its first failure.
pub(super) const FIRST_BACK_OFF: Duration = Duration::from_secs(1);

/// How long at most.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy)]
struct Entry {
    failures: u32,
    until: Instant,
    /// An execution is trying the device.
    on_trial: bool,
}

static ENTRIES: LazyLock<Mutex<HashMap<String, Entry>>> = LazyLock::new(Mutex::default);

/// Whether a device may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing is held against it.
    Good,
    /// It may be tried with one task; whoever got this says how it went.
    OnProbation,
    /// Not before then.
    Until(Instant),
}

fn entries() -> MutexGuard<'static, HashMap<String, Entry>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How the device stands now. Asking is taking the trial, where there is one.
pub(super) fn standing(device: &str, now: Instant) -> Standing {
    let mut entries = entries();
    match entries.get_mut(device) {
        None => Standing::Good,
        Some(entry) if entry.on_trial || now < entry.until => Standing::Until(entry.until),
        Some(entry) => {
            entry.on_trial = true;
            Standing::OnProbation
        }
    }
}

/// The device failed: how long it is left alone.
pub(super) fn failed(device: &str, first: Duration, now: Instant) -> Instant {
    let mut entries = entries();
    let entry = entries.entry(device.to_owned()).or_insert(Entry {
        failures: 0,
        until: now,
        on_trial: false,
    });
    entry.failures += 1;
    entry.on_trial = false;
    let doubled = 2_u32.saturating_pow(entry.failures - 1);
    entry.until = now + first.saturating_mul(doubled).min(LONGEST_BACK_OFF);
    entry.until
}

/// The device works.
pub(super) fn works(device: &str) {
    entries().remove(device);
}

/// A trial ended without an answer: the next execution may try.
pub(super) fn trial_ended(device: &str) {
    if let Some(entry) = entries().get_mut(device) {
        entry.on_trial = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_time_and_one_at_a_time_tries() {
        let (device, second) = ("quarantine test", Duration::from_secs(1));
        let start = Instant::now();
        assert_eq!(standing(device, start), Standing::Good);
        assert_eq!(failed(device, second, start), start + second);
        assert_eq!(standing(device, start), Standing::Until(start + second));
        let later = start + second;
        assert_eq!(standing(device, later), Standing::OnProbation);
        assert_eq!(standing(device, later), Standing::Until(later));
        assert_eq!(failed(device, second, later), later + 2 * second);
        let later = later + 2 * second;
        assert_eq!(standing(device, later), Standing::OnProbation);
        trial_ended(device);
        assert_eq!(standing(device, later), Standing::OnProbation);
        for _ in 0..40 {
            failed(device, second, later);
        }
        assert_eq!(failed(device, second, later), later + LONGEST_BACK_OFF);
        works(device);
        assert_eq!(standing(device, later), Standing::Good);
    }
}
