//! The figures that programs publish, as families of samples.
//!
//! The number of series is bounded: at most 32 programs, each with at most 33 operations and 17
//! devices.

use breakeven_judge::page::shown;

use super::catalogue as all;
use super::exposition::{Labels, with};
use super::families::Families;
use crate::engine::programs::{OperationReading, ProgramReading, ProgramsReading};

/// Most programs that are served.
const MOST_PROGRAMS: usize = 32;

/// Longest label value, characters.
const MOST_OF_NAME: usize = 120;

pub(super) fn add(to: &mut Families, programs: &ProgramsReading) {
    for program in programs.programs.iter().take(MOST_PROGRAMS) {
        let labels = vec![
            ("process_pid", program.pid.to_string()),
            ("process_executable_name", name(&program.name)),
        ];
        add_program(to, program, &labels);
        for operation in &program.operations {
            let labels = with(&labels, "operation", &name(&operation.name));
            add_operation(to, operation, &labels);
        }
    }
}

fn add_program(to: &mut Families, program: &ProgramReading, labels: &Labels) {
    for (device, count) in &program.quarantines {
        let labels = with(labels, "device", &name(device));
        to.add(all::PROGRAM_QUARANTINES, &labels, *count as f64);
    }
}

fn add_operation(to: &mut Families, operation: &OperationReading, labels: &Labels) {
    let incomplete = operation.incomplete.min(operation.batches);
    let done = operation.batches - incomplete;
    for (outcome, count) in [("done", done), ("incomplete", incomplete)] {
        let labels = with(labels, "outcome", outcome);
        to.add(all::PROGRAM_BATCHES, &labels, count as f64);
    }
    if let Some(latency) = operation.latency {
        // `quantile` is the label of a summary, which covers all time.
        let percentiles = [
            ("50", latency.p50_s),
            ("95", latency.p95_s),
            ("99", latency.p99_s),
        ];
        for (percentile, seconds) in percentiles {
            let labels = with(labels, "percentile", percentile);
            to.add(all::PROGRAM_DURATION, &labels, seconds);
        }
    }
    for (device, tasks) in &operation.tasks {
        let labels = with(labels, "device", &name(device));
        to.add(all::PROGRAM_TASKS, &labels, *tasks as f64);
    }
    to.add(
        all::PROGRAM_FALLBACK,
        labels,
        operation.fallback_tasks as f64,
    );
}

fn name(text: &str) -> String {
    shown(text, MOST_OF_NAME)
}
