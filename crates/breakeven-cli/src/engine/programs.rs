//! Reads the programs of this user that publish their figures.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use breakeven::execute::ManagerStats;
use breakeven::monitor::{DecisionFigures, Figures, Latency, OperationFigures};
use serde::Serialize;

#[cfg(unix)]
use super::ask::ask;

/// Window of the latencies: batches that ended in it, if there are any.
const WINDOW: Duration = Duration::from_secs(60);

/// Interval at which the counts are stored for that.
const KEPT_EVERY: Duration = Duration::from_secs(5);

/// Reads the figures that this user's programs publish. Rates are since the previous reading, and
/// unknown in the first.
#[derive(Debug)]
pub(crate) struct Programs {
    #[cfg(unix)]
    folders: Vec<std::path::PathBuf>,
    #[cfg(unix)]
    seen: BTreeMap<breakeven::monitor::Publisher, Tracked>,
}

/// One reading of all programs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ProgramsReading {
    /// Programs that answered, by process id.
    pub(crate) programs: Vec<ProgramReading>,
    /// Programs whose figures could not be read.
    pub(crate) left_out: Vec<UnreadProgram>,
    /// Programs that were not asked, because there are too many.
    pub(crate) beyond: usize,
}

/// A program whose figures could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UnreadProgram {
    /// Its process id.
    pub(crate) pid: u32,
    /// Why, in a sentence.
    pub(crate) why: String,
}

/// The figures that a program reports. Its texts are unchanged, of bounded length: the caller must
/// escape terminal control characters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ProgramReading {
    /// Its process id.
    pub(crate) pid: u32,
    /// The file name of its executable.
    pub(crate) name: String,
    /// Time since it began to publish, s; all counts are since then.
    pub(crate) since_s: f64,
    /// Batches per second since the previous reading.
    pub(crate) batches_per_s: Option<f64>,
    /// Totals of all its managers.
    pub(crate) stats: ManagerStats,
    /// How often each device was quarantined.
    pub(crate) quarantines: BTreeMap<String, u64>,
    /// Totals per operation, the one with the most batches per second first.
    pub(crate) operations: Vec<OperationReading>,
    /// The last decisions, the newest first.
    pub(crate) decisions: Vec<DecisionFigures>,
}

/// The figures of one operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OperationReading {
    /// Its name.
    pub(crate) name: String,
    /// Batches that ended, including failed and stopped ones.
    pub(crate) batches: u64,
    /// Batches that failed or were stopped.
    pub(crate) incomplete: u64,
    /// Batches per second since the previous reading.
    pub(crate) batches_per_s: Option<f64>,
    /// Tasks that each device did; the CPU is `cpu`.
    pub(crate) tasks: BTreeMap<String, u64>,
    /// Tasks that the CPU did instead of a GPU.
    pub(crate) fallback_tasks: u64,
    /// How often a device was quarantined in one of its batches.
    pub(crate) quarantines: u64,
    /// Times of the batches that were done in the last minute; of all batches if there were none,
    /// or in the first reading.
    pub(crate) latency: Option<Quantiles>,
}

/// Quantiles of the times of batches, within 3 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Quantiles {
    /// The median, s.
    pub(crate) p50_s: f64,
    /// The 95th percentile, s.
    pub(crate) p95_s: f64,
    /// The 99th percentile, s.
    pub(crate) p99_s: f64,
    /// Number of batches.
    pub(crate) batches: u64,
}

#[cfg(unix)]
impl Programs {
    /// The programs that publish where this process would.
    pub(crate) fn open() -> Self {
        Self::of_folders(breakeven::monitor::folders())
    }

    fn of_folders(folders: Vec<std::path::PathBuf>) -> Self {
        let seen = BTreeMap::new();
        Self { folders, seen }
    }

    /// Asks all programs. Takes a quarter of a second at most, if one does not answer; usually less
    /// than a millisecond. Removes the sockets of programs that were killed.
    pub(crate) fn read(&mut self) -> ProgramsReading {
        let now = Instant::now();
        let (answers, beyond) = ask(&self.folders);
        self.seen
            .retain(|seen, _| answers.iter().any(|(program, _)| program == seen));
        let mut reading = ProgramsReading {
            beyond,
            ..ProgramsReading::default()
        };
        for (program, answer) in answers {
            match answer {
                Ok(figures) => {
                    let seen = self.seen.entry(program).or_default();
                    reading.programs.push(seen.take(now, figures));
                }
                Err(why) => reading.left_out.push(UnreadProgram {
                    pid: program.pid,
                    why: why.to_string(),
                }),
            }
        }
        reading
    }
}

