//! Quarantines devices for a while after an error that would recur.
//!
//! Per process and device: all managers share the quarantine. Each consecutive failure doubles the
//! time, from one second to five minutes. When it is over, one execution at a time tries the device
//! with a single task; other executions still do without it. Launches that were in flight when a
//! device failed are no new evidence: they neither extend the quarantine nor lift it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::locked;

/// Quarantine time after the first failure.
pub(super) const FIRST_BACK_OFF: Duration = Duration::from_secs(1);

/// Longest quarantine time.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);

/// Most names kept; a new one replaces the one whose quarantine ends soonest.
const MOST: usize = 256;

#[derive(Debug)]
struct Entry {
    failures: u32,
    /// The last error.
    why: String,
    failed: Instant,
    until: Instant,
    /// An execution is trying the device.
    on_trial: bool,
}

static ENTRIES: Mutex<BTreeMap<String, Entry>> = Mutex::new(BTreeMap::new());

/// Whether a device may be used.
#[derive(Debug)]
pub(super) enum Admission {
    /// It is not in quarantine.
    Good,
    /// It may be tried with one task.
    OnProbation(Trial),
    /// Not before then, because of that error.
    Until(Instant, String),
}

/// Returns true if no device is in quarantine.
pub(super) fn is_empty() -> bool {
    locked(&ENTRIES).is_empty()
}

/// Returns whether the device may be used; if it is to be tried, the trial is the caller's if it
/// `tries`.
pub(super) fn admission(device: &str, now: Instant, tries: bool) -> Admission {
    match locked(&ENTRIES).get_mut(device) {
        None => Admission::Good,
        Some(entry) if entry.on_trial || now < entry.until => {
            Admission::Until(entry.until, entry.why.clone())
        }
        Some(_) if !tries => Admission::Good,
        Some(entry) => {
            entry.on_trial = true;
            Admission::OnProbation(Trial {
                device: device.to_owned(),
                failed: entry.failed,
            })
        }
    }
}

/// Records that a launch which began then failed, and why. Returns true if that is new evidence.
pub(super) fn failed(
    device: &str,
    why: &str,
    first: Duration,
    began: Instant,
    now: Instant,
) -> bool {
    let mut entries = locked(&ENTRIES);
    if entries.len() >= MOST && !entries.contains_key(device) {
        let waiting = entries.values().filter(|entry| !entry.on_trial);
        let soonest = waiting.map(|entry| entry.until).min();
        entries.retain(|_, entry| entry.on_trial || Some(entry.until) != soonest);
    }
    let entry = entries.entry(device.to_owned()).or_insert(Entry {
        failures: 0,
        why: String::new(),
        failed: began,
        until: now,
        on_trial: false,
    });
    if entry.failures > 0 && began <= entry.failed {
        return false;
    }
    entry.failures += 1;
    why.clone_into(&mut entry.why);
    entry.on_trial = false;
    entry.failed = now;
    let doubled = 2_u32.saturating_pow(entry.failures - 1);
    entry.until = now + first.saturating_mul(doubled).min(LONGEST_BACK_OFF);
    true
}

/// Records that a launch which began then succeeded.
pub(super) fn works(device: &str, began: Instant) {
    let mut entries = locked(&ENTRIES);
    let entry = entries.get(device);
    if entry.is_some_and(|entry| began > entry.failed) {
        entries.remove(device);
    }
}

/// Ends the quarantine of an operation on every device, or of everything: the cause is mended.
pub fn end_quarantine(operation: Option<&str>) {
    locked(&ENTRIES).retain(|name, _| {
        operation.is_some_and(|operation| {
            let device = name.strip_suffix(operation);
            !device.is_some_and(|device| device.ends_with(": "))
        })
    });
}

/// One execution's trial of a device. When it is dropped, whatever the outcome, the next execution
/// may try, unless the device failed again.
#[derive(Debug)]
pub(super) struct Trial {
    device: String,
    /// The failure that the trial follows: another trial follows another failure.
    failed: Instant,
}

