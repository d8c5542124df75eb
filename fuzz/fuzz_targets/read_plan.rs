//! Any text as a machine or as heuristics never panics, and neither does a
//! decision by what was read.
#![no_main]

use breakeven::plan::{Machine, OperationCosts, ProfilingHeuristics, decide};
use breakeven::{Error, WorkloadProfile};
use libfuzzer_sys::fuzz_target;

fn one_line<T>(read: Result<T, Error>) -> Option<T> {
    read.inspect_err(|error| assert_eq!(error.to_string().lines().count(), 1, "{error:?}"))
        .ok()
}

fuzz_target!(|text: &str| {
    let machine = one_line(Machine::from_toml(text));
    let heuristics = one_line(ProfilingHeuristics::from_toml(text));
    if machine.is_none() && heuristics.is_none() {
        return;
    }
    let usual = || Machine::from_toml("cores = 4\n[[gpu]]\nname = \"g\"").expect("a machine");
    let machine = machine.unwrap_or_else(usual);
    let heuristics = heuristics.unwrap_or_default();
    for tasks in [0, 1, 1000, usize::MAX] {
        let workload = WorkloadProfile::from_task_count(tasks);
        let decision = decide(&workload, &machine, &heuristics, &OperationCosts::default());
        let decision = one_line(decision).expect("what was read passed its check");
        let _ = decision.reasons();
    }
});
