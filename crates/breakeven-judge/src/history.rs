//! Noise between runs, per operation, from earlier profiles.

use std::collections::{HashMap, HashSet};

use breakeven_profile::profile::{Operation, OperationKey, Profile};
use breakeven_stats::{Noise, change_points};

use crate::metric::Metric;

/// Degrees of freedom from which a history estimates the noise as well as four runs do. With such a
/// history fewer than four runs are judged.
const KNOWN_FROM: f64 = 3.0;

/// Logarithms of the runs' values, a list per profile, in the order of the profiles.
pub(crate) struct History(HashMap<OperationKey, Vec<Vec<f64>>>);

impl History {
    pub(crate) fn of(profiles: &[Profile], metric: &Metric) -> Self {
        let mut all: HashMap<OperationKey, Vec<Vec<f64>>> = HashMap::new();
        // The names of the operations behind a key.
        let mut names: HashMap<OperationKey, HashSet<&str>> = HashMap::new();
        for operation in profiles.iter().flat_map(|profile| &profile.operations) {
            let runs = operation.runs.iter();
            let values = runs.filter_map(|run| metric.of(operation, run, false));
            let logs: Vec<f64> = values.map(f64::ln).filter(|log| log.is_finite()).collect();
            for key in without_suite(operation)
                .into_iter()
                .chain([operation.key()])
            {
                let named = names.entry(key.clone()).or_default();
                named.insert(&operation.name);
                if !logs.is_empty() {
                    all.entry(key).or_default().push(logs.clone());
                }
            }
        }
        // A benchmark that exists in several suites is only found together with its suite.
        all.retain(|key, _| names[key].len() == 1);
        Self(all)
    }

    /// The operation's noise as far as known: the variance of runs within a profile and from one
    /// profile to the next, together; the latter alone if it is larger and known well enough. A
    /// step too recent for a change point counts as noise, which makes verdicts rarer, not wrong.
    pub(crate) fn noise(&self, key: &OperationKey) -> Option<Noise> {
        let profiles = self.0.get(key)?;
        let (variance, freedom) = match (inside(profiles), from_one_to_the_next(profiles)) {
            (Some((within, _)), Some(next)) if next.0 > within && next.1 >= KNOWN_FROM => next,
            (Some((within, one)), Some((between, other))) => {
                let all = one + other;
                ((one * within + other * between) / all, all)
            }
            (within, between) => within.or(between)?,
        };
        let deviation = variance.sqrt().min(10.0);
        (deviation >= 1e-9).then_some(Noise { deviation, freedom })
    }

    /// True if the noise is known well enough to judge fewer than four runs.
    pub(crate) fn knows(&self, key: &OperationKey) -> bool {
        self.noise(key)
            .is_some_and(|noise| noise.freedom >= KNOWN_FROM)
    }
}

/// The key by the name in the tool's own file, without the suite in front of it.
fn without_suite(operation: &Operation) -> Option<OperationKey> {
    let suite = operation.attributes.get("suite")?.as_str()?;
    let name = operation.name.strip_prefix(suite)?.strip_prefix(": ")?;
    Some(OperationKey {
        name: name.to_owned(),
        ..operation.key()
    })
}

/// Variance and its degrees of freedom.
type Variance = (f64, f64);

fn mean(logs: &[f64]) -> f64 {
    logs.iter().sum::<f64>() / logs.len() as f64
}

fn inside(profiles: &[Vec<f64>]) -> Option<Variance> {
    let squares = |logs: &Vec<f64>| -> f64 {
        let mean = mean(logs);
        logs.iter().map(|log| (log - mean).powi(2)).sum()
    };
    let freedom: f64 = profiles.iter().map(|logs| logs.len() as f64 - 1.0).sum();
    (freedom >= 1.0).then(|| (profiles.iter().map(squares).sum::<f64>() / freedom, freedom))
}

