//! Advice as text.

use breakeven_judge::advise::{Advice, OptimizationSuggestion, Overruled, items};
use breakeven_judge::page::{Page, Text, Tone};
use serde::Serialize;

/// Measurements that overruled a rule of thumb, at most so many.
const OVERRULED: usize = 5;

/// Everything that is printed about a profile's advice.
#[derive(Serialize)]
pub(crate) struct AdviceReport {
    /// The advice, with only the suggestions that are shown.
    #[serde(flatten)]
    advice: Advice,
    /// Suggestions that are not shown.
    left_out: usize,
    #[serde(skip)]
    critical_only: bool,
    /// What all of it comes to.
    #[serde(skip)]
    conclusion: String,
}

impl AdviceReport {
    pub(crate) fn new(
        advice: Advice,
        shown: Vec<OptimizationSuggestion>,
        critical_only: bool,
    ) -> Self {
        Self {
            left_out: advice.suggestions.len() - shown.len(),
            critical_only,
            conclusion: advice.conclusion(),
            advice: Advice {
                suggestions: shown,
                ..advice
            },
        }
    }

    /// What is not shown, and how to see it.
    fn more(&self) -> Option<String> {
        let all = self.left_out + self.advice.suggestions.len();
        match (self.left_out, self.critical_only) {
            (0, _) => None,
            (more, true) => Some(format!("{more} more without --critical")),
            (more, false) => Some(format!("{more} more: --top {all}")),
        }
    }

    pub(crate) fn page(&self) -> Page {
        let mut page = Page::default();
        let items = items(&self.advice.suggestions);
        if items.is_empty() && self.critical_only && self.left_out > 0 {
            page.say("Nothing saves a quarter of the time by itself.");
        }
        page.items(items);
        if let Some(more) = self.more() {
            page.aside(format!("… {more}"));
        }
        page.say(Text::new(&self.conclusion, Tone::Strong));
        for caveat in self.advice.caveats() {
            page.aside(caveat);
        }
        let overruled = &self.advice.overruled;
        let title = "Not advised, because a measurement overruled the rule of thumb";
        page.list(title, overruled.iter().take(OVERRULED).map(Overruled::item));
        if overruled.len() > OVERRULED {
            let more = overruled.len() - OVERRULED;
            page.aside(format!("… {more} more: --format json"));
        }
        page
    }
}