/// This system supports no publishing.
#[cfg(not(unix))]
impl Programs {
    pub(crate) fn open() -> Self {
        Self {}
    }

    pub(crate) fn read(&mut self) -> ProgramsReading {
        ProgramsReading::default()
    }
}

/// The previous answers of a program.
#[derive(Debug, Default)]
struct Tracked {
    last: Option<Figures>,
    /// Stored counts, the oldest first.
    kept: VecDeque<(Instant, BTreeMap<String, Latency>)>,
}

impl Tracked {
    fn take(&mut self, now: Instant, figures: Figures) -> ProgramReading {
        // The program began to publish again.
        let is_new = |last: &Figures| figures.since_s < last.since_s;
        if self.last.as_ref().is_some_and(is_new) {
            *self = Self::default();
        }
        // Of two states older than the window, only the newer is needed.
        let is_old = |(at, _): &(Instant, _)| now.duration_since(*at) >= WINDOW;
        while self.kept.get(1).is_some_and(is_old) {
            self.kept.pop_front();
        }
        let before = self.last.take();
        let took = before
            .as_ref()
            .map(|before| figures.since_s - before.since_s);
        let took = took.filter(|took| *took > 0.0);
        let per_s =
            |now: u64, before: u64| took.map(|took| now.saturating_sub(before) as f64 / took);
        let batches_before = before.as_ref().map_or(0, |before| before.stats.batches);
        let operations = figures.operations.iter();
        let operations = operations.map(|operation| {
            let before = before.as_ref().and_then(|before| {
                let mut all = before.operations.iter();
                all.find(|known| known.name == operation.name)
            });
            OperationReading {
                name: operation.name.clone(),
                batches: operation.batches,
                incomplete: operation.incomplete,
                batches_per_s: per_s(operation.batches, before.map_or(0, |known| known.batches)),
                tasks: operation.tasks.clone(),
                fallback_tasks: operation.fallback_tasks,
                quarantines: operation.quarantines,
                latency: self.latency(operation),
            }
        });
        let mut operations: Vec<_> = operations.collect();
        operations.sort_by(|a, b| {
            let busy = |each: &OperationReading| (each.batches_per_s.unwrap_or(0.0), each.batches);
            let ((a_rate, a_all), (b_rate, b_all)) = (busy(a), busy(b));
            b_rate.total_cmp(&a_rate).then(b_all.cmp(&a_all))
        });
        self.keep(now, &figures);
        let reading = ProgramReading {
            pid: figures.pid,
            name: figures.name.clone(),
            since_s: figures.since_s,
            batches_per_s: per_s(figures.stats.batches, batches_before),
            stats: figures.stats.clone(),
            quarantines: figures.quarantines.clone(),
            operations,
            decisions: figures.decisions.clone(),
        };
        self.last = Some(figures);
        reading
    }

    fn latency(&self, operation: &OperationFigures) -> Option<Quantiles> {
        let all = &operation.latency;
        let of_window = self.kept.front().map(|(_, before)| {
            let before = before.get(&operation.name);
            before.map_or_else(|| all.clone(), |before| all.since(before))
        });
        let counted = of_window.filter(|window| window.count() > 0);
        let counted = counted.as_ref().unwrap_or(all);
        Some(Quantiles {
            p50_s: counted.quantile(0.5)?,
            p95_s: counted.quantile(0.95)?,
            p99_s: counted.quantile(0.99)?,
            batches: counted.count(),
        })
    }

    /// Stores this state if the interval has passed.
    fn keep(&mut self, now: Instant, figures: &Figures) {
        let is_due = |(at, _): &(Instant, _)| now.duration_since(*at) >= KEPT_EVERY;
        if self.kept.back().is_none_or(is_due) {
            let all = figures.operations.iter();
            let all = all.map(|operation| (operation.name.clone(), operation.latency.clone()));
            self.kept.push_back((now, all.collect()));
        }
    }
}

#[cfg(all(test, unix))]
#[path = "programs_tests.rs"]
mod tests;
