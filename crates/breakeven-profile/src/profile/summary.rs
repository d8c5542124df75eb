//! An operation's samples in figures.

use super::Operation;
use crate::stats::{Moments, StatsError, Summary};

impl Operation {
    /// All runs' samples together, ns. Where a run kept only a part of its
    /// samples, count, total, mean, deviation, least and greatest come from the
    /// exact moments, and only the quantiles from what was kept.
    ///
    /// # Errors
    ///
    /// [`StatsError::TooFew`] where there is no sample.
    pub fn summary(&self) -> Result<Summary, StatsError> {
        let samples: Vec<f64> = self.samples_ns().map(|ns| ns as f64).collect();
        let mut summary = Summary::of(&samples)?;
        if self.runs.iter().all(|run| run.moments.is_none()) {
            return Ok(summary);
        }
        let mut exact = Moments::new();
        for run in &self.runs {
            match &run.moments {
                Some(moments) => exact.merge(moments),
                None => {
                    let samples: Vec<f64> = run.samples_ns.iter().map(|ns| *ns as f64).collect();
                    exact.merge(&Moments::of(&samples)?);
                }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Run;

    #[test]
    fn exact_moments_go_before_what_a_reservoir_kept() {
        let all: Vec<f64> = (1..=1_000).map(f64::from).collect();
        let mut operation = Operation::new("f", "cpu");
        operation.runs.push(Run {
            samples_ns: vec![400, 500, 600],
            moments: Some(Moments::of(&all).expect("finite")),
            ..Run::default()
        });
        operation.runs.push(Run {
            samples_ns: vec![2_000],
            ..Run::default()
        });
        let summary = operation.summary().expect("there are samples");
        assert_eq!(summary.count, 1_001);
        assert_eq!(summary.total, 502_500.0);
        assert_eq!((summary.min, summary.max), (1.0, 2_000.0));
        assert_eq!(summary.median, 550.0);
    }

    #[test]
    fn no_sample_is_no_summary() {
        assert!(Operation::new("f", "cpu").summary().is_err());
    }
}