impl Drop for Trial {
    fn drop(&mut self) {
        if let Some(entry) = locked(&ENTRIES).get_mut(&self.device)
            && entry.failed == self.failed
        {
            entry.on_trial = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn is_good(device: &str, now: Instant) -> bool {
        matches!(admission(device, now, true), Admission::Good)
    }

    fn until(device: &str, now: Instant) -> Option<Instant> {
        match admission(device, now, false) {
            Admission::Until(until, _) => Some(until),
            Admission::Good | Admission::OnProbation(_) => None,
        }
    }

    #[test]
    fn each_failure_doubles_the_time_and_one_at_a_time_tries() {
        let device = "quarantine test";
        let start = Instant::now();
        assert!(is_good(device, start));
        assert!(failed(device, "made up", SECOND, start, start));
        assert_eq!(until(device, start), Some(start + SECOND));
        let later = start + SECOND;
        let trial = admission(device, later, true);
        assert!(matches!(trial, Admission::OnProbation(_)), "{trial:?}");
        assert_eq!(until(device, later), Some(later));
        assert!(failed(device, "made up", SECOND, later, later));
        assert_eq!(until(device, later), Some(later + 2 * SECOND));
        drop(trial);
        let mut later = later;
        for _ in 0..40 {
            later += SECOND;
            failed(device, "made up", SECOND, later, later);
        }
        assert_eq!(until(device, later), Some(later + LONGEST_BACK_OFF));
        works(device, later + SECOND);
        assert!(is_good(device, later));
    }

    #[test]
    fn a_trial_that_ends_late_lets_nobody_into_a_later_one() {
        let device = "quarantine late trial test";
        let start = Instant::now();
        failed(device, "made up", SECOND, start, start);
        let second = start + SECOND;
        let late = admission(device, second, true);
        failed(device, "made up", SECOND, second, second);
        let third = second + 2 * SECOND;
        let trial = admission(device, third, true);
        assert!(matches!(trial, Admission::OnProbation(_)), "{trial:?}");
        drop(late);
        assert_eq!(until(device, third), Some(third), "one at a time");
        // Nor does one from before the device worked again.
        works(device, third + SECOND);
        let fourth = third + 2 * SECOND;
        failed(device, "made up", SECOND, fourth, fourth);
        let fifth = fourth + SECOND;
        let next = admission(device, fifth, true);
        drop(trial);
        assert_eq!(until(device, fifth), Some(fifth));
        drop(next);
        assert_eq!(until(device, fifth), None);
    }

    #[test]
    fn launches_from_before_a_failure_say_nothing_new() {
        let device = "quarantine hiccup test";
        let start = Instant::now();
        let failure = start + SECOND;
        assert!(failed(device, "made up", SECOND, start, failure));
        for _ in 0..9 {
            assert!(!failed(
                device,
                "made up",
                SECOND,
                start,
                failure + SECOND / 2
            ));
        }
        assert_eq!(until(device, failure), Some(failure + SECOND));
        works(device, start);
        assert_eq!(until(device, failure), Some(failure + SECOND));
        works(device, failure + SECOND);
        assert!(is_good(device, failure));
    }

    #[test]
    fn an_ended_quarantine_is_that_of_the_operation_alone() {
        let start = Instant::now();
        let keys = ["gpu q: mended", "gpu q: other", "gpu q"];
        for key in keys {
            failed(key, "a bug", SECOND, start, start);
        }
        end_quarantine(Some("mended"));
        assert_eq!(
            keys.map(|key| until(key, start).is_some()),
            [false, true, true]
        );
        let Admission::Until(_, why) = admission("gpu q", start, true) else {
            panic!("it is in quarantine");
        };
        assert_eq!(why, "a bug");
    }

    #[test]
    fn however_many_names_fail_a_failure_costs_the_same_and_few_are_kept() {
        let start = Instant::now();
        let name = |index: usize| format!("quarantine name test {index}");
        for index in 0..100_000 {
            assert!(failed(
                &name(index),
                "made up",
                SECOND,
                start,
                Instant::now()
            ));
        }
        let took = start.elapsed();
        assert!(took < 4 * SECOND, "{took:?}");
        assert!(locked(&ENTRIES).len() <= MOST);
        assert!(until(&name(99_999), Instant::now()).is_some());
    }
}
