//! Saves cost models in the background: a file's lock may be held elsewhere, and nobody
//! is to wait for that.

use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::Costs;

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

/// Has the model saved, and waits for that so long at most.
pub(crate) fn save_within(costs: &Arc<Costs>, time: Duration) {
    let (done, told) = sync_channel(1);
    save_and(costs, Some(done));
    let _ = told.recv_timeout(time);
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
        let begun = Instant::now();
        save(&costs);
        let asked = begun.elapsed();
        save_within(&costs, Duration::from_millis(50));
        let waited = begun.elapsed();
        assert!(asked < Duration::from_millis(20), "{asked:?}");
        assert!(waited < Duration::from_millis(500), "{waited:?}");
        drop(held);
        let until = Instant::now() + Duration::from_secs(20);
        while load().operations().is_empty() {
            assert!(Instant::now() < until, "it is never saved");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
