//! Supervises a run: the thread that ends processes, Ctrl-C, and the guard.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};

#[cfg(target_os = "linux")]
use super::guard::Guard;
use super::jobs::{Jobs, Stop};
use super::running::Looks;
use crate::engine::supervisor::{on_interrupt, start_thread};

/// How long an interrupted run prints remaining output, for example into a pipe that nobody reads.
/// Jobs that ignore the request to end are killed before.
const LAST_WORDS: Duration = Duration::from_millis(900);

/// Runs `body` while a thread ends late processes. Ctrl-C stops the jobs; if this process is
/// killed, its guard ends them.
pub(super) fn supervised(
    jobs: &Arc<Jobs>,
    looks: Looks,
    body: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let interrupted = Arc::downgrade(jobs);
    on_interrupt(move || {
        if let Some(jobs) = interrupted.upgrade() {
            jobs.stop(Stop::Interrupted);
            drop(jobs);
            let end = || {
                // Finished jobs are in the joblog; others run again.
                std::process::exit(130);
            };
            let later = start_thread(move || {
                std::thread::sleep(LAST_WORDS);
                end();
            });
            if later.is_err() {
                end();
            }
        }
    })?;
    #[cfg(target_os = "linux")]
    let guard = guard(jobs)?;
    let is_over = AtomicBool::new(false);
    let over = || is_over.load(Ordering::SeqCst);
    let running = &jobs.running;
    let happened = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .spawn_scoped(scope, move || running.watch(&looks, over))
            .context("cannot start the thread that watches the processes")?;
        let happened = body();
        is_over.store(true, Ordering::SeqCst);
        running.stop_watch();
        happened
    });
    // All have ended.
    #[cfg(target_os = "linux")]
    guard.dismiss();
    happened
}

/// Other systems cannot identify the processes of a run.
#[cfg(target_os = "linux")]
fn guard(jobs: &Jobs) -> Result<Guard> {
    let printer = super::running::lock(&jobs.printer);
    let guard = Guard::start(&jobs.run, printer.joblog());
    guard.context("cannot start the process that ends jobs if this one is killed")
}
