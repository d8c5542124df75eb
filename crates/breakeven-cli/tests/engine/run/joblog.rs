//! The joblog, and going on from it: ours, and with GNU parallel.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{ended, fed, lines, logged, numbers, run};
use crate::command::{Ended, directory, skipped};

/// Fails at 3 as long as there is no file `good`.
const CPU: &str = "test {} != 3 -o -e good && echo {}";

fn with_log(cpu: &str, log: &Path, args: &[&str], inputs: usize) -> Ended {
    let mut command = run(cpu, ["--jobs", "1"]).arg("--joblog").arg(log);
    command.command.current_dir(log.parent().unwrap());
    let command = args.iter().fold(command, |command, arg| command.arg(arg));
    ended(fed(command, &numbers(inputs)))
}

#[test]
fn a_line_for_each_job() {
    let directory = directory();
    let log = directory.path().join("log");
    let ended = with_log(CPU, &log, &[], 4);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let columns: Vec<Vec<String>> = lines(&log)
        .iter()
        .map(|line| {
            line.split('\t')
                .map(|field| field.trim().to_owned())
                .collect()
        })
        .collect();
    assert_eq!(logged(&log), [1, 2, 3, 4]);
    let third = &columns[3];
    let reported = |index: usize| third[index].as_str();
    assert_eq!(
        [1, 4, 5, 6, 7, 8].map(reported),
        [":", "0", "0", "1", "0", "test 3 != 3 -o -e good && echo 3"]
    );
    assert_eq!(columns[4][5], "2");
    assert!(third[2].parse::<f64>().unwrap() > 1.7e9);
}

#[test]
fn resume_leaves_out_what_has_ended() {
    let directory = directory();
    let log = directory.path().join("log");
    with_log(CPU, &log, &[], 4);
    let ended = with_log(CPU, &log, &["--resume"], 6);
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(1), "5\n6\n"),
        "{ended:#?}"
    );
    let left_out = "4 jobs of an earlier run skipped\n1 job failed in that run: --resume-failed";
    assert!(ended.stderr.contains(left_out), "{ended:#?}");
    fs::write(directory.path().join("good"), "").unwrap();
    let ended = with_log(CPU, &log, &["--resume-failed", "--keep-order"], 6);
    assert_eq!((ended.code, &*ended.stdout), (Some(0), "3\n"), "{ended:#?}");
    assert_eq!(logged(&log), [1, 2, 3, 4, 5, 6, 3]);
}

/// What a run with `--resume` of these inputs prints.
#[track_caller]
fn resumed(cpu: &str, log: &Path, args: &[&str], inputs: &[&str]) -> (String, String) {
    let args = [args, &["--resume", "--jobs", "1"], inputs].concat();
    let ended = run(cpu, args).arg("--joblog").arg(log).run();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    (ended.stdout, ended.stderr)
}

#[test]
fn resume_knows_jobs_by_their_command_lines_wherever_they_are_now() {
    let directory = directory();
    let log = directory.path().join("log");
    let resumed = |cpu: &str, inputs: &[&str]| resumed(cpu, &log, &[], inputs);
    assert_eq!(resumed("echo", &["a", "b", "c c", "a"]).0, "a\nb\nc c\na\n");
    let (printed, said) = resumed("echo", &["new", "b", "a", "c c", "a", "a"]);
    assert_eq!(printed, "new\na\n");
    assert!(said.contains("4 jobs of an earlier run skipped"), "{said}");
    assert!(!said.contains("of the joblog"), "{said}");
    let (printed, said) = resumed("echo -", &["a", "b"]);
    assert_eq!(printed, "- a\n- b\n");
    let unmatched = "6 jobs of the joblog: no command line of this run is the same";
    assert!(said.contains(unmatched), "{said}");
}

#[test]
fn resume_knows_jobs_of_any_slot_and_of_several_inputs() {
    let directory = directory();
    let log = directory.path().join("log");
    let gpu = [
        "--gpu",
        "echo {%} {}",
        "--gpu-batch",
        "4",
        "--strategy",
        "gpu-only",
    ];
    let inputs: Vec<String> = (1..=40).map(|number| number.to_string()).collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let cpu = "echo cpu {%} {}";
    let first = resumed(cpu, &log, &gpu, &inputs).0;
    assert!(first.lines().count() < inputs.len(), "{first}");
    assert_eq!(resumed(cpu, &log, &gpu, &inputs).0, "");
    assert_eq!(resumed(cpu, &log, &gpu, &["40", "new"]).0, "2 new\n");
}

