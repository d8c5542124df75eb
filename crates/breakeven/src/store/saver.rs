//! Saves cost models in the background: a file's lock may be held elsewhere, and nobody
//! is to wait for that.

use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::Costs;

/// For how long the last manager waits for what was learned to be saved.
const SAVED_WITHIN: Duration = Duration::from_millis(80);

/// What is to be saved, and who is told when it is.
type Request = (Arc<Costs>, Option<SyncSender<()>>);

/// The thread that saves; none where there is none to be had.
fn requests() -> Option<&'static Sender<Request>> {
    static REQUESTS: OnceLock<Option<Sender<Request>>> = OnceLock::new();
    let sender = REQUESTS.get_or_init(|| {
        let (sender, receiver) = channel::<Request>();
        let thread = std::thread::Builder::new().name("breakeven-save".to_owned());
        let made = thread.spawn(move || {
            for (costs, done) in receiver {
                if let Err(error) = costs.save() {
                    log::warn!("what was learned was not kept: {error}");
                }
                // Whoever waited may have given up.
                let _ = done.map(|done| done.try_send(()));
            }
        });
        made.map(|_| sender)
            .map_err(|error| log::warn!("no thread to keep what is learned: {error}"))
            .ok()
    });
    sender.as_ref()
}

/// Has the model saved some time soon.
pub(crate) fn save(costs: &Arc<Costs>) {
    save_and(costs, None);
}

/// Has the model saved, and waits a little for that: nothing else may come.
pub(crate) fn save_at_the_end(costs: &Arc<Costs>) {
    let (done, told) = sync_channel(1);
    save_and(costs, Some(done));
    let _ = told.recv_timeout(SAVED_WITHIN);
}

fn save_and(costs: &Arc<Costs>, done: Option<SyncSender<()>>) {
    if !costs.is_kept() || !costs.is_unsaved() {
        return;
    }
    let costs = Arc::clone(costs);
    // The thread lives as long as the process.
    let _ = requests().map(|requests| requests.send((costs, done)));
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::plan::RanOn;
    use crate::store::tests::{observe, place};

    #[test]
    fn a_lock_that_others_hold_holds_nobody_up() {
        let (_directory, path) = place();
        let load = || Costs::load(&path).0;
        let costs = Arc::new(load());
        let lock = path.with_file_name("costs.json.lock");
        let held = crate::store::lock::hold(&lock, Duration::ZERO).expect("nobody else has it");
        observe(&costs, "blur", RanOn::Cpu, 100, 10);
        let took = |call: &dyn Fn()| {
            let begun = Instant::now();
            call();
            begun.elapsed()
        };
        // The soonest of some, for the machine may be busy.
        let soonest = |call: &dyn Fn()| (0..20).map(|_| took(call)).min().expect("twenty");
        let asked = soonest(&|| save(&costs));
        assert!(asked < Duration::from_millis(1), "{asked:?}");
        let waited = soonest(&|| save_at_the_end(&costs));
        assert!(waited < Duration::from_millis(100), "{waited:?}");
        drop(held);
        let until = Instant::now() + Duration::from_secs(20);
        while load().operations().is_empty() {
            assert!(Instant::now() < until, "it is never saved");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
