//! Judges all operations together: what each is judged by, the tests, their
//! correction, the verdicts.

use breakeven_stats::{
    LogRatio, StatsError, benjamini_hochberg, holm, log_ratio_tests, log_ratio_with_noise,
};

use super::comparison::{ChangeType, OperationComparison};
use super::error::CompareError;
use super::method::{Method, NotTested};
use super::metric::Metric;
use super::options::{Correction, Options};
use super::row;
use super::sides::{Measured, Pair};
use super::verdict::{Bounds, noise};
use super::warning::Side;

/// What an operation is judged by.
enum Plan {
    /// Nothing.
    Not(NotTested),
    /// The threshold.
    Alone(Method),
    /// A test.
    Test(LogRatio),
}

/// The judged values of one operation, one per run, of the sides that tell them.
struct Values {
    baseline: Option<Vec<f64>>,
    current: Option<Vec<f64>>,
}

impl Values {
    fn both(&self) -> Option<(&[f64], &[f64])> {
        Some((self.baseline.as_deref()?, self.current.as_deref()?))
    }
}

/// One row per pair, in their order.
///
/// # Errors
///
/// Where a time is zero, or nothing has the metric on both sides.
pub(super) fn judge(
    pairs: &[Pair<'_>],
    options: &Options,
) -> Result<Vec<OperationComparison>, CompareError> {
    let values: Vec<Values> = pairs
        .iter()
        .map(|pair| values(pair, options.metric))
        .collect::<Result<_, _>>()?;
    let plans = plans(pairs, &values, options);
    let has_none = |(plan, values): (&Plan, &Values)| match plan {
        // Where the baseline has values, it is the current side that failed newly.
        Plan::Not(NotTested::Failed) => values.baseline.is_none(),
        Plan::Not(NotTested::OneSide | NotTested::NoValue | NotTested::NoValues) => true,
        Plan::Not(_) | Plan::Alone(_) | Plan::Test(_) => false,
    };
    if plans.iter().zip(&values).all(has_none) {
        return Err(CompareError::NothingToJudge {
            metric: options.metric,
        });
    }
    let mut adjusted = adjusted(&plans, options.correction).into_iter();
    let rows = pairs.iter().zip(&values).zip(&plans);
    Ok(rows
        .map(|((pair, values), plan)| {
            let mut row = row::of(pair, options);
            row.baseline_value = values.baseline.as_deref().map(typical);
            row.current_value = values.current.as_deref().map(typical);
            row.ratio = ratio(&row);
            let bounds = Bounds {
                threshold: row.threshold,
                alpha: options.alpha,
                worse: options.metric.worse(),
            };
            match plan {
                Plan::Not(why) => row.method = Method::NotTested(*why),
                Plan::Alone(method) => alone(&mut row, *method, bounds),
                Plan::Test(test) => {
                    let adjusted = adjusted.next().expect("one per test");
                    tested(&mut row, test, adjusted, bounds);
                }
            }
            row
        })
        .collect())
}

/// The values of a pair.
///
/// # Errors
///
/// Where both sides have values and one of them is a time of zero.
fn values(pair: &Pair<'_>, metric: Metric) -> Result<Values, CompareError> {
    let by_items = pair.tells_items();
    let of = |measured: &Option<Measured<'_>>| {
        let values = measured.as_ref()?.values(metric, by_items);
        values.filter(|values| !values.is_empty())
    };
    let values = Values {
        baseline: of(&pair.baseline),
        current: of(&pair.current),
    };
    if let Some((baseline, current)) = values.both()
        && !metric.is_count()
    {
        for (side, values) in [(Side::Baseline, baseline), (Side::Current, current)] {
            // Throughput of no time is infinite.
            if values.iter().any(|v| *v == 0.0 || v.is_infinite()) {
                let operation = pair.name();
                return Err(CompareError::ZeroTime { operation, side });
            }
        }
    }
    Ok(values)
}

