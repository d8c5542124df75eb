//! The running processes, by their groups: they can be ended, and are ended at their time limit.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::engine::supervisor::on_interrupt;

/// Time between the request to end and the kill.
const GRACE: Duration = Duration::from_millis(500);

/// Why a process was asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    /// It reached its time limit.
    Timeout,
    /// Its job is no longer needed.
    Unwanted,
}

#[derive(Debug)]
struct Group {
    began: Instant,
    asked: Option<(EndReason, Instant)>,
}

#[derive(Debug, Default)]
struct Table {
    /// By the id of the group, which is that of its first process.
    groups: HashMap<Pid, Group>,
    /// All must end, including those that are started now.
    ends_all: bool,
}

/// The running processes.
#[derive(Debug)]
pub(crate) struct Running {
    table: Mutex<Table>,
    timeout: Option<Duration>,
    /// The earliest time limit of a running process.
    end: Option<Instant>,
    look: Sender<bool>,
}

/// Wakes the watching thread; true ends it.
pub(crate) type Looks = Receiver<bool>;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Running {
    pub(crate) fn new(timeout: Option<Duration>, end: Option<Instant>) -> (Self, Looks) {
        let (look, looks) = channel();
        let running = Self {
            table: Mutex::default(),
            timeout,
            end,
            look,
        };
        (running, looks)
    }

    /// Adds a running group, until [`ended`](Self::ended).
    pub(super) fn started(&self, group: Pid) {
        let mut table = lock(&self.table);
        let began = Instant::now();
        let mut entry = Group { began, asked: None };
        if table.ends_all {
            ask(group, &mut entry, EndReason::Unwanted, began);
        }
        table.groups.insert(group, entry);
        let is_watched = self.timeout.is_some() || self.end.is_some() || table.ends_all;
        drop(table);
        if is_watched {
            // Without a watching thread nothing would end it, as after the end of the run.
            let _ = self.look.send(false);
        }
    }

    /// The first process of a group has ended and still has its id; returns whether it was asked to
    /// end. The remaining processes of a group that was asked to end are killed.
    pub(super) fn ended(&self, group: Pid) -> Option<EndReason> {
        let (why, _) = lock(&self.table).groups.remove(&group)?.asked?;
        let _ = kill_process_group(group, Signal::KILL);
        Some(why)
    }

    /// Asks one group to end.
    pub(super) fn end(&self, group: Pid) {
        if let Some(entry) = lock(&self.table).groups.get_mut(&group) {
            ask(group, entry, EndReason::Unwanted, Instant::now());
        }
        let _ = self.look.send(false);
    }

    /// Asks all groups to end, and all that are started later.
    pub(crate) fn end_all(&self) {
        let now = Instant::now();
        let mut table = lock(&self.table);
        table.ends_all = true;
        for (group, entry) in &mut table.groups {
            ask(*group, entry, EndReason::Unwanted, now);
        }
        drop(table);
        let _ = self.look.send(false);
    }

    /// Ends processes at their time limit, until the run is over.
    fn watch(&self, looks: &Looks) {
        let mut next = None;
        loop {
            let waited = match next {
                Some(pause) => looks.recv_timeout(pause),
                None => looks.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            if matches!(waited, Ok(true) | Err(RecvTimeoutError::Disconnected)) {
                return;
            }
            let now = Instant::now();
            let at = self.end_late(now);
            next = at.map(|at| at.saturating_duration_since(now));
        }
    }

    /// Calls `body` while a thread ends late processes.
    pub(super) fn watched<R>(&self, looks: Looks, body: impl FnOnce() -> Result<R>) -> Result<R> {
        thread::scope(|scope| {
            let watch = move || self.watch(&looks);
            let watching = thread::Builder::new().spawn_scoped(scope, watch);
            watching.context("cannot start the thread that watches the processes")?;
            let result = body();
            let _ = self.look.send(true);
            result
        })
    }

    /// Ends late processes; returns when the next one will be late.
    fn end_late(&self, now: Instant) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for (group, entry) in &mut lock(&self.table).groups {
            let late = self.timeout.and_then(|time| entry.began.checked_add(time));
            let late = [late, self.end].into_iter().flatten().min();
            if entry.asked.is_none() && late.is_some_and(|late| late <= now) {
                ask(*group, entry, EndReason::Timeout, now);
            }
            let at = match entry.asked {
                Some((_, since)) if now >= since + GRACE => {
                    let _ = kill_process_group(*group, Signal::KILL);
                    Some(now + GRACE)
                }
                Some((_, since)) => Some(since + GRACE),
                None => late,
            };
            next = [next, at].into_iter().flatten().min();
        }
        next
    }
}

/// Calls `body` while a thread ends what runs at `end`, and Ctrl-C ends it at once.
pub(crate) fn watched<R>(
    end: Option<Instant>,
    body: impl FnOnce(&Running) -> Result<R>,
) -> Result<R> {
    let (running, looks) = Running::new(None, end);
    let running = Arc::new(running);
    let ends = Arc::clone(&running);
    on_interrupt(move || ends.end_all())?;
    running.watched(looks, || body(&running))
}

fn ask(group: Pid, entry: &mut Group, why: EndReason, now: Instant) {
    if entry.asked.is_none() {
        entry.asked = Some((why, now));
        // It may have ended by itself.
        let _ = kill_process_group(group, Signal::TERM);
    }
}
