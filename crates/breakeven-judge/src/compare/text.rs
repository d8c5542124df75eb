//! Figures of a comparison in words, for every format.

use breakeven_profile::profile::OperationKey;
use breakeven_profile::unit;

use super::comparison::{ChangeType, ComparisonSummary, OperationComparison, ProfilerComparison};
use super::method::Method;
use super::metric::Metric;
use super::options::Correction;

/// An operation with its device and size, as in "conv2d on cpu, size 65536". A
/// GPU that is a program on the CPU is said to be one.
pub(super) fn name(key: &OperationKey, software_gpu: bool) -> String {
    if !software_gpu {
        return key.to_string();
    }
    let labelled = OperationKey {
        device: format!("{} (software)", key.device),
        ..key.clone()
    };
    labelled.to_string()
}

impl Metric {
    /// A value in the metric's unit: `1.24 ms`, `10 KiB`, `20`, `1 234 /s`.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Time => unit::time(value * 1e6),
            #[expect(
                clippy::cast_sign_loss,
                reason = "casts saturate; sizes are not negative"
            )]
            Self::Memory => unit::bytes(value.round() as u64),
            Self::Calls => unit::count(value),
            Self::Throughput => unit::per_s(value),
        }
    }
}

impl ProfilerComparison {
    /// By what the verdicts are, in one line.
    pub fn how_text(&self) -> String {
        let correction = match self.correction {
            Correction::BenjaminiHochberg => "corrected by Benjamini–Hochberg",
            Correction::Holm => "corrected by Holm",
            Correction::None => "not corrected for the number of operations",
        };
        format!(
            "by {}, threshold {}, false alarms {}, {correction}",
            self.metric,
            unit::percent(self.threshold),
            unit::percent(self.alpha)
        )
    }

    /// What the interval is: `95 % interval`.
    pub fn level_text(&self) -> String {
        // Ten digits are without what subtracting leaves.
        let percent = ((1.0 - self.alpha) * 1e12).round() / 1e10;
        format!("{percent} % interval")
    }
}

impl OperationComparison {
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

    /// What else is to be said of the verdict: how many runs would settle it, why
    /// there is none, or how it was found without a test. May be empty.
    pub fn note_text(&self) -> String {
        match (self.method, self.change_type, self.runs_needed) {
            (_, ChangeType::New | ChangeType::Removed, _) => String::new(),
            (Method::Test(_), ChangeType::Inconclusive, Some(runs)) => {
                format!("{runs} runs a side might settle it")
            }
            (Method::Test(_), ChangeType::Inconclusive, None) => {
                "on the threshold: more runs will not settle it".to_owned()
            }
            (Method::Test(_), ..) => String::new(),
            (method, ..) => method.to_string(),
        }
    }

    /// Memory and calls where they changed by the threshold or more, and are not
    /// what is judged: `memory 512 KiB to 1 MiB, +100.0 %`.
    pub fn beside_text(&self, judged: Metric) -> Vec<String> {
        [(Metric::Memory, self.memory), (Metric::Calls, self.calls)]
            .into_iter()
            .filter(|(metric, _)| *metric != judged)
            .filter_map(|(metric, quantity)| {
                let quantity = quantity?;
                let change = quantity.change_percent.map(|percent| percent / 100.0);
                let far = match change {
                    Some(change) => change.ln_1p().abs() >= self.threshold.ln_1p(),
                    None => quantity.current > 0.0,
                };
                let change = change.map_or_else(|| "from zero".to_owned(), unit::change);
                far.then(|| {
                    format!(
                        "{metric} {} to {}, {change}",
                        metric.text(quantity.baseline),
                        metric.text(quantity.current)
                    )
                })
            })
            .collect()
    }
}

impl ComparisonSummary {
    /// The counts that are not zero: `1 regression, 7 unchanged`.
    pub fn text(&self) -> String {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let (worse, better) = (self.regressions_count, self.improvements_count);
        let counts = [
            (worse, format!("regression{}", plural(worse))),
            (better, format!("improvement{}", plural(better))),
            (self.inconclusive_count, "inconclusive".to_owned()),
            (self.no_change_count, "unchanged".to_owned()),
            (self.new_count, "new".to_owned()),
            (self.removed_count, "removed".to_owned()),
            (self.left_out_count, "left out".to_owned()),
        ];
        let named: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        named.join(", ")
    }
}
