//! ALGORITHM: time that grows faster than the size.
//!
//! Applies to an operation on one device at three or more sizes, the largest at least four times
//! the smallest. The exponent of time over size is fitted through the medians of all runs
//! (Theil–Sen on logarithms), and its complete 95 % interval must lie more than 0.2 above the
//! expected exponent: that of the operation's flops and bytes at the device's measured peaks (which
//! accounts for caches), else of the flops and bytes alone, whichever grows faster, else 1.
//!
//! The rule makes one suggestion for all sizes, at the one that takes the most time.
//!
//! Estimate: a method of the expected growth that is as fast as this one at the smallest size n₀
//! saves at size n the fraction 1 − (n/n₀)^(expected − exponent) of the own time. The ends of the
//! exponent's interval give the range.

use breakeven_profile::profile::Operation;
use breakeven_stats::{Line, power_law};

use super::super::case::{Case, Gain, Saving, Subject, Verdict};
use super::super::elsewhere::roof_ns;
use super::super::evidence::{Evidence, ExpectedFrom};
use super::{Definition, Saves, SuggestionType};
use crate::winner::{run_medians, typical_ns};

/// Confidence level of the exponent's interval.
const LEVEL: f64 = 0.95;

/// Smallest ratio of the largest size to the smallest.
const LEAST_SPAN: f64 = 4.0;

/// Most points of a fit; above it, each size becomes one point.
const MOST_POINTS: usize = 1_000;

/// Most sizes of a fit; above it, every k-th is used.
const MOST_SIZES: usize = 500;

pub(super) const RULE: Definition = Definition {
    kind: SuggestionType::Algorithm,
    saves: Saves::Work,
    applies: |_, subject| subject.leads_sizes && !subject.mostly_others(),
    ask,
};

fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let here = subject.operation;
    let family: Vec<&Subject<'_>> = case
        .named(&here.name)
        .filter(|other| other.operation.device == here.device)
        .filter(|other| other.operation.size.is_some_and(|size| size > 0))
        .collect();
    let sizes: Vec<f64> = family.iter().map(|other| size_of(other)).collect();
    let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = sizes.iter().copied().fold(0.0, f64::max);
    let spread = sizes.len() >= 3 && greatest >= LEAST_SPAN * least;
    // In the order of their sizes.
    let step = family.len().div_ceil(MOST_SIZES).max(1);
    let fitted: Vec<&Subject<'_>> = family.iter().copied().step_by(step).collect();
    let Some(law) = spread.then(|| growth(&fitted)).flatten() else {
        return Verdict::Silent;
    };
    let (expected, expected_from) = expected(case, &fitted);
    let margin = case.thresholds.growth_margin;
    let evidence = Evidence::Growth {
        sizes: fitted
            .iter()
            .filter_map(|each| each.operation.size)
            .collect(),
        exponent: law.slope,
        interval: [law.slope_lower, law.slope_upper],
        expected,
        expected_from,
    };
    if law.slope_lower <= expected + margin {
        // Time grows faster than linear because the work does: the method is not at fault.
        return match law.slope_lower > 1.0 + margin && expected_from != ExpectedFrom::Linear {
            true => Verdict::Overruled(vec![evidence]),
            false => Verdict::Silent,
        };
    }
    let part = |size: f64, exponent: f64| 1.0 - (size / least).powf(expected - exponent);
    let savings = family
        .iter()
        .zip(&sizes)
        .map(|(each, size)| Saving {
            subject: each.place,
            fraction: part(*size, law.slope).clamp(0.0, 1.0),
        })
        .collect();
    let ends = [law.slope_lower, law.slope_upper].map(|exponent| {
        let each = family.iter().zip(&sizes);
        each.map(|(each, size)| part(*size, exponent).clamp(0.0, 1.0) * each.own_ns)
            .sum()
    });
    Verdict::suggest(
        format!("time grows faster than the work; {evidence}"),
        "look for a loop within a loop over the input; an index, a sort, a hash table or a search \
         among neighbours can replace it",
        vec![evidence],
        Gain {
            savings: Ok(savings),
            range_ns: Some(ends),
        },
    )
}

fn size_of(subject: &Subject<'_>) -> f64 {
    subject.operation.size.unwrap_or(0) as f64
}

/// Fits time over size through the medians of all runs.
fn growth(family: &[&Subject<'_>]) -> Option<Line> {
    let runs: usize = family.iter().map(|each| each.operation.runs.len()).sum();
    let times = |operation: &Operation| match runs > MOST_POINTS {
        true => typical_ns(operation).into_iter().collect(),
        false => run_medians(operation),
    };
    let points = family.iter().flat_map(|each| {
        let size = size_of(each);
        times(each.operation).into_iter().map(move |ns| (size, ns))
    });
    let (sizes, times): (Vec<f64>, Vec<f64>) = points.unzip();
    power_law(&sizes, &times, LEVEL).ok()
}

/// The exponent of the work itself, and its source.
fn expected(case: &Case<'_>, family: &[&Subject<'_>]) -> (f64, ExpectedFrom) {
    let sizes: Vec<f64> = family.iter().map(|each| size_of(each)).collect();
    let fit = |of: &dyn Fn(&Operation) -> Option<f64>| {
        let values: Option<Vec<f64>> = family.iter().map(|each| of(each.operation)).collect();
        let law = power_law(&sizes, &values?, LEVEL).ok()?;
        Some(law.slope)
    };
    let peak = family.first().and_then(|each| case.peak_of(each));
    if let Some(exponent) = peak.and_then(|peak| fit(&|operation| roof_ns(peak, operation))) {
        return (exponent, ExpectedFrom::Peaks);
    }
    let flops = fit(&|operation| operation.flops.map(|flops| flops as f64));
    let bytes = fit(&|operation| operation.bytes.map(|bytes| bytes as f64));
    match [flops, bytes].into_iter().flatten().reduce(f64::max) {
        Some(exponent) => (exponent, ExpectedFrom::Work),
        None => (1.0, ExpectedFrom::Linear),
    }
}
