//! `breakeven profile -- CMD`: programs, each run a process.

use std::fs;
use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::run::{ended, processes_with, wait_until};
use crate::command::{Breakeven, Ended, breakeven, directory, show};

fn profile<'a>(args: impl IntoIterator<Item = &'a str>) -> Breakeven {
    breakeven(["profile", "--format", "json"].into_iter().chain(args))
}

/// The operation of that name.
#[track_caller]
fn operation(ended: &Ended, name: &str) -> Value {
    let document = ended.json();
    let operations = document["operations"].as_array().unwrap();
    let found = operations.iter().find(|each| each["name"] == name);
    found.unwrap_or_else(|| panic!("{ended:#?}")).clone()
}

/// The times of its runs, each of which has one.
#[track_caller]
fn times_ns(operation: &Value) -> Vec<f64> {
    let runs = operation["runs"].as_array().unwrap();
    let time = |run: &Value| match &run["samples_ns"].as_array().unwrap()[..] {
        [one] => one.as_f64().unwrap(),
        _ => panic!("{operation:#}"),
    };
    runs.iter().map(time).collect()
}

/// The lines that commands appended to a file, in one string.
fn log(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().collect()
}

#[test]
fn a_program_has_ten_runs_with_what_each_used() {
    let directory = directory();
    let log_path = directory.path().join("log");
    let script = format!(
        "echo r >> {}; i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done",
        log_path.display()
    );
    let ended = profile(["--", "sh", "-c", &script]).run().quietly(0);
    let measured = operation(&ended, &format!("sh -c '{script}'"));
    assert_eq!((times_ns(&measured).len(), log(&log_path).len()), (10, 11));
    assert_eq!(measured["device"], "cpu");
    assert_eq!(measured["attributes"]["exit_codes"], json!(vec![0; 10]));
    assert_eq!(measured["counters"]["user"]["unit"], "s");
    for run in measured["runs"].as_array().unwrap() {
        let counter = |name: &str| run["counters"][name].as_f64().unwrap();
        let (used, took) = (
            counter("user") + counter("system"),
            run["samples_ns"][0].as_f64(),
        );
        assert!(used > 0.0 && used < took.unwrap() / 1e9 * 1.5, "{run:#}");
        assert!(counter("page faults") > 10.0, "{run:#}");
    }
}

#[test]
fn peak_memory_is_that_of_the_program_or_not_known() {
    let large = "x=$(head -c 40000000 /dev/zero | tr '\\0' x)";
    let args = ["--runs", "2", "--cmd", large, "--cmd", "true"];
    let ended = profile(args).run().quietly(0);
    let memory = operation(&ended, large)["memory_bytes"].as_u64().unwrap();
    assert!((40_000_000..400_000_000).contains(&memory), "{memory}");
    // It is smaller than the command that starts it, whose memory it begins in.
    assert_eq!(operation(&ended, "true")["memory_bytes"], Value::Null);
}

