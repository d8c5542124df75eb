//! Advice and what it was worth as text, one format per file.

use breakeven_judge::advise::{
    Advice, Followed, OptimizationSuggestion, Outcome, Overruled, Realised, items,
};
use breakeven_judge::page::{Page, Text, Tone};
use breakeven_profile::unit;

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

/// What all advice that was followed came to.
fn conclusion(realised: &Realised) -> String {
    let outcomes = &realised.outcomes;
    let time = |ms: f64| unit::time(ms * 1e6);
    let whole = format!(
        "All operations together took {} and now take {}.",
        time(realised.before_ms),
        time(realised.after_ms)
    );
    if outcomes.is_empty() {
        return format!("There was no advice on the first profile. {whole}");
    }
    let followed: Vec<&Outcome> = outcomes
        .iter()
        .filter(|each| each.followed == Followed::Yes)
        .collect();
    let gained: f64 = followed.iter().filter_map(|each| each.realised_ms).sum();
    let mut text = format!("Followed: {} of {}", followed.len(), outcomes.len());
    if !followed.is_empty() {
        text.push_str(&format!(", gained {}", time(gained)));
        let predicted: f64 = followed.iter().filter_map(|each| each.predicted_ms).sum();
        if predicted > 0.0 {
            text.push_str(&format!(" where {} was predicted", time(predicted)));
        }
    }
    format!("{text}. {whole}")
}

/// What became of the advice on a profile.
pub(crate) fn realised_page(realised: &Realised) -> Page {
    let mut page = Page::default();
    page.items(realised.outcomes.iter().map(Outcome::item).collect());
    page.say(Text::new(conclusion(realised), Tone::Strong));
    for warning in &realised.warnings {
        page.say(Text::new(warning, Tone::Warning));
    }
    page
}