#[test]
fn a_joblog_that_cannot_grow_ends_the_run_and_resume_goes_on() {
    let directory = directory();
    let log = directory.path().join("log");
    let mut command = Command::new("sh");
    // Blocks of 512 or 1 024 bytes: some jobs fit.
    command.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"]);
    command.arg(env!("CARGO_BIN_EXE_breakeven"));
    command.args(["run", "--cpu", "echo", "--jobs", "1", "--joblog"]);
    command
        .arg(&log)
        .args((1..=60).map(|number: u32| number.to_string()));
    command.env("BREAKEVEN_CACHE", "off");
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("or the joblog: File too large"), "{said}");
    let done = logged_whole(&log);
    assert!((1..60).contains(&done), "{done}");
    let ended = with_log("echo", &log, &["--resume"], 60);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(ended.stdout.lines().count(), 60 - done, "{ended:#?}");
    assert_eq!(logged(&log).len(), 60);
}

/// How many jobs have a line that was written whole.
fn logged_whole(log: &Path) -> usize {
    let text = fs::read(log).unwrap();
    text.iter().filter(|byte| **byte == b'\n').count() - 1
}

#[test]
fn a_line_that_was_torn_is_none() {
    let directory = directory();
    let log = directory.path().join("log");
    with_log("echo", &log, &[], 3);
    let text = fs::read(&log).unwrap();
    let second_ends = text.len()
        - text
            .split_inclusive(|byte| *byte == b'\n')
            .next_back()
            .unwrap()
            .len();
    for cut in [text.len() - 1, second_ends + 1, second_ends, 7, 0] {
        fs::write(&log, &text[..cut]).unwrap();
        let ended = with_log("echo", &log, &["--resume"], 3);
        let expected = if cut >= second_ends {
            "3\n"
        } else {
            "1\n2\n3\n"
        };
        assert_eq!(
            (ended.code, &*ended.stdout),
            (Some(0), expected),
            "{cut}: {ended:#?}"
        );
        assert_eq!(logged(&log), [1, 2, 3]);
    }
}

#[test]
fn gnu_parallel_goes_on_from_ours_and_we_from_its() {
    let is_gnu = |output: std::process::Output| output.stdout.starts_with(b"GNU parallel");
    if !Command::new("parallel")
        .arg("--version")
        .output()
        .is_ok_and(is_gnu)
    {
        return skipped("GNU parallel is not installed");
    }
    let directory = directory();
    let log = directory.path().join("log");
    let parallel = |inputs: &[&str]| {
        // As arguments they would be split at newlines.
        let list = directory.path().join("list");
        fs::write(&list, inputs.join("\0")).unwrap();
        let mut command = Command::new("parallel");
        command
            .args(["--will-cite", "-0", "-k", "--resume", "--joblog"])
            .arg(&log);
        let output = command
            .arg("-a")
            .arg(list)
            .arg("echo")
            .env("HOME", directory.path())
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let ours = |inputs: &[&str]| {
        let command = run("echo", ["--keep-order", "--resume"])
            .arg("--joblog")
            .arg(&log);
        let ended = inputs
            .iter()
            .fold(command, |command, input| command.arg(input))
            .run();
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        ended.stdout
    };
    assert_eq!(ours(&["a b", "c\nd"]), "a b\nc\nd\n");
    assert_eq!(parallel(&["a b", "c\nd", "it's", "f"]), "it's\nf\n");
    assert_eq!(ours(&["a b", "c\nd", "it's", "f", "g"]), "g\n");
    assert_eq!(parallel(&["a b", "c\nd", "it's", "f", "g"]), "");
    let mut logged = logged(&log);
    logged.sort_unstable();
    assert_eq!(logged, [1, 2, 3, 4, 5]);
}

#[test]
fn two_runs_do_not_share_a_joblog() {
    let directory = directory();
    let log = directory.path().join("log");
    let mut first = run("sleep 20", ["0"])
        .arg("--joblog")
        .arg(&log)
        .command
        .spawn()
        .unwrap();
    super::wait_until("the joblog", || log.exists() && !lines(&log).is_empty());
    let said = run("sleep", ["--resume", "0"])
        .arg("--joblog")
        .arg(&log)
        .run()
        .refusal();
    assert!(said.contains("is in use by another run"), "{said}");
    crate::engine::interrupt::signal("INT", first.id());
    assert_eq!(first.wait().unwrap().code(), Some(130));
}