#[test]
fn the_page_has_what_the_runs_used_and_how_they_ended() {
    let directory = directory();
    let file = directory.path().join("p.json");
    let run = |ms: f64, memory: u64| {
        let counters = json!({"user": 0.012, "system": 0.003, "page faults": ms * 10.0});
        json!({"samples_ns": [ms * 1e6], "memory_bytes": memory, "counters": counters})
    };
    let profile = json!({
        "format": "breakeven-profile",
        "version": 1,
        "benchmark": true,
        "operations": [{
            "name": "./encode --fast",
            "memory_bytes": 40_000_000,
            "attributes": {"exit_codes": [0, 3, "signal 9"]},
            "counters": {"user": {"unit": "s"}, "system": {"unit": "s"}, "page faults": {}},
            "failure": {"kind": "error", "message": "run 3: signal 9"},
            "runs": [run(20.0, 40_000_000), run(22.0, 30_000_000)],
        }],
    });
    fs::write(&file, profile.to_string()).unwrap();
    assert_snapshot!(show(&file, "").quietly(0).stdout, @r"
           mean   ± dev     min  median     p95     p99     max    CV  call/s
    ./encode --fast
    cpu  21.0ms  1.41ms  20.0ms  21.0ms  21.9ms  22.0ms  22.0ms  6.7%    47.6
      failed: run 3: signal 9
    ./encode --fast: user 12.0 ms, system 3.00 ms, memory 38.1 MiB, 210 page faults,
    exit codes 3, signal 9
    ");
}

#[test]
fn a_run_that_fails_is_a_failure_and_no_time() {
    let directory = directory();
    let log_path = directory.path().join("log");
    let fails = format!("echo r >> {}; exit 3", log_path.display());
    let ended = profile(["--cmd", &fails, "--cmd", "true", "--runs", "4"])
        .run()
        .quietly(1);
    let failed = operation(&ended, &fails);
    let said = json!({"kind": "error", "message": "a warm-up: exit status 3"});
    assert_eq!((&failed["failure"], &failed["runs"]), (&said, &json!([])));
    assert_eq!(log(&log_path), "r", "it would fail again");
    assert_eq!(times_ns(&operation(&ended, "true")).len(), 4);

    let ended = profile(["--ignore-failure", "--runs", "4", "--cmd", &fails])
        .run()
        .quietly(0);
    let counted = operation(&ended, &fails);
    assert_eq!(times_ns(&counted).len(), 4);
    assert_eq!(counted["attributes"]["exit_codes"], json!(vec![3; 4]));

    let killed = [
        "--ignore-failure",
        "--warmup",
        "0",
        "--",
        "sh",
        "-c",
        "kill -9 $$",
    ];
    let ended = profile(killed).run().quietly(1);
    let killed = operation(&ended, "sh -c 'kill -9 $$'");
    assert_eq!(killed["failure"]["message"], "run 1: signal 9");
}

#[test]
fn runs_before_a_failure_stay() {
    let directory = directory();
    let log_path = directory.path().join("log");
    let third = format!(
        "echo r >> {0}; test $(wc -l < {0}) -lt 4",
        log_path.display()
    );
    let ended = profile(["--cmd", &third]).run().quietly(1);
    let measured = operation(&ended, &third);
    assert_eq!(times_ns(&measured).len(), 2);
    assert_eq!(measured["attributes"]["exit_codes"], json!([0, 0, 1]));
    assert_eq!(measured["failure"]["message"], "run 3: exit status 1");
}

#[test]
fn several_commands_take_turns_in_random_order() {
    let directory = directory();
    let log_path = directory.path().join("log");
    let [a, b] = ["a", "b"].map(|letter| format!("echo {letter} >> {}", log_path.display()));
    let args = ["--cmd", &a, "--cmd", &b, "--warmup", "2", "--runs", "18"];
    let ended = profile(args).run().quietly(0);
    let order = log(&log_path);
    let rounds: Vec<&str> = (0..20)
        .map(|round| &order[2 * round..2 * round + 2])
        .collect();
    assert_eq!(order.len(), 40);
    assert!(
        rounds.contains(&"ab") && rounds.contains(&"ba"),
        "{rounds:?}"
    );
    assert!(
        rounds.iter().all(|round| ["ab", "ba"].contains(round)),
        "{rounds:?}"
    );
    for command in [a, b] {
        assert_eq!(times_ns(&operation(&ended, &command)).len(), 18);
    }
}

#[test]
fn what_prepares_and_cleans_up_runs_around_each_run_and_is_not_timed() {
    let directory = directory();
    let log_path = directory.path().join("log");
    let [p, r, c] =
        ["p", "r", "c"].map(|letter| format!("echo {letter} >> {}", log_path.display()));
    let (p, c) = (format!("sleep 0.3; {p}"), format!("sleep 0.3; {c}"));
    let args = ["--prepare", &p, "--cleanup", &c, "--runs", "2", "--cmd", &r];
    let ended = profile(args).run().quietly(0);
    assert_eq!(log(&log_path), "prcprcprc");
    let times = times_ns(&operation(&ended, &r));
    assert!(times.iter().all(|ns| *ns < 0.25e9), "{times:?}");

    for (option, said) in [
        ("--prepare", "--prepare of a warm-up: exit status 1"),
        ("--cleanup", "--cleanup of a warm-up: exit status 1"),
    ] {
        let ended = profile([option, "false", "--ignore-failure", "--", "true"])
            .run()
            .quietly(1);
        assert_eq!(operation(&ended, "true")["failure"]["message"], said);
    }
}

#[test]
fn the_time_limit_ends_a_run_and_keeps_those_before() {
    let long = ["--time-limit", "300ms", "--", "sleep", "600.3333"];
    let ended = profile(long).run().quietly(1);
    let failure = json!({"kind": "timeout", "message": "no run ended within the time limit"});
    assert_eq!(operation(&ended, "sleep 600.3333")["failure"], failure);
    assert!(ended.took < Duration::from_secs(20), "{ended:#?}");
    assert!(processes_with("600.3333").is_empty());

    let many = ["--time-limit", "1s", "--runs", "1000", "--", "sleep", "0.1"];
    let ended = profile(many).run().quietly(0);
    let times = times_ns(&operation(&ended, "sleep 0.1"));
    assert!((1..12).contains(&times.len()), "{times:?}");
    assert!(times.iter().all(|ns| *ns >= 0.1e9), "{times:?}");
    let page = breakeven(["profile"])
        .args("--time-limit 1s --runs 999 -- sleep 0.1")
        .run();
    assert!(
        page.said().contains("of 999 runs within the time limit"),
        "{page:#?}"
    );
}

#[test]
fn each_run_reads_the_input_from_its_start() {
    let directory = directory();
    let file = directory.path().join("input");
    fs::write(&file, "hello\n").unwrap();
    let script = "read word; test $word = hello";
    let input = ["--input", file.to_str().unwrap(), "--cmd", script];
    let ended = profile(input).run().quietly(0);
    assert_eq!(times_ns(&operation(&ended, script)).len(), 10);
    profile(["--cmd", "! read word"]).run().quietly(0);
}

/// Not a test: the program of the next one.
#[test]
#[ignore = "run by what_programs_record_joins_run_by_run"]
fn records_itself() {
    for _ in 0..5 {
        let _s = breakeven_profile::scope!("decode");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_programs_record_joins_run_by_run() {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let args = [
        program,
        "--exact",
        "engine::programs::records_itself",
        "--ignored",
    ];
    let ended = profile(["--runs", "3", "--"].into_iter().chain(args))
        .run()
        .quietly(0);
    let whole = operation(&ended, &args.join(" "));
    let recorded = operation(&ended, "decode");
    let runs = recorded["runs"].as_array().unwrap();
    assert_eq!((runs.len(), times_ns(&whole).len()), (3, 3), "{recorded:#}");
    for (run, whole) in runs.iter().zip(whole["runs"].as_array().unwrap()) {
        assert_eq!(run["samples_ns"].as_array().unwrap().len(), 5);
        let (own, took) = (whole["self_ns"].as_f64(), whole["samples_ns"][0].as_f64());
        assert!(own.unwrap() < took.unwrap() - 1e7, "{whole:#}");
    }
    assert!(
        ended.json()["environment"]["recorder"].is_object(),
        "{ended:#?}"
    );

    // Of several programs nothing of one name is mixed.
    let commands = ["1", "2"].map(|threads| format!("{} --test-threads {threads}", args.join(" ")));
    let both = ["--runs", "2", "--cmd", &commands[0], "--cmd", &commands[1]];
    let ended = profile(both).run().quietly(0);
    for command in &commands {
        let recorded = operation(&ended, &format!("decode ({command})"));
        assert_eq!(recorded["runs"].as_array().unwrap().len(), 2);
    }

    let off = profile(["--runs", "2", "--"].into_iter().chain(args));
    let ended = off.env("BREAKEVEN_RECORD", "off").run().quietly(0);
    assert_eq!(ended.json()["operations"].as_array().unwrap().len(), 1);
}

#[test]
fn ctrl_c_keeps_the_runs_so_far() {
    let directory = directory();
    let file = directory.path().join("p.json");
    let args = [
        "profile",
        "--runs",
        "1000",
        "-o",
        file.to_str().unwrap(),
        "--",
        "sleep",
        "0.0501",
    ];
    let child = breakeven(args).command.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1000));
    super::interrupt::signal("INT", child.id());
    let ended = ended(child);
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    assert_eq!(
        ended.stderr,
        "interrupted: the measurements so far are above\n"
    );
    let kept = breakeven_profile::file::read(&file).unwrap();
    let runs = kept.operations[0].runs.len();
    assert!(kept.interrupted && (1..25).contains(&runs), "{kept:#?}");
    wait_until("its end", || processes_with("0.0501").is_empty());
}

#[test]
fn results_are_compared_and_kept_in_a_history() {
    let directory = directory();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let measured = |file: &str, seconds: &str| {
        let args = [
            "--runs",
            "6",
            "-o",
            &path(file),
            "--cmd",
            "sleep $SECONDS_OF_IT",
        ];
        profile(args).env("SECONDS_OF_IT", seconds).run().quietly(0);
        path(file)
    };
    let (old, new) = (measured("old.json", "0.02"), measured("new.json", "0.25"));
    let gated = |old: &str, new: &str| breakeven(["compare", old, new, "--gate"]).run().code;
    assert_eq!((gated(&old, &new), gated(&new, &old)), (Some(1), Some(0)));
    let kept = ["history", "add", "--history", &path("h.db"), &new];
    assert_eq!(breakeven(kept).run().code, Some(0));
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_runs() {
    let refused = |args: &[&str]| profile(args.iter().copied()).run().refusal();
    for args in [
        &["--kernel", "conv2d", "--", "true"][..],
        &["--device", "cpu", "--cmd", "true"],
        &["--iterations", "3", "--", "true"],
        &["--strategy", "auto", "--", "true"],
        &["--scale", "2", "--", "true"],
        &["--energy", "--", "true"],
        &["--record-load", "--", "true"],
        &["--device-timeout", "9s", "--", "true"],
        &["--prepare", "true"],
        &["--cleanup", "true"],
        &["--input", "x"],
        &["--ignore-failure"],
        &["--time-limit", "1s"],
    ] {
        let said = refused(args);
        assert!(
            said.contains(args[0]) || said.contains("'--prepare"),
            "{said}"
        );
        assert!(said.contains("CMD"), "{said}");
    }
    assert!(refused(&["--cmd", "true", "--", "true"]).contains("cannot be used with"));
    let said = refused(&["--cmd", "true", "--cmd", "true"]);
    assert!(said.contains("\"true\" is given twice"), "{said}");
    assert!(refused(&["--cmd", "a 'b"]).contains("--cmd \"a 'b\": a quote is not closed"));
    assert!(refused(&["--prepare", "", "--", "true"]).contains("--prepare \"\": it is empty"));
    assert!(refused(&["--input", "/no/file", "--", "true"]).contains("--input /no/file"));
    let said = refused(&["--cmd", "true", "--cmd", "no-such-program x"]);
    assert!(said.contains("cannot run \"no-such-program x\""), "{said}");
}