/// What each pair is judged by; the tests are made together.
fn plans(pairs: &[Pair<'_>], values: &[Values], options: &Options) -> Vec<Plan> {
    let level = 1.0 - options.alpha;
    let (mut places, mut over_runs) = (Vec::new(), Vec::new());
    let mut plans: Vec<Plan> = pairs
        .iter()
        .zip(values)
        .enumerate()
        .map(|(index, (pair, values))| {
            let (baseline, current) = match judged(pair, values, options.metric) {
                Ok(values) => values,
                Err(why) => return Plan::Not(why),
            };
            let single = baseline.len() == 1 || current.len() == 1;
            let zero = |values: &[f64]| values.contains(&0.0);
            if options.plain_threshold {
                Plan::Alone(Method::PlainThreshold)
            } else if single && options.noise.is_none() {
                Plan::Not(NotTested::SingleRun)
            } else if !single && options.metric.is_count() && same(baseline) && same(current) {
                Plan::Alone(Method::SameInEveryRun)
            } else if zero(baseline) || zero(current) {
                Plan::Not(NotTested::ZeroAmongValues)
            } else if let Some(noise) = options.noise.filter(|_| single) {
                plan(log_ratio_with_noise(baseline, current, noise, level))
            } else {
                // All these are tested together; the answer takes this place.
                places.push(index);
                over_runs.push((baseline, current));
                Plan::Not(NotTested::NoValue)
            }
        })
        .collect();
    for (index, test) in places.into_iter().zip(log_ratio_tests(&over_runs, level)) {
        plans[index] = plan(test);
    }
    plans
}

/// The values to judge a pair by, or why it is not judged.
fn judged<'v>(
    pair: &Pair<'_>,
    values: &'v Values,
    metric: Metric,
) -> Result<(&'v [f64], &'v [f64]), NotTested> {
    let (Some(baseline), Some(current)) = (&pair.baseline, &pair.current) else {
        return Err(NotTested::OneSide);
    };
    if baseline.failed() || current.failed() {
        Err(NotTested::Failed)
    } else if !metric.is_count() && baseline.is_mostly_recording() && current.is_mostly_recording()
    {
        // On one side only, it is the operation itself that changed.
        Err(NotTested::MostlyRecording)
    } else if values.baseline.is_none() && values.current.is_none() {
        Err(NotTested::NoValues)
    } else {
        values.both().ok_or(NotTested::NoValue)
    }
}

/// A test that has no answer has none for its values: checked before, they are
/// positive and finite, and the level is.
fn plan(test: Result<LogRatio, StatsError>) -> Plan {
    test.map_or(Plan::Not(NotTested::NoValue), Plan::Test)
}

/// The corrected p-values, in the order of the tests.
fn adjusted(plans: &[Plan], correction: Correction) -> Vec<f64> {
    let p_value = |plan: &Plan| match plan {
        Plan::Test(test) => Some(test.p_value),
        Plan::Not(_) | Plan::Alone(_) => None,
    };
    let p_values: Vec<f64> = plans.iter().filter_map(p_value).collect();
    match correction {
        Correction::BenjaminiHochberg => benjamini_hochberg(&p_values),
        Correction::Holm => holm(&p_values),
        Correction::None => return p_values,
    }
    .expect("p-values of tests are probabilities")
}

fn alone(row: &mut OperationComparison, method: Method, bounds: Bounds) {
    let (Some(baseline), Some(current)) = (row.baseline_value, row.current_value) else {
        return;
    };
    row.method = method;
    row.is_significant = method == Method::SameInEveryRun && baseline != current;
    row.change_type = if baseline == current {
        ChangeType::NoChange
    } else {
        // From zero or to zero is infinitely far.
        bounds.alone((current / baseline).ln())
    };
}

fn tested(row: &mut OperationComparison, test: &LogRatio, adjusted_p: f64, bounds: Bounds) {
    let noise = noise(test, row.baseline_runs, row.current_runs);
    row.method = Method::Test(test.method);
    row.ratio = Some(test.ratio);
    row.interval = Some([test.lower, test.upper]);
    row.p_value = Some(test.p_value);
    row.adjusted_p_value = Some(adjusted_p);
    row.is_significant = adjusted_p <= bounds.alpha;
    row.noise = Some(noise);
    row.effect = (noise > 0.0).then(|| test.ratio.ln() / noise);
    row.change_type = bounds.tested(test, adjusted_p);
    if row.change_type == ChangeType::Inconclusive {
        let fewest = row.baseline_runs.min(row.current_runs);
        row.runs_needed = bounds.runs_needed(test, adjusted_p, noise, fewest);
    }
}

fn same(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

/// The geometric mean; 0 where a value is 0.
pub(super) fn typical(values: &[f64]) -> f64 {
    if same(values) {
        // Without what rounding would add.
        return values.first().copied().unwrap_or(0.0);
    }
    let logs: f64 = values.iter().map(|value| value.ln()).sum();
    (logs / values.len() as f64).exp()
}

fn ratio(row: &OperationComparison) -> Option<f64> {
    let ratio = row.current_value? / row.baseline_value?;
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}
