//! What is minimised beside time.

use std::fs;

use insta::assert_snapshot;

use super::plan_for;
use crate::command::{Breakeven, Ended};

/// The machine of docs/objectives.md: a card that is fast and draws much.
const MACHINE: &str = "cores = 16\nmemory = \"64 GiB\"\nwatts = 120\nidle_watts = 40\n\
    [[gpu]]\nname = \"V100\"\nlaunch = \"20 us\"\ntransfer = \"12 GB/s\"\nspeedup = 20.0\n\
    watts = 300\nidle_watts = 25\n";

const PRICES: &str = "currency = \"EUR\"\n[cpu]\nper_hour = 0.60\nwhile_idle = true\n\
    [[gpu]]\nname = \"V100\"\nper_hour = 2.50\nwhile_idle = false\n";

fn plan(machine: &str, args: &str) -> (tempfile::TempDir, Breakeven) {
    let args = format!("--tasks 10000 --task-time 1ms {args}");
    let (directory, plan) = plan_for(machine, &args);
    fs::write(directory.path().join("p.toml"), PRICES).unwrap();
    (directory, plan)
}

#[track_caller]
fn planned(args: &str) -> Ended {
    let (_directory, plan) = plan(MACHINE, args);
    plan.run().quietly(0)
}

#[test]
fn the_least_energy() {
    assert_snapshot!(planned("--objective energy").stdout);
}

#[test]
fn the_least_cost() {
    assert_snapshot!(planned("--objective cost --prices p.toml").stdout);
}

#[test]
fn the_least_cost_in_time() {
    assert_snapshot!(planned("--objective deadline:500ms,cost --prices p.toml").stdout);
}

#[test]
fn a_deadline_that_nothing_keeps() {
    assert_snapshot!(planned("--objective deadline:100ms").stdout);
}

#[test]
fn as_json() {
    let json = planned("--objective energy --prices p.toml --format json").json();
    assert_eq!(json["aim"]["objective"], "energy");
    assert_eq!(json["aim"]["outcome"], "least");
    assert_eq!(json["aim"]["currency"], "EUR");
    let candidates = json["candidates"].as_array().unwrap();
    for candidate in candidates {
        assert!(candidate["energy_j"].as_f64().unwrap() > 0.0, "{candidate}");
        assert!(candidate["cost"].as_f64().unwrap() > 0.0, "{candidate}");
    }
    assert_eq!(json["machine"]["power"]["idle_watts"], 40.0);
}

#[test]
fn the_prices_of_the_environment() {
    let (directory, plan) = plan(MACHINE, "--objective cost --format json");
    let path = directory.path().join("p.toml");
    let plan = plan.env("BREAKEVEN_PRICES", path.to_str().unwrap());
    assert_eq!(plan.run().quietly(0).json()["aim"]["currency"], "EUR");
}

#[test]
fn what_is_missing_or_wrong() {
    let refused = |machine: &str, args: &str| {
        let (_directory, plan) = plan(machine, args);
        plan.run().refusal()
    };
    let bare = "cores = 16\n[[gpu]]\nname = \"V100\"\nspeedup = 20.0\n";
    let said = [
        refused(bare, "--objective energy"),
        refused(bare, "--objective cost"),
        refused(
            &MACHINE.replace("V100", "H100"),
            "--objective cost --prices p.toml",
        ),
        refused(MACHINE, "--objective cost --prices m.toml"),
        refused(MACHINE, "--objective cost --prices none.toml"),
    ];
    assert_snapshot!(said.join(""));
    let said = refused(MACHINE, "--objective fast");
    assert!(
        said.contains("\"fast\" is no objective; give time, energy, cost or"),
        "{said}"
    );
}
