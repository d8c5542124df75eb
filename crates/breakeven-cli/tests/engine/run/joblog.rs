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
    let told = |index: usize| third[index].as_str();
    assert_eq!(
        [1, 4, 5, 6, 7, 8].map(told),
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
        (Some(0), "5\n6\n"),
        "{ended:#?}"
    );
    assert!(
        ended.stderr.contains("4 jobs of an earlier run left out"),
        "{ended:#?}"
    );
    fs::write(directory.path().join("good"), "").unwrap();
    let ended = with_log(CPU, &log, &["--resume-failed", "--keep-order"], 6);
    assert_eq!((ended.code, &*ended.stdout), (Some(0), "3\n"), "{ended:#?}");
    assert_eq!(logged(&log), [1, 2, 3, 4, 5, 6, 3]);
    // Without it all begins anew.
    let ended = with_log(CPU, &log, &[], 2);
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(0), "1\n2\n"),
        "{ended:#?}"
    );
    assert_eq!(logged(&log), [1, 2]);
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
