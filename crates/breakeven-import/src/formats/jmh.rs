//! JMH's JSON (`-rf json`). A fork is a run and its measurement iterations are the
//! samples: `rawData[fork][iteration]`. JMH forks because profiles and compiled code differ
//! from one virtual machine to the next. With `-f 0` and `-f 1` there is one run.
//!
//! A score in operations per time (mode `thrpt`) becomes the time of one operation; with
//! several threads that is the time between two results of all threads together. Of mode
//! `sample`, a histogram for each iteration, an even draw is kept. Results of the methods
//! of a group (`g:get`) and of auxiliary counters in the same unit are operations too, as
//! JMH prints them; those of its profilers are counters, `gc.alloc.rate.norm` the memory.
//!
//! Source: JMH's samples 02 (modes), 05 and 12 (forks), 15 (groups), and
//! `JSONResultFormat.java`.

use std::collections::BTreeMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;
use serde::Deserialize;
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::{Gather, Gathered};
use crate::json::{self, Entries, Number};
use crate::name::{with_details, with_parameters};
use crate::note::Notes;
use crate::source::Source;
use crate::unit::Unit;

pub(crate) static IMPORTER: Format = Format {
    name: "jmh",
    about: "JMH: -rf json -rff FILE",
    recognises: |source| source.has("[].benchmark") && source.has("[].primaryMetric"),
    read,
};

#[derive(Deserialize)]
struct Benchmark {
    benchmark: String,
    #[serde(default)]
    mode: String,
    threads: Option<u64>,
    #[serde(rename = "jmhVersion")]
    version: Option<String>,
    #[serde(default)]
    params: BTreeMap<String, Value>,
    #[serde(rename = "primaryMetric")]
    primary: Metric,
    #[serde(rename = "secondaryMetrics", default)]
    secondary: BTreeMap<String, Metric>,
}

#[derive(Deserialize)]
struct Metric {
    score: Option<Number>,
    #[serde(rename = "scoreUnit")]
    unit: String,
    /// By fork and iteration.
    #[serde(rename = "rawData", default)]
    scores: Vec<Vec<Number>>,
    /// By fork and iteration: scores and how often each was measured.
    #[serde(rename = "rawDataHistogram", default)]
    histograms: Vec<Vec<Vec<(Number, Number)>>>,
}

/// Scores that are kept of a histogram.
const KEPT: u64 = 1_024;

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let document: Entries<Benchmark> = json::read(source, notes)?;
    let mut gather = Gather::default();
    let (mut not_kept, mut version) = (0, None);
    for benchmark in document.noted(notes) {
        let name = named(&benchmark, "");
        version = version.or_else(|| benchmark.version.clone());
        // Those of profilers have a point in front or in the middle.
        let of_profiler = |method: &str, metric: &Metric| {
            method.contains(['.', '·']) || metric.unit != benchmark.primary.unit
        };
        let operation = gather.entry(&name, "cpu", None);
        let left = benchmark.primary.add(operation, notes);
        not_kept = left.saturating_add(not_kept);
        for (method, metric) in &benchmark.secondary {
            if of_profiler(method, metric) {
                metric.count(operation, method.trim_start_matches('·'));
            }
        }
        for (method, metric) in &benchmark.secondary {
            if !of_profiler(method, metric) {
                let name = named(&benchmark, &format!(":{method}"));
                let left = metric.add(gather.entry(&name, "cpu", None), notes);
                not_kept = left.saturating_add(not_kept);
            }
        }
    }
    let why = format!("of a histogram an even draw of {KEPT} is kept");
    notes.left_out(not_kept, "sample(s)", &why);
    gather.about.generator = version.map(|version| format!("JMH {version}"));
    gather.profile(notes)
}

