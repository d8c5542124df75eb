//! The newest observations of an operation on a device, and their cost.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::Cost;
use super::cost::sizes_differ;
use super::counter::Counter;
use super::line::{Line, Point, WINDOW, robust_line};
use crate::plan::Tuning;

/// How the times of a window depend on workers and size.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Kind {
    /// Twice as many workers take half the time per task. Starting a pool takes microseconds;
    /// longer times grow with the tasks.
    #[default]
    Cpu,
    /// A fraction of the time is fixed: a launch takes microseconds or milliseconds.
    Gpu,
}

/// One observation. Time, writer and number identify it; their order is the order of age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct ObservationRecord {
    /// When the run ended, µs since 1970.
    pub(super) at_us: u64,
    /// The process that made it, by a random number.
    pub(super) writer: u32,
    /// Its number within the process.
    pub(super) number: u32,
    pub(super) tasks: u64,
    pub(super) ns: u64,
    /// CPU workers that ran it.
    pub(super) workers: u32,
    /// Time of transfers within it, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) transfer_ns: Option<u64>,
    /// Other devices worked at the same batch at the same time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) shared: bool,
    /// The launch was taken back: its time is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) recalled: bool,
}

impl ObservationRecord {
    /// Returns true for a possible run: some tasks, at least one worker and at most 65 536, less
    /// than 2^53 ns (three months), and fewer than 2^53 tasks. Ratios of those fit single
    /// precision.
    pub(super) fn is_plausible(&self) -> bool {
        const MOST: u64 = 1 << 53;
        let workers = (1..=1 << 16).contains(&self.workers);
        (1..MOST).contains(&self.tasks) && self.ns < MOST && workers
    }

    /// Returns what identifies it.
    fn id(&self) -> (u64, u32, u32) {
        (self.at_us, self.writer, self.number)
    }
}

/// The newest observations, oldest first. A window from a file is only merged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Window {
    #[serde(skip)]
    kind: Kind,
    #[serde(skip)]
    tuning: &'static Tuning,
    /// Observations ever made.
    pub(super) observed: Counter,
    #[serde(rename = "observations")]
    pub(super) records: Vec<ObservationRecord>,
    /// Consecutive observations that were far faster than earlier ones.
    #[serde(skip)]
    faster: usize,
    /// Slow-down of a task beside other devices, as another device showed it.
    #[serde(skip)]
    hindrance: f64,
    /// Their cost, on one worker if the kind scales with workers.
    #[serde(skip)]
    cost: Option<Cost>,
}

impl Window {
    pub(super) fn new(kind: Kind, tuning: &'static Tuning) -> Self {
        Self {
            kind,
            tuning,
            hindrance: 1.0,
            ..Self::default()
        }
    }

    pub(super) fn tuning(&self) -> &'static Tuning {
        self.tuning
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns when the newest observation was made, µs since 1970.
    pub(super) fn newest(&self) -> u64 {
        self.records.last().map_or(0, |record| record.at_us)
    }

    /// Sets how far devices hinder each other.
    pub(super) fn set_hindrance(&mut self, times: f64) {
        if self.hindrance != times {
            self.hindrance = times;
            self.fit();
        }
    }

    /// Returns the cost with that many workers.
    pub(super) fn cost(&self, workers: usize) -> Option<Cost> {
        let cost = self.cost?;
        if self.kind == Kind::Gpu {
            return Some(cost);
        }
        Some(Cost {
            per_task_ns: cost.per_task_ns / workers as f64,
            transfer_ns: cost.transfer_ns / workers as f64,
            at_once: workers,
            ..cost
        })
    }

    /// Adds an observation; the oldest is dropped.
    ///
    /// If the device was left out since and is far faster than before, only the newest observations
    /// are kept: the older ones are from another time, perhaps under a load that has ended.
    pub(super) fn push(&mut self, mut record: ObservationRecord, was_left_out: bool) {
        let tuning = self.tuning;
        let workers = record.workers.max(1) as usize;
        let known = self.cost(workers).map(|cost| cost.predict_ns(record.tasks));
        let is_faster =
            known.is_some_and(|known| tuning.failed_prediction * (record.ns as f64) < known);
        self.faster = if is_faster { self.faster + 1 } else { 0 };
        if is_faster && (was_left_out || self.faster >= tuning.faster_in_a_row) {
            let kept = match was_left_out {
                true => 1,
                false => self.faster - 1,
            };
            let surplus = self.records.len().saturating_sub(kept);
            self.records.drain(..surplus);
        }
        // A clock that was set back must not make it older than the existing ones.
        if let Some(last) = self.records.last() {
            record.at_us = record.at_us.max(last.at_us.saturating_add(1));
        }
        self.records.push(record);
        self.make_room();
        self.observed.add(1);
        self.fit();
    }

