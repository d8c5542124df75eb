//! Saves cost models in the background, because another process may hold a file's lock and no
//! caller should wait for it.
//!
//! One thread saves everything learned within a second together, and the rest when the process
//! ends.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use breakeven_profile::exit::at_exit;

use super::Costs;
use crate::locked;

/// Everything learned within this time is saved together.
const EVERY: Duration = Duration::from_secs(1);

/// Pause between two saves, as a multiple of a save's time, up to [`LONGEST`], which is also the
/// pause after a failed one.
const PAUSE: u32 = 100;
const LONGEST: Duration = Duration::from_secs(60);

/// How long a manager that ends waits for the save.
const MANAGER_WAITS: Duration = Duration::from_millis(80);

/// How long a process that ends waits.
const PROCESS_WAITS: Duration = Duration::from_secs(1);

/// The thread's work.
struct Saver {
    /// The process that started it: a fork does not copy threads.
    process: u32,
    waiting: Vec<Arc<Costs>>,
    /// A caller waits for it.
    is_asked: bool,
    is_saving: bool,
}

static SAVER: Mutex<Saver> = Mutex::new(Saver::of(0));
static CHANGED: Condvar = Condvar::new();

impl Saver {
    const fn of(process: u32) -> Self {
        Self {
            process,
            waiting: Vec::new(),
            is_asked: false,
            is_saving: false,
        }
    }
}

/// Saves the model within about a second.
pub(crate) fn save(costs: &Arc<Costs>) {
    if !costs.is_kept() || !costs.is_unsaved() {
        return;
    }
    let mut saver = locked(&SAVER);
    if saver.process != std::process::id() {
        start(&mut saver);
    }
    if !saver.waiting.iter().any(|known| Arc::ptr_eq(known, costs)) {
        saver.waiting.push(Arc::clone(costs));
        CHANGED.notify_all();
    }
}

/// Saves the model, and waits briefly; if managers come and go, once a second.
pub(crate) fn save_at_the_end(costs: &Arc<Costs>) {
    save(costs);
    let mut flushed = locked(&costs.flushed);
    if flushed.is_none_or(|at| at.elapsed() >= EVERY) {
        *flushed = Some(Instant::now());
        flush(MANAGER_WAITS);
    }
}

fn start(saver: &mut Saver) {
    if saver.process == 0 {
        at_exit(flush_at_exit);
    }
    *saver = Saver::of(std::process::id());
    let thread = std::thread::Builder::new().name("breakeven-save".to_owned());
    if let Err(error) = thread.spawn(run) {
        log::warn!("no thread to keep what is learned: {error}");
    }
}

/// Runs as long as the process.
fn run() {
    let mut pause = EVERY;
    loop {
        let saver = wait(locked(&SAVER), Duration::MAX, |saver| {
            saver.waiting.is_empty()
        });
        let mut saver = wait(saver, pause, |saver| !saver.is_asked);
        let all = std::mem::take(&mut saver.waiting);
        (saver.is_asked, saver.is_saving) = (false, true);
        drop(saver);
        let (begun, mut least) = (Instant::now(), EVERY);
        for costs in all {
            if let Err(error) = costs.save() {
                log::warn!("what was learned was not kept: {error}");
                least = LONGEST;
            }
        }
        pause = (PAUSE * begun.elapsed()).clamp(least, LONGEST);
        locked(&SAVER).is_saving = false;
        CHANGED.notify_all();
    }
}

/// Saves everything pending, and waits at most `within`.
fn flush(within: Duration) {
    let mut saver = locked(&SAVER);
    if saver.process != std::process::id() {
        return;
    }
    saver.is_asked = !saver.waiting.is_empty();
    CHANGED.notify_all();
    let is_busy = |saver: &Saver| saver.is_saving || !saver.waiting.is_empty();
    drop(wait(saver, within, is_busy));
}

extern "C" fn flush_at_exit() {
    flush(PROCESS_WAITS);
}

/// Waits while the condition holds, for a limited time.
fn wait(
    saver: MutexGuard<'_, Saver>,
    most: Duration,
    mut is_so: impl FnMut(&Saver) -> bool,
) -> MutexGuard<'_, Saver> {
    let waited = CHANGED.wait_timeout_while(saver, most, |saver| is_so(saver));
    waited.unwrap_or_else(PoisonError::into_inner).0
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
        let held = crate::cache::hold(&lock, Duration::ZERO).expect("nobody else has it");
        observe(&costs, "blur", RanOn::Cpu, 100, 10);
        let took = |call: &dyn Fn()| {
            let begun = Instant::now();
            call();
            begun.elapsed()
        };
        // The shortest of several, because the machine may be busy.
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
