//! Writes JUnit XML for CI systems: one test case per operation.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use breakeven_judge::gate::Reason;
use breakeven_judge::{ChangeType, Compared, OperationComparison, Outcome};
use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use crate::compare::page::said;

pub(super) fn write(report: &Compared, out: &mut dyn Write) -> Result<()> {
    let mut suite = TestSuite::new(report.comparison.metric.to_string());
    for operation in &report.comparison.operations {
        let name = operation.name();
        let mut case = TestCase::new(&name, status(report, operation, &name));
        case.set_classname("breakeven");
        // What a CI system shows as the test's duration.
        case.set_time(Duration::try_from_secs_f64(
            operation.current_time_ms.unwrap_or(0.0) / 1e3,
        )?);
        suite.add_test_case(case);
    }
    for reason in &report.shown.reasons {
        let name = match reason {
            Reason::IdleBudget(idle) => format!("budget of {}", idle.budget),
            _ if reason.operation().is_none() => "gate".to_owned(),
            _ => continue,
        };
        suite.add_test_case(TestCase::new(name, not_passed(reason, &reason.to_string())));
    }
    let mut document = Document::new("breakeven compare");
    document.add_test_suite(suite);
    // The crate's own writer would hide a closed pipe.
    out.write_all(document.to_string()?.as_bytes())?;
    Ok(())
}

/// The test case of an operation: it fails if the gate has a reason, the worst first.
fn status(report: &Compared, operation: &OperationComparison, name: &str) -> TestCaseStatus {
    let is_own = |reason: &&Reason| reason.operation() == Some(name);
    let said = said(report, operation);
    let in_words = |reason: &Reason| match reason {
        Reason::Beside { .. } | Reason::OverBudget { .. } | Reason::MeanAlone { .. } => {
            reason.to_string()
        }
        _ => said.clone(),
    };
    let reasons: Vec<&Reason> = report.shown.reasons.iter().filter(is_own).collect();
    if let Some(worst) = reasons.first() {
        let all: Vec<String> = reasons.iter().map(|reason| in_words(reason)).collect();
        return not_passed(worst, &all.join("; "));
    }
    let undecided = report.shown.undecided.iter().find(is_own).map(in_words);
    let is_missing = operation.change_type == ChangeType::Removed;
    match undecided.or(is_missing.then_some(said.clone())) {
        None if operation.is_left_out() => skipped(&said),
        None => TestCaseStatus::success(),
        Some(said) => skipped(&said),
    }
}

fn not_passed(reason: &Reason, message: &str) -> TestCaseStatus {
    let outcome = reason.outcome();
    let kind = match outcome {
        Outcome::Failed => NonSuccessKind::Failure,
        _ => NonSuccessKind::Error,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(outcome.to_string()).set_message(message);
    status
}

fn skipped(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(message);
    status
}
