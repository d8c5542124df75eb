//! Figures of a comparison in words, for every format.

use breakeven_profile::unit;

use super::change::{Change, ChangeType};
use super::comparison::{ComparisonSummary, ProfilerComparison};
use super::method::Method;
use super::metric::Metric;

/// Runs per side that are practical.
const MOST_TO_MAKE: u64 = 100;

impl Metric {
    /// A value in the metric's unit: `1.24 ms`, `10 KiB`, `3.2 mJ`, `20`, `1 234 /s`.
    pub fn text(&self, value: f64) -> String {
        match self {
            Self::Time | Self::Mean | Self::P95 | Self::P99 | Self::Total => {
                unit::time(value * 1e6)
            }
            #[expect(
                clippy::cast_sign_loss,
                reason = "casts saturate; sizes are not negative"
            )]
            Self::Memory => unit::bytes(value.round() as u64),
            Self::Energy => unit::joules(value),
            Self::Calls => unit::count(value),
            Self::Throughput => unit::per_s(value),
            Self::Counter(_, counter) if counter.unit.is_empty() => unit::count(value),
            Self::Counter(_, counter) => format!("{} {}", unit::count(value), counter.unit),
        }
    }
}

impl ProfilerComparison {
    /// The metric, threshold, and error rate of the verdicts, in one line.
    pub fn how_text(&self) -> String {
        let relative = match self.relative_to_common_shift {
            true => " relative to the common shift",
            false => "",
        };
        format!(
            "by {}{relative}, threshold {}, false alarms {}, corrected by Benjamini–Hochberg",
            self.metric,
            unit::percent(self.threshold),
            unit::percent(self.alpha)
        )
    }

    /// The common shift, and its usual cause.
    pub fn shift_text(&self) -> Option<String> {
        let shift = self.common_shift?;
        let change = unit::change(shift.ratio - 1.0);
        let (operations, of) = (shift.operations, shift.of);
        Some(match self.relative_to_common_shift {
            true => format!(
                "{operations} of {of} operations changed by about {change}; the changes below \
                 are relative to that, the values are as measured"
            ),
            false => format!(
                "{operations} of {of} operations changed by about {change}. A change of the \
                 program seldom does that: look for another machine, clock speed, load, toolchain \
                 or setting, or judge the changes relative to it"
            ),
        })
    }

    /// The threshold from which these runs would decide the inconclusive operations: the interval
    /// of every tested operation is inside it.
    pub fn decided_from_text(&self) -> Option<String> {
        let all = self.operations.iter();
        let inconclusive = all.filter(|each| each.change_type == ChangeType::Inconclusive);
        let intervals = inconclusive.filter_map(|each| each.judged.interval);
        let mut from: Vec<f64> = intervals
            .map(|[lower, upper]| lower.ln().abs().max(upper.ln().abs()).exp_m1())
            .collect();
        from.sort_unstable_by(f64::total_cmp);
        // Rounded up, so that the printed threshold suffices.
        let percent = |from: f64| format!("{} %", (from * 1e3).ceil() / 10.0);
        let (all, half) = (percent(*from.last()?), percent(from[(from.len() - 1) / 2]));
        let half = match half == all {
            true => String::new(),
            false => format!(", half of them at {half}"),
        };
        let count = from.len();
        Some(format!(
            "these runs could decide {count} inconclusive operation(s) at a threshold of {all}{half}"
        ))
    }

    /// Name of the interval: `95 % interval`.
    pub fn level_text(&self) -> String {
        // Ten digits remove the rounding error of the subtraction.
        let percent = ((1.0 - self.alpha) * 1e12).round() / 1e10;
        format!("{percent} % interval")
    }
}

impl Change {
    /// The change of the judged metric, `+16.7 %`; from or to zero in words.
    pub fn change_text(&self) -> String {
        match (self.ratio, self.baseline_value, self.current_value) {
            (Some(ratio), ..) => unit::change(ratio - 1.0),
            (None, Some(0.0), Some(0.0)) => unit::change(0.0),
            (None, Some(0.0), Some(_)) => "from zero".to_owned(),
            (None, Some(_), Some(0.0)) => "to zero".to_owned(),
            _ => String::new(),
        }
    }

    /// The interval of the change, `+14.1 % to +19.2 %`; empty without a test.
    pub fn interval_text(&self) -> String {
        self.interval.map_or_else(String::new, |[lower, upper]| {
            format!(
                "{} to {}",
                unit::change(lower - 1.0),
                unit::change(upper - 1.0)
            )
        })
    }

    /// The corrected p-value, `0.0312` or `<0.0001`; empty without a test.
    pub fn p_text(&self) -> String {
        match self.adjusted_p_value {
            None => String::new(),
            Some(p) if p < 0.000_1 => "<0.0001".to_owned(),
            Some(p) => format!("{p:.4}"),
        }
    }

    /// A remark on the verdict: how many runs would decide it, why there is none, or how it was
    /// found without a test. May be empty.
    pub fn note_text(&self) -> String {
        match (self.method, self.change_type, self.runs_needed) {
            (_, ChangeType::New | ChangeType::Removed, _) => String::new(),
            (Method::NotTested(why), _, Some(runs)) => format!("{why}; make {runs} on each side"),
            (Method::Test(_), ChangeType::Inconclusive, Some(runs)) => runs_text(runs),
            (Method::Test(_), ChangeType::Inconclusive, None) => {
                "more runs would not decide it".to_owned()
            }
            (Method::Test(_), ..) => String::new(),
            (method, ..) => method.to_string(),
        }
    }

    /// A remark next to another metric: `memory 512 KiB to 1 MiB, +100.0 %: REGRESSION`.
    pub fn beside_text(&self) -> String {
        let value = |value: Option<f64>| value.map_or_else(String::new, |v| self.metric.text(v));
        format!(
            "{} {} to {}, {}: {}",
            self.metric,
            value(self.baseline_value),
            value(self.current_value),
            self.change_text(),
            self.change_type
        )
    }
}

/// How many more runs an inconclusive operation needs, in words.
pub(crate) fn runs_text(runs: u64) -> String {
    if runs <= MOST_TO_MAKE {
        return format!("about {runs} runs per side would be needed");
    }
    let unit = 10_f64.powf((runs as f64).log10().floor() - 1.0);
    let about = unit::count((runs as f64 / unit).round() * unit);
    format!("too close to the threshold: about {about} runs per side would be needed")
}

impl ComparisonSummary {
    /// The counts that are not zero: `1 regression, 7 unchanged`.
    pub fn text(&self) -> String {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let (worse, better) = (self.regressions_count, self.improvements_count);
        let unchanged = self.no_change_count - self.worse_mean_count;
        let counts = [
            (worse, format!("regression{}", plural(worse))),
            (better, format!("improvement{}", plural(better))),
            (self.inconclusive_count, "inconclusive".to_owned()),
            (unchanged, "unchanged".to_owned()),
            (self.worse_mean_count, "with a worse mean alone".to_owned()),
            (self.new_count, "new".to_owned()),
            (self.removed_count, "removed".to_owned()),
            (self.left_out_count, "left out".to_owned()),
        ];
        let named: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        let mut text = named.join(", ");
        if self.suspected_count > 0 {
            let count = self.suspected_count;
            text += &format!(
                "; {count} changed by more than the samples differ, with too few runs for a verdict"
            );
        }
        if self.changed_beside_count > 0 {
            let count = self.changed_beside_count;
            text += &format!("; {count} changed in mean, memory, allocations or calls");
        }
        text
    }
}
