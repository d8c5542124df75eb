//! A section of the page: its heading, its content, and the data of its charts.

use std::fmt::Write;

use breakeven_judge::advise::{Advice, Overruled, items};
use breakeven_judge::page::{Page, html};
use serde::Serialize;
use serde_json::Value;

use crate::sections::{self, Section};

/// Longest name in a table or a chart, characters.
pub(crate) const MOST_NAME: usize = 120;

/// Longest sentence, characters.
pub(crate) const MOST_TEXT: usize = 400;

/// Most suggestions that are shown.
const MOST_ADVICE: usize = 20;

/// A section of the page.
pub(crate) struct Part {
    /// Its section.
    pub(crate) section: Section,
    /// The content below the heading: HTML.
    pub(crate) body: String,
    /// The data of its charts: JSON that may stand in a script element.
    pub(crate) data: Option<String>,
}

impl Part {
    pub(crate) fn new(section: Section) -> Self {
        Self {
            section,
            body: String::new(),
            data: None,
        }
    }

    /// Adds a sentence.
    pub(crate) fn say(&mut self, text: &str) {
        self.body += &format!("<p>{}</p>\n", html(text, MOST_TEXT));
    }

    /// Adds a place for a chart, with its finding in words for readers who cannot see it.
    pub(crate) fn chart(&mut self, kind: &str, index: usize, finding: &str) {
        let finding = html(finding, MOST_TEXT);
        self.body += &format!(
            "<figure class=\"chart\" data-chart=\"{kind}\" data-index=\"{index}\">\
             <figcaption>{finding}</figcaption></figure>\n"
        );
    }

    /// Adds a page of `breakeven-judge`.
    pub(crate) fn page(&mut self, page: &Page) {
        let mut out = Vec::new();
        let written = page.html(&mut out);
        debug_assert!(written.is_ok(), "a vector takes everything");
        self.body += &String::from_utf8_lossy(&out);
    }

    /// Sets the data of the charts.
    pub(crate) fn data(&mut self, data: &impl Serialize) {
        let json = serde_json::to_string(data);
        debug_assert!(json.is_ok(), "keys are texts");
        self.data = json.ok().map(|json| script_safe(&json));
    }

    /// Builds the section.
    pub(crate) fn section(&self, out: &mut String) {
        let Section { id, title, look } = self.section;
        let body = &self.body;
        let _ = write!(
            out,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n\
             <h2 id=\"{id}-title\">{title}</h2>\n<p class=\"faint\">{look}</p>\n{body}</section>\n"
        );
        if let Some(data) = &self.data {
            let _ = writeln!(
                out,
                "<script type=\"application/json\" id=\"{id}-data\">{data}</script>"
            );
        }
    }
}

/// A section of words alone; none if there are none.
pub(crate) fn words(section: Section, page: &Page) -> Option<Part> {
    let mut part = Part::new(section);
    part.page(page);
    (!page.blocks.is_empty()).then_some(part)
}

/// What to change first, as `breakeven advise` prints it; none if there is nothing to change.
pub(crate) fn advice(advice: &Advice) -> Option<Part> {
    if advice.suggestions.is_empty() && advice.overruled.is_empty() {
        return None;
    }
    let mut page = Page::default();
    let shown = advice.suggestions.len().min(MOST_ADVICE);
    page.items(items(&advice.suggestions[..shown]));
    if shown < advice.suggestions.len() {
        let more = advice.suggestions.len() - shown;
        page.say(format!("… and {more} more: breakeven advise has them"));
    }
    page.say(advice.conclusion());
    for caveat in advice.caveats() {
        page.aside(caveat);
    }
    let title = "Not advised, because a measurement overruled the rule of thumb";
    page.list(title, advice.overruled.iter().map(Overruled::item));
    words(sections::ADVICE, &page)
}

/// JSON that may stand inside a script element. The replaced characters occur in texts only.
pub(crate) fn script_safe(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(safe, "\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// Indices of the `most` items with the largest values, in their order.
pub(crate) fn largest(count: usize, most: usize, value: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    if count > most {
        order.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
        order.truncate(most);
        order.sort_unstable();
    }
    order
}

/// A number as JSON: an integer if it is one, and `null` if it is none or not finite.
pub(crate) fn number(value: impl Into<Option<f64>>) -> Value {
    match value.into() {
        // Beyond this, a double has no fraction digits.
        Some(whole) if whole.fract() == 0.0 && whole.abs() < 9e15 => (whole as i64).into(),
        value => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    #[test]
    fn numbers_are_short() {
        let numbers = [1.0, -0.0, 0.25, f64::NAN, 1e300].map(number);
        let json = serde_json::to_string(&(numbers, number(None))).expect("numbers");
        assert_eq!(json, "[[1,0,0.25,null,1e+300],null]");
    }

    proptest! {
        #[test]
        fn json_stays_the_same_and_cannot_end_its_script(text in "\\PC*|[<>&\u{2028}/a-z!-]*") {
            let json = serde_json::to_string(&text).expect("a text");
            let safe = script_safe(&json);
            let is_left = safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']);
            prop_assert!(!is_left);
            let read: String = serde_json::from_str(&safe).expect("still JSON");
            prop_assert_eq!(read, text);
        }
    }
}
