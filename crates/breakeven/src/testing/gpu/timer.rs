//! Wakes waiters of a simulated device at a given time.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, Once, PoisonError};
use std::task::Waker;
use std::time::Instant;

use crate::locked;

static ALARMS: Mutex<BTreeMap<Instant, Vec<Waker>>> = Mutex::new(BTreeMap::new());
static CHANGED: Condvar = Condvar::new();

/// Wakes it then.
pub(super) fn wake_at(at: Instant, waker: Waker) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let thread = std::thread::Builder::new().name("simulated-timer".to_owned());
        if thread.spawn(serve).is_err() {
            log::warn!("no thread to wake whoever waits for simulated devices");
        }
    });
    locked(&ALARMS).entry(at).or_default().push(waker);
    CHANGED.notify_one();
}

fn serve() {
    let mut alarms = locked(&ALARMS);
    loop {
        let now = Instant::now();
        let next = alarms.first_key_value().map(|(at, _)| *at);
        alarms = match next {
            None => CHANGED.wait(alarms).unwrap_or_else(PoisonError::into_inner),
            Some(at) if at > now => {
                let waited = CHANGED.wait_timeout(alarms, at - now);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            Some(at) => {
                let due = alarms.remove(&at);
                due.into_iter().flatten().for_each(Waker::wake);
                alarms
            }
        };
    }
}
