//! Judges all operations together: what each is judged by, the tests, their correction, the
//! verdicts; first for the metric, then for everything else that changed, then the budgets.

use breakeven_profile::profile::Profile;
use breakeven_profile::stats::quantile_of_sorted;
use breakeven_stats::{
    LogRatio, LogRatioMethod, Pair as Sides, benjamini_hochberg, log_ratio_tests, typical,
};

use super::comparison::{
    Change, ChangeType, CommonShift, HeldBudget, Method, NotTested, OperationComparison,
};
use super::options::{CompareError, FEWEST_RUNS, Options, Side};
use super::sides::{Measured, Pair};
use super::verdict::{Bounds, noise};
use crate::budget::{Idle, IdleBudget, Limits, RelativeLimit};
use crate::history::History;
use crate::metric::Metric;

/// The judged values of one operation, one per run: the baseline's and the current side's, if the
/// side has them.
type Values = [Option<Vec<f64>>; 2];

/// Judges the pairs: one row per pair, in their order, and their common shift.
///
/// # Errors
///
/// If no operation has the metric on both sides.
pub(super) fn judge(
    pairs: &[Pair<'_>],
    options: &Options,
) -> Result<(Vec<OperationComparison>, Option<CommonShift>), CompareError> {
    let metric = &stated(&options.metric, pairs);
    let mut changes = changes(pairs, metric, options, 1.0);
    let is_none = |change: &Change| match change.method {
        // If the baseline has values, the current side failed newly.
        Method::NotTested(NotTested::Failed) => change.baseline_value.is_none(),
        Method::NotTested(why) => why.is_without_values(),
        _ => false,
    };
    if changes.iter().all(is_none) && !pairs.iter().any(Pair::fails) {
        let zero = Method::NotTested(NotTested::ZeroTime);
        return Err(match changes.iter().any(|change| change.method == zero) {
            true => CompareError::ZeroTimes,
            false => lacking(pairs, metric),
        });
    }
    let shift = CommonShift::of(&changes, options.threshold);
    let relative = shift.filter(|_| options.relative_to_common_shift);
    if let Some(shift) = relative {
        changes = self::changes(pairs, metric, options, shift.ratio);
    }
    let rows = pairs.iter().zip(changes);
    let mut rows: Vec<OperationComparison> = rows.map(|(pair, change)| row(pair, change)).collect();
    let allocations = stated(&Metric::from("allocations"), pairs);
    for beside in [&Metric::MEAN, &Metric::MEMORY, &allocations, &Metric::CALLS] {
        // The mean may change without the median if only a few calls are long.
        if beside == metric || (*beside == Metric::MEAN && *metric != Metric::TIME) {
            continue;
        }
        let relative = relative.filter(|_| *beside == Metric::MEAN);
        let scale = relative.map_or(1.0, |shift| shift.ratio);
        let changes = self::changes(pairs, beside, options, scale);
        for (row, change) in rows.iter_mut().zip(changes) {
            if change.baseline_value.and(change.current_value).is_some() {
                row.beside.push(change);
            }
        }
    }
    Ok((rows, shift))
}

/// A counter with its unit and direction, as the first operation that has it states them.
fn stated(metric: &Metric, pairs: &[Pair<'_>]) -> Metric {
    let Metric::Counter(name, _) = metric else {
        return metric.clone();
    };
    let counter = pairs.iter().find_map(|pair| pair.counter(name));
    Metric::Counter(name.clone(), counter.cloned().unwrap_or_default())
}

/// How one metric changed in each pair; the current side's values are divided by `scale`. The tests
/// are made together.
fn changes(pairs: &[Pair<'_>], metric: &Metric, options: &Options, scale: f64) -> Vec<Change> {
    let values: Vec<Values> = pairs
        .iter()
        .map(|pair| values(pair, metric, scale))
        .collect();
    let history = History::of(&options.history, metric);
    let bounds = |change: &Change| Bounds {
        threshold: change.threshold,
        alpha: options.alpha,
        worse: metric.worse(),
    };
    let (mut changes, mut places, mut over_runs) = (Vec::new(), Vec::new(), Vec::new());
    for (pair, values) in pairs.iter().zip(&values) {
        let mut change = Change::untested(metric.clone(), pair.threshold(options));
        [change.baseline_value, change.current_value] =
            values.each_ref().map(|side| side.as_deref().map(typical));
        change.ratio = change.ratio_of_values();
        // The test uses scaled values; the output shows what was measured.
        change.current_value = change.current_value.map(|value| value * scale);
        match judged(pair, values, metric, options, &history) {
            Err(why) => {
                change.method = Method::NotTested(why);
                change.change_type = match (&pair.baseline, &pair.current) {
                    (Some(_), None) => ChangeType::Removed,
                    (None, Some(_)) => ChangeType::New,
                    _ => ChangeType::Inconclusive,
                };
                change.runs_needed = (why == NotTested::FewRuns).then_some(FEWEST_RUNS as u64);
            }
            Ok((Some(method), _)) => {
                let bounds = bounds(&change);
                alone(&mut change, method, bounds);
            }
            Ok((None, sides)) => {
                // It stays so if the test has no answer. The values are checked: positive and
                // finite, and so is the level.
                change.method = Method::NotTested(NotTested::NoValue);
                places.push(changes.len());
                over_runs.push(sides);
            }
        }
        changes.push(change);
    }
    let tests = log_ratio_tests(&over_runs, 1.0 - options.alpha);
    let places = places.into_iter().zip(&over_runs);
    let tests = places
        .zip(tests)
        .filter_map(|(place, test)| Some((place, test.ok()?)));
    let tests: Vec<((usize, &Sides<'_>), LogRatio)> = tests.collect();
    let p_values: Vec<f64> = tests.iter().map(|(_, test)| test.p_value).collect();
    let adjusted = benjamini_hochberg(&p_values).expect("p-values of tests are probabilities");
    for (((place, sides), test), adjusted) in tests.into_iter().zip(adjusted) {
        let test = match *metric == Metric::TIME {
            true => within_clock(test, &pairs[place]),
            false => test,
        };
        let (runs, bounds) = (
            [sides.baseline.len(), sides.current.len()],
            bounds(&changes[place]),
        );
        tested(&mut changes[place], &test, adjusted, bounds, runs);
    }
    changes
}

/// The values of a pair.
fn values(pair: &Pair<'_>, metric: &Metric, scale: f64) -> Values {
    let by_items = pair.records_items();
    let of = |measured: &Option<Measured<'_>>, scale: f64| {
        let values = measured.as_ref()?.values(metric, by_items);
        let values: Vec<f64> = values?.into_iter().map(|value| value / scale).collect();
        (!values.is_empty()).then_some(values)
    };
    [of(&pair.baseline, 1.0), of(&pair.current, scale)]
}

/// The first operation that is on both sides, and the sides on which it lacks the metric.
fn lacking(pairs: &[Pair<'_>], metric: &Metric) -> CompareError {
    let is_common = |pair: &&Pair<'_>| pair.baseline.is_some() && pair.current.is_some();
    let first = pairs.iter().find(is_common).or(pairs.first());
    let sides = first.map(|pair| {
        let sides = [Side::Baseline, Side::Current].into_iter();
        let lacking = sides.zip(values(pair, metric, 1.0));
        let lacking = lacking.filter(|(_, values)| values.is_none());
        lacking.map(|(side, _)| side).collect()
    });
    CompareError::NothingToJudge {
        metric: metric.clone(),
        operation: first.map_or_else(String::new, Pair::name),
        sides: sides.unwrap_or_default(),
    }
}

/// The values to judge a pair by, and the method if it is no test; or why it is not judged.
fn judged<'v>(
    pair: &Pair<'_>,
    values: &'v Values,
    metric: &Metric,
    options: &Options,
    history: &History,
) -> Result<(Option<Method>, Sides<'v>), NotTested> {
    let (Some(baseline), Some(current)) = (&pair.baseline, &pair.current) else {
        return Err(NotTested::OneSide);
    };
    if baseline.failed() || current.failed() {
        return Err(NotTested::Failed);
    }
    if !metric.is_count() && baseline.is_mostly_recording() && current.is_mostly_recording() {
        // If it is on one side only, the operation itself changed.
        return Err(NotTested::MostlyRecording);
    }
    let (baseline, current) = match values {
        [Some(baseline), Some(current)] => (&baseline[..], &current[..]),
        [None, None] => return Err(NotTested::NoValues),
        _ => return Err(NotTested::NoValue),
    };
    if *metric == Metric::ENERGY && !pair.is_counted_alike() {
        return Err(NotTested::OtherCounters);
    }
    // Throughput without time is infinite.
    let is_no_time = |value: &f64| *value == 0.0 || value.is_infinite();
    if !metric.is_count() && baseline.iter().chain(current).any(is_no_time) {
        return Err(NotTested::ZeroTime);
    }
    let fewest = baseline.len().min(current.len());
    let method = if options.plain_threshold {
        Some(Method::PlainThreshold)
    } else if fewest > 1 && metric.is_count() && same(baseline) && same(current) {
        Some(Method::SameInEveryRun)
    } else if fewest < FEWEST_RUNS && !history.knows(&pair.key) {
        return Err(NotTested::FewRuns);
    } else if baseline.contains(&0.0) || current.contains(&0.0) {
        return Err(NotTested::ZeroAmongValues);
    } else {
        None
    };
    let noise = if method.is_none() {
        history.noise(&pair.key)
    } else {
        None
    };
    Ok((
        method,
        Sides {
            baseline,
            current,
            noise,
        },
    ))
}

fn alone(change: &mut Change, method: Method, bounds: Bounds) {
    let (Some(baseline), Some(current)) = (change.baseline_value, change.current_value) else {
        return;
    };
    change.method = method;
    change.is_significant = method == Method::SameInEveryRun && baseline != current;
    // From or to zero is infinitely far.
    let ratio = change.ratio.unwrap_or(current / baseline);
    change.change_type = match ratio.is_nan() {
        true => ChangeType::NoChange,
        false => bounds.alone(ratio.ln()),
    };
}

/// A test without any spread, whose interval is as wide as the step of the clock: it does not show
/// smaller changes.
fn within_clock(test: LogRatio, pair: &Pair<'_>) -> LogRatio {
    let sides = pair.baseline.iter().chain(&pair.current);
    let step = 1.0 + sides.map(Measured::clock_step).fold(0.0, f64::max);
    match test.method {
        LogRatioMethod::Permutation => LogRatio {
            lower: test.lower / step,
            upper: test.upper * step,
            ..test
        },
        _ => test,
    }
}

fn tested(
    change: &mut Change,
    test: &LogRatio,
    adjusted_p: f64,
    bounds: Bounds,
    [before, after]: [usize; 2],
) {
    let noise = noise(test, before, after);
    change.method = Method::Test(test.method);
    change.ratio = Some(test.ratio);
    // Without spread on either side, the clock's step is the only interval.
    change.interval = (test.lower < test.upper).then_some([test.lower, test.upper]);
    change.p_value = Some(test.p_value);
    change.adjusted_p_value = Some(adjusted_p);
    change.is_significant = adjusted_p <= bounds.alpha;
    change.noise = Some(noise);
    change.effect = (noise > 0.0).then(|| test.ratio.ln() / noise);
    change.change_type = bounds.tested(test, adjusted_p);
    if change.change_type == ChangeType::Inconclusive {
        change.runs_needed = bounds.runs_needed(test, adjusted_p, noise, before.min(after));
    }
}

fn same(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

/// Samples per side below which their spread says little.
const FEW_SAMPLES: usize = 5;

/// Smallest change of such a side to be suspected: 50 %.
const LARGE: f64 = 1.5;

/// Builds the row of a pair from the change of its judged metric.
fn row(pair: &Pair<'_>, judged: Change) -> OperationComparison {
    let (baseline, current) = (pair.baseline.as_ref(), pair.current.as_ref());
    let any = current
        .or(baseline)
        .expect("operations are paired by what a side has");
    let runs = |side: Option<&Measured<'_>>| side.map_or(0, |measured| measured.runs().count());
    let (before, after) = (runs(baseline), runs(current));
    let was = baseline.and_then(time_ms);
    let is = current.and_then(time_ms);
    let times = was.zip(is);
    OperationComparison {
        key: pair.key.clone(),
        workload: any.first().workload.clone(),
        software_gpu: any.is_on_software_gpu(),
        baseline_time_ms: was,
        current_time_ms: is,
        change_ms: times.map(|(was, is)| is - was),
        change_percent: times
            .filter(|(was, _)| *was > 0.0)
            .map(|(was, is)| (is / was - 1.0) * 100.0),
        change_type: judged.change_type,
        is_significant: judged.is_significant,
        baseline_runs: before,
        current_runs: after,
        is_suspected: baseline
            .zip(current)
            .is_some_and(|(before, after)| is_suspected(&judged, before, after)),
        failed: current.is_some_and(Measured::failed),
        judged,
        beside: Vec::new(),
    }
}

fn time_ms(measured: &Measured<'_>) -> Option<f64> {
    let medians = measured.values(&Metric::TIME, false)?;
    (!medians.is_empty()).then(|| typical(&medians))
}

/// True if there are too few runs for a verdict, and the change is larger than the range of 90 % of
/// the samples of each side.
fn is_suspected(judged: &Change, baseline: &Measured<'_>, current: &Measured<'_>) -> bool {
    if judged.method != Method::NotTested(NotTested::FewRuns) || !judged.is_beyond() {
        return false;
    }
    let dwarfs = |measured: &Measured<'_>| {
        let runs = measured.runs();
        let mut samples: Vec<f64> = runs.flat_map(|(_, run)| &run.samples_ns).copied().collect();
        samples.sort_unstable_by(f64::total_cmp);
        let at = |q| quantile_of_sorted(&samples, q).unwrap_or(0.0);
        let range = (at(0.95) / at(0.05)).ln();
        let least = if samples.len() < FEW_SAMPLES {
            LARGE.ln()
        } else {
            0.0
        };
        judged.distance() > range.max(least)
    };
    dwarfs(baseline) && dwarfs(current)
}

/// Checks the current side against its budgets, and lists the budgets that apply to no operation.
pub(super) fn hold(
    pairs: &[Pair<'_>],
    current: &[Profile],
    limits: &Limits,
) -> (Vec<HeldBudget>, Vec<IdleBudget>) {
    let measured = pairs.iter().filter_map(|pair| pair.current.as_ref());
    let held = measured.flat_map(|measured| {
        let operation = measured.first();
        let held = limits.hold(operation, mean_ns(measured), memory_bytes(measured));
        held.into_iter().map(|held| HeldBudget {
            key: operation.key(),
            software_gpu: measured.is_on_software_gpu(),
            held,
        })
    });
    let held = held.collect();
    let has_samples = |side: &Option<Measured<'_>>| {
        let mut runs = side.iter().flat_map(Measured::runs);
        runs.next().is_some()
    };
    let mut idle = limits.unmatched(current);
    idle.extend(
        limits
            .increases
            .iter()
            .filter_map(|RelativeLimit { scope, .. }| {
                let is_for = |measured: &Measured<'_>| scope.is_for(measured.first());
                let mut fitting =
                    (pairs.iter()).filter(|pair| pair.current.as_ref().is_some_and(is_for));
                // A relative limit needs a baseline.
                let is_held =
                    |pair: &Pair<'_>| has_samples(&pair.current) && has_samples(&pair.baseline);
                if fitting.clone().any(is_held) {
                    return None;
                }
                let failed = fitting.any(|pair| !has_samples(&pair.current));
                let why = if failed { Idle::Failed } else { Idle::Absent };
                Some(scope.idle(why, current))
            }),
    );
    (held, idle)
}

/// Largest memory of a call in any profile.
fn memory_bytes(measured: &Measured<'_>) -> Option<f64> {
    let all = measured
        .parts()
        .filter_map(|(_, operation)| operation.peak_memory_bytes());
    all.max().map(|bytes| bytes as f64)
}

/// The mean of all calls of all runs, ns.
fn mean_ns(measured: &Measured<'_>) -> Option<f64> {
    let (mut total_ns, mut calls) = (0.0, 0_u64);
    for (_, operation) in measured.parts() {
        total_ns += operation.total_ns();
        calls = calls.saturating_add(operation.calls());
    }
    (calls > 0).then(|| total_ns / calls as f64)
}
