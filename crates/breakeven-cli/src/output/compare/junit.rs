//! For CI systems that show tests: a test case per operation.

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use breakeven_judge::gate::Reason;
use breakeven_judge::{ChangeType, OperationComparison};
use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use super::{Report, said};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let mut suite = TestSuite::new(report.comparison.metric.to_string());
    let mut over = over_budget(report);
    for operation in &report.comparison.operations {
        let name = operation.name();
        let over = over.remove(&name);
        let mut case = TestCase::new(&name, status(report, operation, over));
        case.set_classname("breakeven");
        // What a CI system shows as the duration of the test.
        case.set_time(Duration::try_from_secs_f64(
            operation.current_time_ms.unwrap_or(0.0) / 1e3,
        )?);
        suite.add_test_case(case);
    }
    for reason in &report.verdict.reasons {
        if let Reason::IdleBudget { budget, .. } = reason {
            let status = non_success(NonSuccessKind::Error, "budget", &reason.to_string());
            suite.add_test_case(TestCase::new(format!("budget of {budget}"), status));
        }
    }
    let mut document = Document::new("breakeven compare");
    document.add_test_suite(suite);
    // Its own writer would hide that a pipe is closed.
    out.write_all(document.to_string()?.as_bytes())?;
    Ok(())
}

/// What is said of operations over their budget, by name.
fn over_budget(report: &Report) -> HashMap<String, String> {
    let reasons = report.verdict.reasons.iter();
    reasons
        .filter_map(|reason| match reason {
            Reason::OverBudget { operation, .. } => Some((operation.clone(), reason.to_string())),
            _ => None,
        })
        .collect()
}

fn status(
    report: &Report,
    operation: &OperationComparison,
    over_budget: Option<String>,
) -> TestCaseStatus {
    let said = said(report, operation);
    if operation.failed {
        return non_success(NonSuccessKind::Failure, "failed", &said);
    }
    if operation.change_type == ChangeType::Regression {
        return non_success(NonSuccessKind::Failure, "regression", &said);
    }
    if let Some(over) = over_budget {
        return non_success(NonSuccessKind::Failure, "budget", &over);
    }
    match operation.change_type {
        ChangeType::Removed => {
            let missing = report.verdict.reasons.iter().any(|reason| {
                matches!(reason, Reason::Missing { operation: name } if *name == operation.name())
            });
            match missing || !report.gated {
                true => non_success(NonSuccessKind::Error, "missing", &said),
                false => skipped(&said),
            }
        }
        ChangeType::Inconclusive => skipped(&said),
        ChangeType::Regression
        | ChangeType::Improvement
        | ChangeType::New
        | ChangeType::NoChange => TestCaseStatus::success(),
    }
}

fn non_success(kind: NonSuccessKind, of: &str, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(of).set_message(message);
    status
}

fn skipped(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(message);
    status
}
