//! Noise between runs, per operation, from earlier profiles.

use std::collections::HashMap;

use breakeven_profile::profile::{OperationKey, Profile};
use breakeven_stats::Noise;

use super::metric::Metric;

/// Degrees of freedom from which a history tells the noise as well as four runs do:
/// then fewer runs than four are judged by it.
const TELLS_FROM: f64 = 3.0;

/// Logarithms of the runs' values, a list for each profile, in the order of the profiles.
pub(super) struct History(HashMap<OperationKey, Vec<Vec<f64>>>);

impl History {
    pub(super) fn of(profiles: &[Profile], metric: &Metric) -> Self {
        let mut all: HashMap<OperationKey, Vec<Vec<f64>>> = HashMap::new();
        for operation in profiles.iter().flat_map(|profile| &profile.operations) {
            let runs = operation.runs.iter();
            let values = runs.filter(|run| !run.samples_ns.is_empty());
            let values = values.filter_map(|run| metric.of(operation, run, false));
            let logs: Vec<f64> = values.map(f64::ln).filter(|log| log.is_finite()).collect();
            if !logs.is_empty() {
                all.entry(operation.key()).or_default().push(logs);
            }
        }
        Self(all)
    }

    /// What is known of the operation's noise: by how much its runs differ inside a
    /// profile and from one profile to the next, together; by the latter alone where that
    /// is more, and is known well. A change of the program in between counts as noise,
    /// which makes verdicts rarer, not wrong.
    pub(super) fn noise(&self, key: &OperationKey) -> Option<Noise> {
        let profiles = self.0.get(key)?;
        let (variance, freedom) = match (inside(profiles), from_one_to_the_next(profiles)) {
            (Some((within, _)), Some(next)) if next.0 > within && next.1 >= TELLS_FROM => next,
            (Some((within, one)), Some((between, other))) => {
                let all = one + other;
                ((one * within + other * between) / all, all)
            }
            (within, between) => within.or(between)?,
        };
        let deviation = variance.sqrt().min(10.0);
        (deviation >= 1e-9).then_some(Noise { deviation, freedom })
    }

    /// True where that is known well enough to judge fewer than four runs by it.
    pub(super) fn tells(&self, key: &OperationKey) -> bool {
        self.noise(key)
            .is_some_and(|noise| noise.freedom >= TELLS_FROM)
    }
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

/// Mean square of successive differences (von Neumann et al. 1941, "The mean square
/// successive difference"), each over 1/n + 1/m so that it is the variance of one run. A
/// step in the series touches one difference only. With k values its variance is that of
/// 2(k − 1)²/(3k − 4) degrees of freedom.
fn from_one_to_the_next(profiles: &[Vec<f64>]) -> Option<Variance> {
    let count = profiles.len() as f64;
    let differences = profiles.windows(2).map(|pair| {
        let share = pair
            .iter()
            .map(|logs| (logs.len() as f64).recip())
            .sum::<f64>();
        (mean(&pair[1]) - mean(&pair[0])).powi(2) / share
    });
    (profiles.len() > 1).then(|| {
        let freedom = 2.0 * (count - 1.0).powi(2) / (3.0 * count - 4.0);
        (differences.sum::<f64>() / (count - 1.0), freedom)
    })
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
        // Six profiles tell it themselves.
        let six = (0..6).map(|index| {
            let level = 0.1 * f64::from(index % 2);
            vec![level, level + 0.02]
        });
        let six = of(six.collect()).unwrap();
        assert!((six.deviation - 0.1).abs() < 1e-9 && six.freedom > 3.0);
        assert_eq!(of(vec![vec![0.0, 0.0], vec![0.0]]), None);
    }

    #[test]
    fn what_differs_inside_and_from_profile_to_profile() {
        // Inside 0.01; from the first to the second 0.1 of logarithms.
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