/// Mean square of successive differences (von Neumann et al. 1941, "The mean square successive
/// difference"), each divided by 1/n + 1/m so that it is the variance of one run. Differences
/// across a [change point](change_points) are excluded, because they are no noise. With k values
/// the variance of a stretch is that of 2(k − 1)²/(3k − 4) degrees of freedom.
fn from_one_to_the_next(profiles: &[Vec<f64>]) -> Option<Variance> {
    let means: Vec<f64> = profiles.iter().map(|logs| mean(logs)).collect();
    let steps = change_points(&means, 0.95).unwrap_or_default();
    let mut ends = vec![0];
    ends.extend(steps.iter().map(|step| step.index));
    ends.push(profiles.len());
    let (mut squares, mut differences, mut spread) = (0.0, 0.0, 0.0);
    for ends in ends.windows(2).filter(|ends| ends[1] - ends[0] > 1) {
        for pair in ends[0]..ends[1] - 1 {
            let share = |at: usize| (profiles[at].len() as f64).recip();
            let difference = means[pair + 1] - means[pair];
            squares += difference.powi(2) / (share(pair) + share(pair + 1));
        }
        let count = (ends[1] - ends[0]) as f64;
        differences += count - 1.0;
        spread += 3.0 * count - 4.0;
    }
    (differences > 0.0).then(|| (squares / differences, 2.0 * differences.powi(2) / spread))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_differences_between_profiles_join_those_inside() {
        let of = |profiles: Vec<Vec<f64>>| {
            let key = OperationKey {
                name: "f".to_owned(),
                device: "cpu".to_owned(),
                size: None,
            };
            History(HashMap::from([(key.clone(), profiles)])).noise(&key)
        };
        // 0.0002 with two degrees of freedom and 0.01 with one: 0.0104 / 3.
        let two = of(vec![vec![0.0, 0.02], vec![0.1, 0.12]]).unwrap();
        assert!((two.deviation.powi(2) - 0.010_4 / 3.0).abs() < 1e-12);
        assert_eq!(two.freedom, 3.0);
        // Six profiles suffice.
        let six = (0..6).map(|index| {
            let level = 0.1 * f64::from(index % 2);
            vec![level, level + 0.02]
        });
        let six = of(six.collect()).unwrap();
        assert!((six.deviation - 0.1).abs() < 1e-9 && six.freedom > 3.0);
        assert_eq!(of(vec![vec![0.0, 0.0], vec![0.0]]), None);
    }

    #[test]
    fn a_step_is_no_noise() {
        let wave = |index: usize| 0.01 * (index as f64 * 2.4).sin();
        let level = |index: usize| wave(index) + if index < 10 { 0.0 } else { 0.4 };
        let of = |value: &dyn Fn(usize) -> f64| {
            let profiles: Vec<Vec<f64>> = (0..20).map(|index| vec![value(index)]).collect();
            from_one_to_the_next(&profiles).unwrap()
        };
        let ([flat, before], [stepped, after]) = (of(&wave).into(), of(&level).into());
        assert!((stepped / flat - 1.0).abs() < 0.1, "{stepped} {flat}");
        assert!(after < before && after > 0.9 * before);
    }

    #[test]
    fn what_differs_inside_and_from_profile_to_profile() {
        // Variance 0.01 within profiles; from the first to the second 0.1 in log space.
        let close = vec![vec![0.0, 0.02], vec![0.1, 0.12]];
        let (variance, freedom) = inside(&close).unwrap();
        assert!((variance - 0.000_2).abs() < 1e-12 && freedom == 2.0);
        let (variance, freedom) = from_one_to_the_next(&close).unwrap();
        assert!((variance - 0.01).abs() < 1e-12 && freedom == 1.0);
        let one_run_each = vec![vec![0.0], vec![0.02], vec![0.0], vec![0.02], vec![0.0]];
        assert!(inside(&one_run_each).is_none());
        let (variance, freedom) = from_one_to_the_next(&one_run_each).unwrap();
        assert!((variance - 0.000_2).abs() < 1e-12);
        assert!((freedom - 32.0 / 11.0).abs() < 1e-12);
    }
}
