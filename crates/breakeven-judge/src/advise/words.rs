//! Advice in words: its sentences, and its blocks of a page.

use std::collections::HashMap;

use breakeven_profile::profile::{Device, OperationKey};
use breakeven_profile::unit;

use super::rank::{OptimizationSuggestion, Overlap, Priority};
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
            "Together: {} of {total} ({}), overlapping advice counted once.",
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

impl OptimizationSuggestion {
    /// The relation to an earlier suggestion about the same operation, and the gain in addition to
    /// it.
    pub fn overlap_text(&self) -> Option<String> {
        Some(match self.overlap? {
            Overlap::After(rank) => {
                let adds = unit::time(self.combined_saved_ms? * 1e6);
                format!("adds {adds} once {rank} is done")
            }
            Overlap::InsteadOf(rank) => {
                format!("an alternative to {rank} for the same time, counted there")
            }
        })
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

/// Number of equal suggestions for one device from which they become one item.
const ALIKE: usize = 3;

/// Operations that such an item names; the rest is counted.
const MOST_NAMED: usize = 10;

/// One item per suggestion; several equal suggestions for one device are one item.
pub fn items(suggestions: &[OptimizationSuggestion]) -> Vec<Item> {
    fn said(each: &OptimizationSuggestion) -> (Rule, &str, &str) {
        (each.rule, &each.device, &each.implementation_hint)
    }
    let (mut counts, mut places) = (HashMap::new(), HashMap::new());
    for each in suggestions {
        *counts.entry(said(each)).or_insert(0) += 1;
    }
    let mut groups: Vec<Vec<&OptimizationSuggestion>> = Vec::new();
    for each in suggestions {
        let new = groups.len();
        let place = match counts[&said(each)] >= ALIKE {
            true => *places.entry(said(each)).or_insert(new),
            false => new,
        };
        if place == new {
            groups.push(Vec::new());
        }
        groups[place].push(each);
    }
    let items = groups.iter().map(|group| match &group[..] {
        [one] => one.item(),
        several => of_several(several),
    });
    items.collect()
}

/// One item of equal suggestions for one device, the largest gain first.
fn of_several(group: &[&OptimizationSuggestion]) -> Item {
    let first = group[0];
    let on = Device::label(&first.device, first.software_gpu);
    let named = group.iter().take(MOST_NAMED).map(|each| {
        let name = OperationKey::sized(&each.operation, each.size);
        fact("of", format!("{name}: {}", each.expected_improvement))
    });
    let more = group.len().saturating_sub(MOST_NAMED);
    let more = (more > 0).then(|| fact("", format!("… and {more} more")));
    let what = [
        fact("why", first.description.clone()),
        fact("do", first.implementation_hint.clone()),
    ];
    Item {
        head: first.head(format!("{} operations on {on}", group.len())),
        facts: what.into_iter().chain(named).chain(more).collect(),
    }
}

impl OptimizationSuggestion {
    /// Rank, priority, type and operation.
    fn head(&self, whom: String) -> Vec<Text> {
        let tone = match self.priority {
            Priority::Critical => Tone::Bad,
            Priority::High => Tone::Warning,
            Priority::Medium => Tone::Strong,
            Priority::Low => Tone::Faint,
        };
        vec![
            format!("{}.", self.rank).into(),
            Text::new(self.priority.to_string(), tone),
            self.kind.to_string().into(),
            Text::new(whom, Tone::Strong),
        ]
    }

    /// The suggestion with its reason, what to do, and the gain.
    fn item(&self) -> Item {
        let facts = [
            fact("why", &self.description),
            fact("do", &self.implementation_hint),
            fact("gains", &self.expected_improvement),
        ];
        let overlap = self.overlap_text().map(|text| fact("", text));
        let whom = who(&self.operation, &self.device, self.software_gpu, self.size);
        Item {
            head: self.head(whom),
            facts: facts.into_iter().chain(overlap).collect(),
        }
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
