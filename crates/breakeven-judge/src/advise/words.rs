//! Advice in words: its sentences, and its blocks of a page.

use breakeven_profile::profile::{Device, OperationKey};
use breakeven_profile::unit;

use super::rank::{OptimizationSuggestion, Priority};
use super::rules::Rule;
use super::{Advice, CallsOf, LookedAt, Overruled};
use crate::page::{Item, Page, Text, Tone};

impl Advice {
    /// What all suggestions save together, or why that is unknown: one sentence.
    pub fn conclusion(&self) -> String {
        let total = unit::time(self.total_ms * 1e6);
        let rules = Rule::ALL.len();
        let looked = match self.looked_at.operations {
            1 => format!("{rules} rules examined 1 operation"),
            n => format!("{rules} rules examined {n} operations"),
        };
        if self.suggestions.is_empty() {
            let overruled = match self.overruled.len() {
                0 => "and none applied".to_owned(),
                1 => "and a measurement overruled the one rule of thumb that applied".to_owned(),
                n => format!("and measurements overruled the {n} rules of thumb that applied"),
            };
            return match self.looked_at.operations {
                0 => "No advice: the profile has no operation that can be judged.".to_owned(),
                _ => format!("No advice: {looked}, {overruled}."),
            };
        }
        let potential = self.potential_ms * 1e6;
        if potential <= 0.0 {
            return "The profile has no data from which to estimate the gain.".to_owned();
        }
        format!(
            "Together: {} of {total} ({}), counting the largest saving of each operation.",
            unit::time(potential),
            unit::percent(self.potential_ms / self.total_ms)
        )
    }

    /// True if some of the advice assumes that the samples are a program's calls.
    fn of_calls(&self) -> bool {
        let mut rules = self.suggestions.iter().map(|each| each.rule);
        rules.any(Rule::is_about_calls)
    }

    /// The limits of the advice, one sentence each.
    pub fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        match self.calls_of {
            CallsOf::Program => {}
            CallsOf::Benchmark => caveats.push(
                "The samples are iterations of a benchmark: fractions are of the measured time, \
                 and batching or caching the iterations is not advised."
                    .to_owned(),
            ),
            CallsOf::Unmarked if !self.of_calls() => {}
            CallsOf::Unmarked => {
                let mut rules = Rule::ALL.to_vec();
                rules.retain(|rule| rule.is_about_calls());
                let kinds: Vec<String> = rules.iter().map(|rule| rule.kind().to_string()).collect();
                caveats.push(format!(
                    "The file does not say whether its samples are calls of a program or \
                     iterations of a benchmark; for a benchmark, ignore {}.",
                    kinds.join(" and ")
                ));
            }
        }
        let several = self.looked_at.operations > 1;
        if several && !self.nesting_known && self.calls_of != CallsOf::Benchmark {
            caveats.push(
                "The file does not say which operations are nested: fractions are of the sum of \
                 all operations, in which nested ones count twice."
                    .to_owned(),
            );
        }
        caveats.extend(self.looked_at.left_out());
        caveats
    }
}

impl LookedAt {
    /// The operations that were not examined, in one sentence.
    pub fn left_out(&self) -> Option<String> {
        let parts: Vec<String> = [
            (self.failed, "failed"),
            (self.without_time, "without samples"),
            (self.recording, "mostly the recorder's overhead"),
            (self.minor, "of too small a fraction of the time"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
        (!parts.is_empty()).then(|| format!("Not examined: {}.", parts.join(", ")))
    }
}

/// An operation with its size, on its device.
fn who(operation: &str, device: &str, software_gpu: bool, size: Option<u64>) -> String {
    let operation = OperationKey::sized(operation, size);
    format!("{operation} on {}", Device::label(device, software_gpu))
}

/// A line of an item, with its label.
fn fact(word: &str, text: impl Into<Text>) -> (String, Text) {
    (word.to_owned(), text.into())
}

/// One item per suggestion.
pub fn items(suggestions: &[OptimizationSuggestion]) -> Vec<Item> {
    suggestions.iter().map(item).collect()
}

/// The suggestion with its reason, what to do, and the gain.
fn item(each: &OptimizationSuggestion) -> Item {
    let tone = match each.priority {
        Priority::Critical => Tone::Bad,
        Priority::High => Tone::Warning,
        Priority::Medium => Tone::Strong,
        Priority::Low => Tone::Faint,
    };
    let whom = who(&each.operation, &each.device, each.software_gpu, each.size);
    Item {
        head: vec![
            format!("{}.", each.rank).into(),
            Text::new(each.priority.to_string(), tone),
            each.kind.to_string().into(),
            Text::new(whom, Tone::Strong),
        ],
        facts: vec![
            fact("why", &each.description),
            fact("do", &each.implementation_hint),
            fact("gains", &each.expected_improvement),
        ],
    }
}

impl Overruled {
    /// The rule, its operation, and the measurements that overruled it.
    pub fn item(&self) -> Item {
        let who = who(&self.operation, &self.device, self.software_gpu, self.size);
        let evidence = self.evidence.iter();
        Item {
            head: vec![format!("{}: {who}", self.rule).into()],
            facts: evidence.map(|each| fact("", each.to_string())).collect(),
        }
    }
}

impl Advice {
    /// A page of some of the suggestions, the number of the remaining ones, and what all save
    /// together.
    pub fn page(&self, shown: &[OptimizationSuggestion]) -> Page {
        let mut page = Page::default();
        page.items(items(shown));
        match self.suggestions.len().saturating_sub(shown.len()) {
            0 => {}
            all if shown.is_empty() => page.say(format!("0 of {all} suggestions")),
            more => page.say(format!("… and {more} more")),
        }
        page.say(self.conclusion());
        page
    }
}
