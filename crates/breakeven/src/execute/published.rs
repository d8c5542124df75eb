//! Counts what all managers of this process did, while it is published for `breakeven monitor`.
//! While it is not, a batch costs one relaxed load.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use breakeven_profile::unit;

use super::ended::{Ended, add_to};
use super::explain::{amounted_to, headline};
use super::shared::ManagerStats;
use crate::locked;
use crate::monitor::{
    DecisionFigures, Figures, MOST_DECISIONS, MOST_DEVICES, MOST_OPERATIONS, OTHER_OPERATIONS,
    OperationFigures, VERSION, shortened,
};
use crate::plan::{Decision, ExecutionStrategy};

static IS_ON: AtomicBool = AtomicBool::new(false);
static PUBLISHED: Mutex<Option<Published>> = Mutex::new(None);

/// The counts since publishing began.
struct Published {
    /// Distinguishes one publication from earlier and later ones.
    number: u64,
    since: Instant,
    stats: ManagerStats,
    quarantines: BTreeMap<String, u64>,
    operations: BTreeMap<String, OperationFigures>,
    /// Newest last.
    decisions: VecDeque<Note>,
}

/// A batch that ended; its line of text is made when it is read.
struct Note {
    at: Instant,
    operation: String,
    tasks: usize,
    done: usize,
    is_whole: bool,
    strategy: ExecutionStrategy,
    took: Duration,
    fallen: usize,
    error: Option<String>,
    decision: Decision,
}

/// Begins to count, and returns the number by which [`figures`] finds these counts.
pub(crate) fn begin() -> u64 {
    static BEGUN: Mutex<u64> = Mutex::new(0);
    let mut begun = locked(&BEGUN);
    *begun += 1;
    *locked(&PUBLISHED) = Some(Published {
        number: *begun,
        since: Instant::now(),
        stats: ManagerStats::default(),
        quarantines: BTreeMap::new(),
        operations: BTreeMap::new(),
        decisions: VecDeque::with_capacity(MOST_DECISIONS),
    });
    IS_ON.store(true, Ordering::Relaxed);
    *begun
}

/// Ends counting.
pub(crate) fn end() {
    IS_ON.store(false, Ordering::Relaxed);
    *locked(&PUBLISHED) = None;
}

/// Records a batch that ended.
pub(super) fn batch(ended: &Ended, operation: &str) {
    if IS_ON.load(Ordering::Relaxed)
        && let Some(published) = &mut *locked(&PUBLISHED)
    {
        published.add(ended, shortened(operation));
    }
}

/// Records that a device was quarantined in a batch of this operation.
pub(super) fn quarantine(device: &str, operation: &str) {
    if IS_ON.load(Ordering::Relaxed)
        && let Some(published) = &mut *locked(&PUBLISHED)
    {
        published.stats.quarantines += 1;
        published.operation(shortened(operation)).quarantines += 1;
        add_to(&mut published.quarantines, device, 1, MOST_DEVICES);
    }
}

/// Returns the counts of this number; none if they have ended.
pub(crate) fn figures(number: u64) -> Option<Figures> {
    let published = locked(&PUBLISHED);
    let published = published
        .as_ref()
        .filter(|published| published.number == number)?;
    let now = Instant::now();
    let figures_of = |note: &Note| DecisionFigures {
        ago_s: now.duration_since(note.at).as_secs_f64(),
        text: shortened(&note.text()).to_owned(),
    };
    Some(Figures {
        version: VERSION,
        pid: std::process::id(),
        name: executable(),
        since_s: published.since.elapsed().as_secs_f64(),
        stats: published.stats.clone(),
        quarantines: published.quarantines.clone(),
        operations: published.operations.values().cloned().collect(),
        decisions: published.decisions.iter().rev().map(figures_of).collect(),
    })
}

fn executable() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path
        .file_name()
        .unwrap_or_else(|| Path::new("?").as_os_str());
    shortened(&name.to_string_lossy()).to_owned()
}

impl Published {
    /// Returns the counts of an operation, or the shared counts if there is no room.
    fn operation(&mut self, name: &str) -> &mut OperationFigures {
        let operations = &mut self.operations;
        let is_counted = operations.contains_key(name) || operations.len() < MOST_OPERATIONS;
        let name = if is_counted { name } else { OTHER_OPERATIONS };
        operations
            .entry(name.to_owned())
            .or_insert_with(|| OperationFigures {
                name: name.to_owned(),
                ..OperationFigures::default()
            })
    }

    fn add(&mut self, ended: &Ended, operation: &str) {
        self.stats.count(ended, MOST_DEVICES);
        let figures = self.operation(operation);
        figures.batches += 1;
        match ended.is_whole() {
            true => figures.latency.add(ended.took),
            false => figures.incomplete += 1,
        }
        figures.fallback_tasks += ended.fallen() as u64;
        ended.add_tasks(&mut figures.tasks, MOST_DEVICES);
        if self.decisions.len() == MOST_DECISIONS {
            self.decisions.pop_front();
        }
        self.decisions.push_back(Note::of(ended, operation));
    }
}

impl Note {
    fn of(ended: &Ended, operation: &str) -> Self {
        let counts = &ended.counts;
        let on_gpus = counts.gpus.iter().map(|gpu| gpu.tasks).sum();
        Self {
            at: Instant::now(),
            operation: operation.to_owned(),
            tasks: ended.tasks,
            done: ended.done,
            is_whole: ended.is_whole(),
            strategy: amounted_to(counts.cpu.tasks, on_gpus),
            took: ended.took,
            fallen: ended.fallen(),
            error: counts.first_error().map(|error| error.message.clone()),
            decision: (*ended.decision).clone(),
        }
    }

    /// Describes what ran where, why, predicted and actual, and what failed.
    fn text(&self) -> String {
        let mut text = headline(&self.operation, self.tasks, self.took, self.strategy);
        if !self.is_whole {
            let done = unit::plural(self.done as u64, "task");
            text += &format!(", ended after {done}");
        }
        text += &format!("; why: {}", self.decision.basis.name());
        let reason = self.decision.reason();
        if !reason.is_empty() {
            text += &format!(", {reason}");
        }
        if let Some(ns) = self.decision.predicted_ns() {
            text += &format!("; predicted {}", unit::time(ns));
        }
        if self.fallen > 0 {
            let fallen = unit::plural(self.fallen as u64, "task");
            text += &format!("; {fallen} fell back");
        }
        if let Some(error) = &self.error {
            text += &format!("; device: {error}");
        }
        text
    }
}
