//! What the processes of a program used, and how they ended.

use breakeven_judge::page::Page;
use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::unit;

/// A line for each program: means over its runs, the largest memory.
pub(super) fn add(profile: &Profile, page: &mut Page) {
    for operation in profile.operations.iter().filter(|each| each.is_process()) {
        let mean = |counter: &str| {
            let runs = operation.runs.iter();
            let values = runs.filter_map(|run| run.counters.get(counter).copied());
            let values: Vec<f64> = values.collect();
            let sum = values.iter().sum::<f64>();
            (!values.is_empty()).then(|| sum / values.len() as f64)
        };
        let mut used: Vec<String> = Vec::new();
        for name in ["user", "system"] {
            used.extend(mean(name).map(|s| format!("{name} {}", unit::time(s * 1e9))));
        }
        let memory = operation.memory_bytes;
        used.extend(memory.map(|memory| format!("memory {}", unit::bytes(memory))));
        used.extend(mean("page faults").map(|count| format!("{count:.0} page faults")));
        used.extend(other_codes(operation));
        if !used.is_empty() {
            page.aside(format!("{}: {}", operation.name, used.join(", ")));
        }
    }
}

/// The exit codes other than 0.
fn other_codes(operation: &Operation) -> Option<String> {
    let codes = operation
        .attributes
        .get(Operation::EXIT_CODES)?
        .as_array()?;
    let mut others: Vec<String> = (codes.iter())
        .map(|code| {
            code.as_str()
                .map_or_else(|| code.to_string(), str::to_owned)
        })
        .collect();
    others.sort();
    others.dedup();
    others.retain(|code| code != "0");
    (!others.is_empty()).then(|| format!("exit codes {}", others.join(", ")))
}
