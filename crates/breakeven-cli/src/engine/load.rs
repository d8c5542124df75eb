//! Records the machine's load on a thread of its own while something else goes on.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use breakeven::hardware::Fact;
use breakeven::hardware::sensors::{LoadRecorder, OthersUse, Sensors};
use breakeven_profile::profile::LoadRecord;

/// What came since the last reading is another one only if it is this long: rates over
/// less are mostly rounding.
const LEAST: Duration = Duration::from_millis(50);

/// A recording that is under way.
pub(crate) struct Recording {
    stop: Sender<()>,
    thread: JoinHandle<Option<LoadRecord>>,
}

/// Begins to record. `others` counts what programs use other than this one and those
/// that it starts, which makes sense where these are what is measured.
pub(crate) fn start(recorder: LoadRecorder, interval: Duration, others: bool) -> Result<Recording> {
    let (stop, stopped) = channel();
    let (ready, is_ready) = channel();
    let record = move || {
        let mut recorder = recorder;
        let mut sensors = Sensors::open();
        let mut others = others.then(OthersUse::than_this_process);
        let mut take = || {
            let others = others.as_mut().map_or(Fact::Unknown, OthersUse::read);
            let reading = sensors.read();
            recorder.take(&reading, others);
            reading.at
        };
        let began = crate::engine::session::now();
        let mut last = take();
        // Nobody waits any more where the program ends already.
        let _ = ready.send(());
        loop {
            let due = last + interval;
            let wait = due.saturating_duration_since(Instant::now());
            let ended = stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
            if !ended || last.elapsed() >= LEAST {
                last = take();
            }
            if ended {
                break;
            }
        }
        let record = recorder.finish()?;
        let began = Some(began);
        Some(LoadRecord { began, ..record })
    };
    let thread = thread::Builder::new()
        .name("breakeven-load".to_owned())
        .spawn(record)
        .context("cannot start the thread that records the load")?;
    // The first reading opens driver libraries: not while something is measured.
    let _ = is_ready.recv();
    Ok(Recording { stop, thread })
}

impl Recording {
    /// Ends it. None where no sensor told anything, or it was too short for rates.
    pub(crate) fn end(self) -> Option<LoadRecord> {
        // A thread that has ended needs no telling.
        let _ = self.stop.send(());
        self.thread.join().ok().flatten()
    }
}
