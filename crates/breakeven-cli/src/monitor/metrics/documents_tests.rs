//! Prometheus's own checks, and whether documentation, dashboard and alerts speak of what
//! is served.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ALL;

/// Runs Prometheus's own checker.
#[track_caller]
#[allow(clippy::print_stdout, reason = "says what was not tested")]
fn promtool(args: &[&str]) {
    let started = Command::new("promtool")
        .args(args)
        .stdin(Stdio::null())
        .output();
    let Ok(ended) = started else {
        println!("NOT TESTED: what promtool says (Debian: prometheus)");
        return;
    };
    let said = String::from_utf8_lossy(&ended.stderr) + String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{args:?}: {said}");
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn read(name: &str) -> String {
    fs::read_to_string(docs().join(name)).expect("is in the repository")
}

#[test]
fn every_metric_has_its_row_in_the_documentation() {
    let documented = read("metrics.md");
    for metric in ALL {
        let row = format!("| `{}` |", metric.name);
        assert!(documented.contains(&row), "no row that begins with {row}");
    }
    let ours = documented
        .lines()
        .filter_map(|line| line.strip_prefix("| `"));
    let rows = ours.filter_map(|line| line.split('`').next());
    for name in rows.filter(|name| is_metric(name)) {
        let is_served = ALL.iter().any(|metric| metric.name == name);
        assert!(
            is_served || OF_PROGRAMS.contains(&name),
            "{name} is not served"
        );
    }
}

#[test]
fn the_dashboard_and_the_alerts_ask_for_what_is_served() {
    let dashboard: serde_json::Value =
        serde_json::from_str(&read("monitor/grafana.json")).expect("JSON");
    let mut queries = Vec::new();
    collect(&dashboard, "expr", &mut queries);
    assert!(queries.len() > 10, "{queries:?}");
    let alerts = read("monitor/alerts.yml");
    let rules = alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr:"));
    queries.extend(rules.map(str::to_owned));
    for query in &queries {
        let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let names: Vec<&str> = words.filter(|word| is_metric(word)).collect();
        assert!(!names.is_empty(), "{query} asks for no metric");
        for name in names {
            let is_served = ALL.iter().any(|metric| metric.name == name);
            let name_of_program = name.trim_end_matches("_bucket");
            assert!(
                is_served || OF_PROGRAMS.contains(&name_of_program),
                "{query}: {name} is not served"
            );
        }
    }
}

#[test]
fn prometheus_takes_the_alerts_and_they_fire() {
    let folder = docs().join("monitor");
    let file = |name: &str| folder.join(name).display().to_string();
    promtool(&["check", "rules", &file("alerts.yml")]);
    promtool(&["test", "rules", &file("alerts.test.yml")]);
}

/// What programs that use the library emit (feature `metrics` of the library).
const OF_PROGRAMS: [&str; 5] = [
    "breakeven_batches_total",
    "breakeven_batch_duration_seconds",
    "breakeven_fallback_tasks_total",
    "breakeven_quarantines_total",
    "breakeven_tasks_total",
];

/// True for what looks like a metric's name, and is no label.
fn is_metric(word: &str) -> bool {
    let is_ours = ["hw_", "system_", "process_", "breakeven_"]
        .iter()
        .any(|start| word.starts_with(start));
    let labels = [
        "hw_id",
        "hw_type",
        "hw_name",
        "hw_state",
        "process_pid",
        "process_executable_name",
        "system_memory_state",
    ];
    is_ours && !labels.contains(&word)
}

/// The texts under this key, anywhere.
fn collect(value: &serde_json::Value, key: &str, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == key => found.push(text.to_owned()),
                    _ => collect(value, key, found),
                }
            }
        }
        serde_json::Value::Array(values) => {
            values.iter().for_each(|value| collect(value, key, found));
        }
        _ => {}
    }
}
