//! An operation's samples in figures.

use super::{Operation, RecorderCost, Run};
use crate::stats::{Moments, StatsError, Summary};

impl Operation {
    /// All runs' samples together, ns. If a run kept only some of its samples, count, total, mean,
    /// deviation, minimum and maximum come from the exact moments, and only the quantiles from the
    /// kept samples.
    ///
    /// # Errors
    ///
    /// [`StatsError`] if there is no sample.
    pub fn summary(&self) -> Result<Summary, StatsError> {
        let samples: Vec<f64> = self.samples_ns().collect();
        let mut summary = Summary::of(&samples)?;
        if self.runs.iter().all(|run| run.moments.is_none()) {
            return Ok(summary);
        }
        let mut exact = Moments::new();
        for run in &self.runs {
            match &run.moments {
                Some(moments) => exact.merge(moments),
                None => exact.merge(&Moments::of(&run.samples_ns)?),
            }
        }
        summary.count = exact.count();
        summary.total = exact.total();
        summary.mean = exact.mean().unwrap_or(summary.mean);
        summary.deviation = exact.deviation();
        summary.min = exact.min().unwrap_or(summary.min);
        summary.max = exact.max().unwrap_or(summary.max);
        summary.cv = exact.cv();
        Ok(summary)
    }

    /// Measured calls of all runs: exact where runs kept only some of their samples.
    pub fn calls(&self) -> u64 {
        sum(self.runs.iter().map(Run::calls))
    }

    /// Peak memory of a call: in any run, else as stated for the operation.
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        let most = self.runs.iter().filter_map(|run| run.memory_bytes).max();
        most.or(self.memory_bytes)
    }

    /// Time of all measured calls, ns: exact where runs kept only some of their samples.
    pub fn total_ns(&self) -> f64 {
        (self.runs.iter()).fold(0.0, |sum, run| sum + run.total_ns())
    }

    /// Time of all calls of all runs, ns; minus that of the operations inside, if the runs have it.
    pub fn own_ns(&self) -> f64 {
        (self.runs.iter()).fold(0.0, |sum, run| sum + run.own_ns())
    }

    /// True if more than half of the time was recording: the time then says little about the
    /// operation, which gets no verdict.
    pub fn is_mostly_recording(&self, cost: &RecorderCost) -> bool {
        self.recording_share(cost).is_some_and(|share| share > 0.5)
    }

    /// The fraction of this operation's time that was recording, 0 to 1: of its own calls and of
    /// the recorded calls inside them. `None` without samples.
    pub fn recording_share(&self, cost: &RecorderCost) -> Option<f64> {
        let (total, calls) = (self.total_ns(), self.calls());
        if calls == 0 {
            return None;
        }
        let nested = sum(self.runs.iter().filter_map(|run| run.nested_calls));
        let recording = cost.inside_ns * calls as f64 + cost.guard_ns * nested as f64;
        // Samples of zero length are only recording.
        Some(if total > 0.0 { recording / total } else { 1.0 }.clamp(0.0, 1.0))
    }
}

/// Sums counts; saturates, because a file may have any.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_moments_go_before_what_a_reservoir_kept() {
        let all: Vec<f64> = (1..=1_000).map(f64::from).collect();
        let mut operation = Operation::new("f", "cpu");
        operation.runs.push(Run {
            samples_ns: vec![400.0, 500.0, 600.0],
            moments: Some(Moments::of(&all).expect("finite")),
            ..Run::default()
        });
        operation.runs.push(Run {
            samples_ns: vec![2_000.0],
            ..Run::default()
        });
        let summary = operation.summary().expect("there are samples");
        assert_eq!(summary.count, 1_001);
        assert_eq!(summary.total, 502_500.0);
        assert_eq!((summary.min, summary.max), (1.0, 2_000.0));
        assert_eq!(summary.median, 550.0);
        assert_eq!(operation.calls(), 1_001);
        assert_eq!(operation.total_ns(), 502_500.0);
    }

    #[test]
    fn recording_is_a_part_of_the_time() {
        let cost = RecorderCost {
            guard_ns: 30.0,
            inside_ns: 10.0,
        };
        let mut operation = Operation::new("f", "cpu");
        assert_eq!(operation.recording_share(&cost), None);
        operation.runs.push(Run {
            samples_ns: vec![200.0, 200.0],
            nested_calls: Some(6),
            ..Run::default()
        });
        // Two of its own, six inside: 20 + 180 of 400.
        assert_eq!(operation.recording_share(&cost), Some(0.5));
    }

    #[test]
    fn more_calls_than_can_be_counted_are_as_many_as_can() {
        let mut operation = Operation::new("f", "cpu");
        for _ in 0..2 {
            operation.runs.push(Run {
                moments: Moments::of_parts(u64::MAX, 1.0, 0.0, 1.0, 1.0).ok(),
                nested_calls: Some(u64::MAX),
                ..Run::default()
            });
        }
        assert_eq!(operation.calls(), u64::MAX);
        let cost = RecorderCost::default();
        assert_eq!(operation.recording_share(&cost), Some(0.0));
    }

    #[test]
    fn no_sample_is_no_summary() {
        assert!(Operation::new("f", "cpu").summary().is_err());
    }
}
