//! Writes GitHub Actions' workflow commands, which become annotations of a pull request.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use breakeven_judge::gate::Reason;
use breakeven_judge::page::clean;
use breakeven_judge::{Compared, Outcome};

use crate::compare::page::said;

/// Title of messages that are about no single operation.
const WHOLE: &str = "breakeven";

/// GitHub shows the first ten errors, warnings and notices of a step: general messages come first,
/// then the operations by weight.
pub(super) fn write(report: &Compared, out: &mut dyn Write) -> Result<()> {
    let comparison = &report.comparison;
    let mut say = |level: &str, title: &str, message: &str| {
        let (title, message) = (property(title), data(message));
        writeln!(out, "::{level} title={title}::{message}")
    };
    let level = |outcome| match outcome {
        Outcome::Failed => "error",
        Outcome::Mismatched | Outcome::Inconclusive | Outcome::Passed => "warning",
    };
    let whole = match report.verdict.outcome {
        Outcome::Passed => "notice",
        outcome => level(outcome),
    };
    say(whole, WHOLE, &report.summary())?;
    let warnings = comparison.warnings.iter().map(ToString::to_string);
    let whole = comparison.shift_text().into_iter().chain(warnings);
    for warning in whole.chain(comparison.undecided_text()) {
        say("warning", WHOLE, &warning)?;
    }
    let operations: HashMap<String, _> = (comparison.operations.iter())
        .map(|operation| (operation.name(), operation))
        .collect();
    let shown = &report.shown;
    for reason in shown.reasons.iter().chain(&shown.undecided) {
        let level = level(reason.outcome());
        let judged = match reason {
            Reason::Regression { operation, .. } | Reason::Inconclusive { operation, .. } => {
                operations.get_key_value(operation)
            }
            _ => None,
        };
        match judged {
            Some((name, operation)) => say(level, name, &said(report, operation))?,
            None => say(level, WHOLE, &reason.to_string())?,
        }
    }
    for operation in comparison.get_improvements(usize::MAX) {
        say("notice", &operation.name(), &said(report, operation))?;
    }
    Ok(())
}

/// A message in one line, escaped for the runner: `escapeData` of
/// <https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts>.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D");
    clean(&text.replace('\n', "%0A"))
}

/// A property's value, which ends at a comma or a colon: `escapeProperty` in the same file.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
