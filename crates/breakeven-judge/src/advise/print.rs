//! Advice as plain text, and the sentences about it that every format shares.

use std::io::{self, Write};

use breakeven_profile::unit;

use super::suggestion::{OptimizationSuggestion, Overlap, Rule};
use super::{Advice, CallsOf, LookedAt};

impl Advice {
    /// What all suggestions save together, or why there is none: one sentence.
    pub fn conclusion(&self) -> String {
        let total = unit::time(self.total_ms * 1e6);
        let rules = Rule::ALL.len();
        let looked = match self.looked_at.operations {
            1 => format!("{rules} rules looked at 1 operation"),
            n => format!("{rules} rules looked at {n} operations"),
        };
        if self.suggestions.is_empty() {
            let overruled = match self.overruled.len() {
                0 => "and none had anything to say".to_owned(),
                1 => "and a measurement overruled the one rule of thumb that spoke".to_owned(),
                n => format!("and measurements overruled the {n} rules of thumb that spoke"),
            };
            return match self.looked_at.operations {
                0 => "No advice: the profile has no operation that can be judged.".to_owned(),
                _ => format!("No advice: {looked}, {overruled}."),
            };
        }
        let potential = self.potential_ms * 1e6;
        if potential <= 0.0 {
            return format!("None of this can be estimated from the profile ({total} in all).");
        }
        format!(
            "Together: {} of {total} ({}), overlapping advice counted once.",
            unit::time(potential),
            unit::percent(self.potential_ms / self.total_ms)
        )
    }

    /// True where some of it stands on the samples being a program's calls.
    fn of_calls(&self) -> bool {
        let mut rules = self.suggestions.iter().map(|each| each.rule);
        rules.any(|rule| matches!(rule, Rule::Batching | Rule::Caching))
    }

    /// What limits the advice, a sentence each.
    pub fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        match self.calls_of {
            CallsOf::Program => {}
            CallsOf::Benchmark => caveats.push(
                "The samples are a benchmark's: shares are of the measured time, and nobody was \
                 asked to batch or cache its iterations."
                    .to_owned(),
            ),
            CallsOf::Unmarked if !self.of_calls() => {}
            CallsOf::Unmarked => caveats.push(
                "The file does not tell whether its samples are calls of a program or iterations \
                 of a benchmark; for a benchmark, pass over BATCHING and CACHING."
                    .to_owned(),
            ),
        }
        let several = self.looked_at.operations > 1;
        if several && !self.nesting_known && self.calls_of != CallsOf::Benchmark {
            caveats.push(
                "The file does not tell which operations are inside which: shares are of the sum \
                 of all, in which nested ones count twice."
                    .to_owned(),
            );
        }
        caveats.extend(self.looked_at.left_out());
        caveats
    }
}

impl LookedAt {
    /// The operations that no rule was asked about, as a sentence.
    pub fn left_out(&self) -> Option<String> {
        let parts: Vec<String> = [
            (self.failed, "failed"),
            (self.without_time, "without samples"),
            (self.recording, "mostly the cost of recording"),
            (self.minor, "of too small a part of the time"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
        (!parts.is_empty()).then(|| format!("Not looked at: {}.", parts.join(", ")))
    }
}

impl OptimizationSuggestion {
    /// How it stands to an earlier suggestion about the same operation, and what
    /// it then adds.
    pub fn overlap_text(&self) -> Option<String> {
        Some(match self.overlap? {
            Overlap::After(rank) => {
                let adds = unit::time(self.combined_saved_ms? * 1e6);
                format!("adds {adds} once {rank} is done")
            }
            Overlap::InsteadOf(rank) => {
                format!("another way to the time of {rank}, counted there")
            }
        })
    }
}

pub(super) fn suggestions(
    advice: &Advice,
    shown: &[OptimizationSuggestion],
    mut out: impl Write,
) -> io::Result<()> {
    for each in shown {
        let size = each
            .size
            .map_or_else(String::new, |size| format!(", size {size}"));
        let software = if each.software_gpu { " (software)" } else { "" };
        let (name, device) = (plain(&each.operation), plain(&each.device));
        writeln!(
            out,
            "{}. {} {}: {name} on {device}{software}{size}",
            each.rank, each.priority, each.kind
        )?;
        writeln!(out, "   why:   {}", plain(&each.description))?;
        writeln!(out, "   do:    {}", each.implementation_hint)?;
        writeln!(out, "   gains: {}", each.expected_improvement)?;
        if let Some(overlap) = each.overlap_text() {
            writeln!(out, "          {overlap}")?;
        }
    }
    let more = advice.suggestions.len() - shown.len();
    if more > 0 {
        writeln!(out, "... and {more} more")?;
    }
    writeln!(out, "{}", advice.conclusion())
}

pub(super) fn summary(advice: &Advice, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "{}", advice.conclusion())?;
    for caveat in advice.caveats() {
        writeln!(out, "{caveat}")?;
    }
    Ok(())
}

/// Text from anyone's file without what a terminal would obey.
fn plain(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}