/// The benchmark with its parameters, its mode and its threads where they are several:
/// `Sorting.quick(size=1000) (avgt, 4 threads)`. `method` is one of a group: `:get`.
fn named(benchmark: &Benchmark, method: &str) -> String {
    let name = format!("{}{method}", benchmark.benchmark);
    let name = with_parameters(&name, "", &benchmark.params);
    let threads = benchmark.threads.filter(|threads| *threads != 1);
    let threads = threads.map(|threads| format!("{threads} threads"));
    let mode = Some(benchmark.mode.clone()).filter(|mode| !mode.is_empty());
    with_details(&name, " ", mode.into_iter().chain(threads))
}

impl Metric {
    /// Adds what a profiler counted, by fork.
    fn count(&self, operation: &mut Gathered, name: &str) {
        let forks = self.scores.iter().enumerate();
        let scores = forks.flat_map(|(run, scores)| scores.iter().map(move |score| (run, score)));
        let score = self.score.iter().map(|score| (0, score));
        for (run, score) in scores.chain(score.filter(|_| self.scores.is_empty())) {
            operation.figure(run, name, &self.unit, score.0);
        }
    }

    /// Adds the samples, or counters if they are no times; how many of histograms are not
    /// kept.
    fn add(&self, operation: &mut Gathered, notes: &mut Notes) -> u64 {
        let mut not_kept = 0;
        let Some(unit) = Unit::named(&self.unit) else {
            operation.is_timeless = true;
            self.count(operation, &self.unit);
            return 0;
        };
        for fork in &self.scores {
            let run = operation.new_run();
            for score in fork {
                operation.sample(run, unit.ns(score.0));
            }
        }
        for fork in &self.histograms {
            let run = operation.new_run();
            for histogram in fork {
                let (scores, left) = drawn(histogram.clone());
                not_kept = left.saturating_add(not_kept);
                for score in scores {
                    operation.sample(run, unit.ns(score));
                }
            }
        }
        let is_empty = self.scores.is_empty() && self.histograms.is_empty();
        if let (true, Some(score)) = (is_empty, self.score) {
            let run = operation.new_run();
            operation.summary(run, unit.ns(score.0), "score", notes);
        }
        not_kept
    }
}

/// At most [`KEPT`] scores at even steps through the sorted histogram, and how many that
/// leaves out. Counts are claims of a file: nothing is allocated by them.
fn drawn(mut histogram: Vec<(Number, Number)>) -> (Vec<f64>, u64) {
    histogram.retain(|(_, count)| count.0 >= 1.0);
    histogram.sort_by(|one, other| one.0.0.total_cmp(&other.0.0));
    let total: f64 = histogram.iter().map(|(_, count)| count.0.floor()).sum();
    #[expect(clippy::cast_sign_loss, reason = "every count is at least one")]
    let total = total.min(9e15) as u64;
    let kept = total.min(KEPT);
    let (mut scores, mut passed) = (Vec::new(), 0.0);
    for (score, count) in histogram {
        passed += count.0.floor();
        // The middles of `kept` equal parts.
        while (scores.len() as u64) < kept
            && (scores.len() as f64 + 0.5) / (kept as f64) * (total as f64) < passed
        {
            scores.push(score.0);
        }
    }
    (scores, total - kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_drawn_evenly() {
        let pairs = |pairs: &[(f64, f64)]| {
            let pairs = pairs.iter();
            drawn(
                pairs
                    .map(|(score, count)| (Number(*score), Number(*count)))
                    .collect(),
            )
        };
        assert_eq!(pairs(&[(2.0, 1.0), (1.0, 2.0)]), (vec![1.0, 1.0, 2.0], 0));
        let (scores, left) = pairs(&[(1.0, 3e9), (5.0, 1e9)]);
        assert_eq!((scores.len(), left), (1_024, 4_000_000_000 - 1_024));
        assert_eq!(scores.iter().filter(|score| **score == 5.0).count(), 256);
        assert_eq!(pairs(&[(1.0, f64::NAN), (2.0, -4.0)]), (vec![], 0));
        assert_eq!(pairs(&[(1.0, f64::INFINITY)]).0.len(), 1_024);
    }
}