    /// Merges the file's observations: the newest of both, each once.
    pub(super) fn join(&mut self, filed: Self) {
        let observed = filed.observed.value().max(filed.records.len() as u64);
        self.observed.join(observed);
        self.records.extend(filed.records);
        self.records.retain(ObservationRecord::is_plausible);
        self.records.sort_unstable();
        self.records.dedup_by_key(|record| record.id());
        self.make_room();
        self.fit();
    }

    /// Drops the oldest surplus observation, unless it alone shows the launch cost: launches of one
    /// size do not show it.
    fn make_room(&mut self) {
        let surplus = self.records.len().saturating_sub(WINDOW);
        let from = usize::from(surplus > 0 && self.is_first_needed());
        self.records.drain(from..from + surplus);
    }

    /// Returns true if the oldest observation is the only one of another size, and took less for
    /// fewer tasks or more for more. One that includes a kernel's compilation shows nothing.
    fn is_first_needed(&self) -> bool {
        let [first, others @ .., newest] = &self.records[..] else {
            return false;
        };
        let (few, many) = match first.tasks < newest.tasks {
            true => (first, newest),
            false => (newest, first),
        };
        let differ = |a: u64, b: u64| sizes_differ(a.min(b), a.max(b));
        self.kind == Kind::Gpu
            && differ(few.tasks, many.tasks)
            && few.ns < many.ns
            && !others.iter().any(|other| differ(other.tasks, newest.tasks))
    }

    /// Drops observations up to that time.
    pub(super) fn forget_until(&mut self, at_us: u64) {
        self.records.retain(|record| record.at_us > at_us);
        self.fit();
    }

    fn line(&self, points: &[Point]) -> Option<Line> {
        let share = match self.kind {
            Kind::Cpu => 0.0,
            Kind::Gpu => self.tuning.launch_share,
        };
        robust_line(points, share, self.tuning)
    }

    fn fit(&mut self) {
        let beside = self.beside();
        let points = self.points(beside);
        let tasks = || self.records.iter().map(|record| record.tasks);
        let (fewest, most) = (tasks().min().unwrap_or(0), tasks().max().unwrap_or(0));
        let is_bound = self.records.iter().all(|record| record.recalled);
        let line = self.line(&points);
        self.cost = line.map(|line| Cost {
            fixed_ns: line.fixed,
            per_task_ns: line.slope,
            at_once: 1,
            beside,
            transfer_ns: self.transfer().min(line.slope),
            fewest,
            most,
            scale: 1.0,
            is_launch_stated: false,
            is_bound,
            observations: self.observed.value(),
        });
    }

    /// Converts an observation to one without other devices working.
    fn point(&self, record: &ObservationRecord, beside: f64) -> Point {
        let workers = if self.kind == Kind::Cpu {
            record.workers
        } else {
            1
        };
        // Tasks are whole: the last wave takes as long as any.
        let waves = record.tasks.div_ceil(u64::from(workers.max(1)));
        let beside = if record.shared { beside } else { 1.0 };
        Point {
            size: waves as f64,
            // A clock may be too coarse for the batch.
            time: record.ns.max(1) as f64 / beside,
        }
    }

    /// Returns the slow-down of a task beside other devices: that of the CPU, or less if it brings
    /// a GPU's times, alone and beside the CPU, closer to one line.
    fn beside(&self) -> f64 {
        if self.hindrance <= 1.0 || self.kind == Kind::Cpu {
            return self.hindrance;
        }
        let off = |beside: f64| {
            let points = self.points(beside);
            let line = self.line(&points);
            let (fixed, slope) = line.map_or((0.0, 0.0), |line| (line.fixed, line.slope));
            let off = |point: &Point| (1.0 - (fixed + slope * point.size) / point.time).abs();
            points.iter().map(off).sum::<f64>()
        };
        let times = [self.hindrance, self.hindrance.sqrt(), 1.0];
        let nearest = times.into_iter().min_by(|a, b| off(*a).total_cmp(&off(*b)));
        nearest.unwrap_or(self.hindrance)
    }

    /// Returns the observations, converted to ones without other devices working.
    fn points(&self, beside: f64) -> SmallVec<[Point; WINDOW]> {
        let points = self.records.iter().map(|record| self.point(record, beside));
        points.collect()
    }

    /// Returns the median transfer time per task, ns; 0 if no observation has one.
    fn transfer(&self) -> f64 {
        let each =
            |record: &ObservationRecord| Some(record.transfer_ns? as f64 / record.tasks as f64);
        let mut per_task: SmallVec<[f64; WINDOW]> = self.records.iter().filter_map(each).collect();
        per_task.sort_unstable_by(f64::total_cmp);
        let middle = per_task.len().saturating_sub(1) / 2;
        per_task.get(middle).copied().unwrap_or(0.0)
    }
}
