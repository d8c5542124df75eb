//! Times of calls, and what is made of them.

use breakeven::profile::profile::{Operation, Run};
use breakeven::profile::recorder::Clock;
use breakeven::profile::stats::{median, quantile};
use breakeven_stats::{Bootstrap, BootstrapInterval, bootstrap};

use crate::metric::metric;

/// Times of one kind of call, ns.
#[derive(Default)]
pub(crate) struct Samples(pub(crate) Vec<f64>);

impl Samples {
    /// Times one call.
    pub(crate) fn time<R>(&mut self, clock: &Clock, call: impl FnOnce() -> R) -> R {
        let start = clock.now();
        let result = call();
        self.0.push(clock.ns_since(start) as f64);
        result
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, part).expect("there are samples")
    }

    /// Prints `NAME_median` and `NAME_p99` in a unit of that many ns.
    pub(crate) fn print(&self, name: &str, unit: &str, ns: f64) {
        metric(&format!("{name}_median"), self.median() / ns, unit);
        metric(&format!("{name}_p99"), self.quantile(0.99) / ns, unit);
    }

    /// The samples as one run of an operation.
    pub(crate) fn operation(self, name: &str, size: Option<u64>) -> Operation {
        let mut operation = Operation::new(name, "cpu");
        operation.size = size;
        operation.runs.push(Run {
            samples_ns: self.0,
            ..Run::default()
        });
        operation
    }
}

/// The median of the ratios of calls that took turns, with its interval.
pub(crate) fn ratio(ours: &Samples, theirs: &Samples) -> BootstrapInterval {
    let pairs = ours.0.iter().zip(&theirs.0);
    let ratios: Vec<f64> = pairs.map(|(a, b)| a / b).collect();
    interval_of_median(&ratios)
}

/// The median of the differences of calls that took turns, ns, with its interval.
pub(crate) fn difference(ours: &Samples, theirs: &Samples) -> BootstrapInterval {
    let pairs = ours.0.iter().zip(&theirs.0);
    let differences: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
    interval_of_median(&differences)
}

pub(crate) fn interval_of_median(values: &[f64]) -> BootstrapInterval {
    let options = Bootstrap {
        level: 0.95,
        resamples: 1_000,
        seed: 1,
    };
    let statistic = |sample: &[f64]| median(sample).expect("a sample is not empty");
    bootstrap(values, statistic, &options).expect("there are values")
}

/// Prints an estimate and the ends of its 95 % interval.
pub(crate) fn print_interval(name: &str, interval: &BootstrapInterval, unit: &str) {
    metric(name, interval.estimate, unit);
    metric(&format!("{name}/lower"), interval.lower, unit);
    metric(&format!("{name}/upper"), interval.upper, unit);
}
