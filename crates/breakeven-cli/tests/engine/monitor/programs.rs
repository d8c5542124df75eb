//! Programs that publish, as the command shows them.

use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

use super::program::{Program, monitor, sockets};
use crate::command::directory;
use crate::engine::serve::server::{Server, wait_until};

const JSON: &str = "--once --interval 100ms --format json";

#[test]
fn the_figures_are_those_of_the_manager() {
    let folder = directory();
    let program = Program::start("once", folder.path());
    let document = monitor(JSON, folder.path()).run().quietly(0).json();
    assert!(document["cpu"]["cores"].is_array(), "{document:#}");
    let [reported] = &document["programs"].as_array().unwrap()[..] else {
        panic!("{document:#}");
    };
    assert_eq!(reported["stats"], program.stats);
    assert_eq!(reported["stats"]["batches"], 4);
    assert_eq!(reported["stats"]["quarantines"], 1);
    assert_eq!(reported["quarantines"], json!({ "Made-up GPU": 1 }));
    assert_eq!(reported["pid"], program.pid());
    // Nothing ended between the two readings.
    assert_eq!(reported["batches_per_s"], 0.0);
    let operations = reported["operations"].as_array().unwrap();
    let of = |name: &str, field: &str| -> Value {
        let mut all = operations.iter();
        let operation = all.find(|operation| operation["name"] == name);
        operation.unwrap_or_else(|| panic!("no {name}: {reported:#}"))[field].clone()
    };
    assert_eq!(
        (of("reported", "batches"), of("reported", "incomplete")),
        (json!(3), json!(1))
    );
    assert_eq!(of("reported", "quarantines"), 1);
    let latency = of("reported", "latency");
    assert_eq!(latency["batches"], 2, "those that were stopped have none");
    let p = |quantile: &str| latency[quantile].as_f64().unwrap();
    assert!(0.0 < p("p50_s") && p("p50_s") <= p("p95_s") && p("p95_s") <= p("p99_s"));
    // Those of all operations are the manager's.
    let fallen = operations.iter();
    let fallen = fallen.filter_map(|each| each["fallback_tasks"].as_u64());
    assert_eq!(
        Some(fallen.sum::<u64>()),
        program.stats["fallback_tasks"].as_u64()
    );
    for (device, tasks) in program.stats["tasks"].as_object().unwrap() {
        let all = operations
            .iter()
            .filter_map(|each| each["tasks"][device].as_u64());
        assert_eq!(Some(all.sum::<u64>()), tasks.as_u64(), "{device}");
    }
    let decisions = reported["decisions"].as_array().unwrap();
    let texts: Vec<&str> = decisions
        .iter()
        .map(|each| each["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts.len(), 4);
    let (stopped, other) = (texts[0], texts[1]);
    assert!(
        stopped.starts_with("reported: 1 000 tasks in "),
        "{stopped}"
    );
    assert!(
        stopped.contains(", ended after 0 tasks; why: asked, "),
        "{stopped}"
    );
    assert!(other.starts_with("other: 1 000 tasks in "), "{other}");
    assert!(
        texts[2].contains(" tasks fell back; device: "),
        "{texts:#?}"
    );
    program.end();
    assert_eq!(sockets(folder.path()), [""; 0], "it is removed at the end");
}

#[test]
fn two_programs_are_listed_until_they_are_killed() {
    let folder = directory();
    let mut first = Program::start("busy", folder.path());
    let second = Program::start("once", folder.path());
    let silent = Program::started("once", folder.path(), "0");
    let listed = || -> Vec<u64> {
        let document = monitor(JSON, folder.path()).run().quietly(0).json();
        let programs = document["programs"].as_array().unwrap().clone();
        assert_eq!(document["programs_left_out"], json!([]), "{document:#}");
        let rates = programs
            .iter()
            .map(|each| each["batches_per_s"].as_f64().unwrap());
        let busy = rates.filter(|rate| *rate > 10.0).count();
        assert_eq!(busy, programs.len() - 1, "{programs:#?}");
        programs
            .iter()
            .map(|each| each["pid"].as_u64().unwrap())
            .collect()
    };
    let mut both = [first.pid(), second.pid()].map(u64::from);
    both.sort_unstable();
    assert_eq!(listed(), both);
    let table = monitor("--once --interval 100ms", folder.path())
        .run()
        .quietly(0);
    for program in [&first, &second] {
        let head = format!("(process {}), published for ", program.pid());
        assert_eq!(table.lines_with(&head).len(), 1, "{}", table.stdout);
    }
    assert!(table.lines_with("busy  ").len() == 1, "{}", table.stdout);
    let too_wide = table.stdout.lines().find(|line| line.chars().count() > 100);
    assert_eq!(too_wide, None);
    assert_eq!(sockets(folder.path()).len(), 2);
    first.kill();
    assert_eq!(sockets(folder.path()).len(), 2, "nobody could remove it");
    assert_eq!(listed(), [u64::from(second.pid())]);
    assert_eq!(sockets(folder.path()).len(), 1, "whoever finds it does");
    drop(silent);
}

#[test]
fn a_program_that_was_killed_is_swept_by_the_next_one() {
    let folder = directory();
    let mut first = Program::start("once", folder.path());
    first.kill();
    let second = Program::start("once", folder.path());
    let left = sockets(folder.path());
    assert_eq!(left.len(), 1);
    assert!(
        left[0].starts_with(&format!("{}-", second.pid())),
        "{left:?}"
    );
}

#[test]
fn a_program_that_hangs_is_named_and_holds_nobody_up() {
    let folder = directory();
    let program = Program::start("once", folder.path());
    // Its name is that of a program which was there before: this process now listens.
    let name = sockets(folder.path()).remove(0);
    let socket = folder.path().join("breakeven").join(name);
    std::fs::remove_file(&socket).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    let ended = monitor(JSON, folder.path()).run().quietly(0);
    let left_out = &ended.json()["programs_left_out"];
    assert_eq!(left_out[0]["pid"], program.pid());
    let why = "it did not answer within 250 ms: it hangs or is stopped";
    assert_eq!(left_out[0]["why"], why);
    drop(listener);
}

#[test]
fn programs_are_served_as_metrics() {
    let folder = directory();
    let program = Program::start("once", folder.path());
    let server = Server::start_in(folder.path());
    let labels = format!("{{process_pid=\"{}\",", program.pid());
    let batches = format!("breakeven_program_batches_total{labels}");
    wait_until("the program", || server.scrape("").contains(&batches));
    let page = server.scrape("");
    let sum = |name: &str, with: &str| -> f64 {
        let start = format!("{name}{labels}");
        let lines = page
            .lines()
            .filter(|line| line.starts_with(&start) && line.contains(with));
        let values = lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap());
        values.sum()
    };
    assert_eq!(sum("breakeven_program_batches_total", ""), 4.0);
    assert_eq!(
        sum("breakeven_program_batches_total", "outcome=\"incomplete\""),
        1.0
    );
    for (device, tasks) in program.stats["tasks"].as_object().unwrap() {
        let with = format!("device=\"{device}\"");
        assert_eq!(
            Some(sum("breakeven_program_tasks_total", &with)),
            tasks.as_f64()
        );
    }
    let fallen = program.stats["fallback_tasks"].as_f64();
    assert_eq!(
        Some(sum("breakeven_program_fallback_tasks_total", "")),
        fallen
    );
    assert_eq!(
        sum("breakeven_program_quarantines_total", "Made-up GPU"),
        1.0
    );
    assert!(
        sum(
            "breakeven_program_batch_duration_seconds",
            "percentile=\"99\""
        ) > 0.0
    );
}
