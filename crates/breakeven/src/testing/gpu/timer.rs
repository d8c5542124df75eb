//! Wakes whoever waits for a simulated device, when its time has come.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Condvar, LazyLock, Mutex, Once, PoisonError};
use std::task::Waker;
use std::time::Instant;

struct Alarm {
    at: Instant,
    waker: Waker,
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Alarm {}

impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Alarm {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

static ALARMS: LazyLock<(Mutex<BinaryHeap<Reverse<Alarm>>>, Condvar)> =
    LazyLock::new(Default::default);

/// Wakes it then.
pub(super) fn wake_at(at: Instant, waker: Waker) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let thread = std::thread::Builder::new().name("simulated-timer".to_owned());
        if thread.spawn(serve).is_err() {
            log::warn!("no thread to wake whoever waits for simulated devices");
        }
    });
    let (alarms, changed) = &*ALARMS;
    alarms
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(Reverse(Alarm { at, waker }));
    changed.notify_one();
}

fn serve() {
    let (alarms, changed) = &*ALARMS;
    let mut alarms = alarms.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let now = Instant::now();
        let next = alarms.peek().map(|Reverse(alarm)| alarm.at);
        alarms = match next {
            None => changed.wait(alarms).unwrap_or_else(PoisonError::into_inner),
            Some(at) if at > now => {
                let waited = changed.wait_timeout(alarms, at - now);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            Some(_) => {
                if let Some(Reverse(alarm)) = alarms.pop() {
                    alarm.waker.wake();
                }
                alarms
            }
        };
    }
}
