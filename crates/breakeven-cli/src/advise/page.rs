//! Prints advice as text.

use breakeven_judge::advise::{Advice, OptimizationSuggestion, Overruled, items};
use breakeven_judge::page::{Page, Text, Tone};
use serde::Serialize;

/// Most overruled rules of thumb that are printed.
const OVERRULED: usize = 5;

/// The printed advice on a profile.
#[derive(Serialize)]
pub(crate) struct AdviceReport {
    /// The advice, with only the shown suggestions.
    #[serde(flatten)]
    advice: Advice,
    /// Number of hidden suggestions.
    left_out: usize,
    #[serde(skip)]
    critical_only: bool,
    /// Saving of all suggestions.
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

    /// How many suggestions are hidden, and how to see them.
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
