//! What jobs write, and how they end.

use std::io::Read as _;
use std::time::Duration;

use super::{ended, fed, numbers, run};

#[test]
fn jobs_do_not_mix_what_they_write() {
    // Each writes many times, for a while, on both.
    let cpu = "for i in 1 2 3 4 5 6 7 8; do printf '{}-'; printf '{}=' >&2; sleep 0.002; done; \
        echo; echo >&2";
    let ended = ended(fed(run(cpu, ["--jobs", "8"]), &numbers(64)));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let mut found: Vec<&str> = ended.stdout.lines().collect();
    let mut expected: Vec<String> = (1..=64).map(|job| format!("{job}-").repeat(8)).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    let of_jobs = ended
        .stderr
        .lines()
        .filter(|line| line.ends_with('='))
        .count();
    assert_eq!(of_jobs, 64, "{ended:#?}");
}

#[test]
fn keep_order_is_the_order_of_inputs() {
    // The first of each eight is the last to end.
    let cpu = "sleep 0.$((80 - 10 * (n % 8))); echo {}; echo \"e {}\" >&2";
    let cpu = format!("n={{#}}; {cpu}");
    let ended = ended(fed(
        run(&cpu, ["--jobs", "8", "--keep-order"]),
        &numbers(48),
    ));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(ended.stdout.into_bytes(), numbers(48));
    let errors: Vec<&str> = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("e "))
        .collect();
    let expected: Vec<String> = (1..=48).map(|job| format!("e {job}")).collect();
    assert_eq!(errors, expected);
}

#[test]
fn a_failed_job_is_reported_and_the_others_run() {
    let ended = run("test {} -ne 2 && echo {}", ["--jobs", "1", "1", "2", "3"]).run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(ended.stdout, "1\n3\n");
    let said: Vec<&str> = ended.stderr.lines().skip(1).collect();
    assert_eq!(said, ["1 job failed:", "  2 \"2\": exit status 1"]);
    let ended = run("kill -9 $$", ["a"]).run();
    assert!(ended.stderr.contains("  1 \"a\": signal 9\n"), "{ended:#?}");
    let ended = run("/proc/nonexistent/program", ["a"]).run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(
        ended
            .stderr
            .contains("1 \"a\": not started: /proc/nonexistent/program: "),
        "{ended:#?}"
    );
}

#[test]
fn a_job_that_takes_too_long_is_ended_with_all_that_it_started() {
    // The first sleep ends when it is asked to, the second one only by force.
    let cpu = "sleep {} & trap '' TERM; wait; sleep {}";
    let ended = run(cpu, ["--timeout", "300ms", "0.01", "600.9876"]).run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.took < Duration::from_secs(30), "{ended:#?}");
    assert!(ended.stderr.contains("over its time limit"), "{ended:#?}");
    super::wait_until("the end of all", || {
        super::processes_with("600.9876").is_empty()
    });
}

#[test]
fn retries_run_a_failed_command_again() {
    let directory = crate::command::directory();
    let counter = directory.path().join("tries");
    let cpu = format!(
        "echo x >> {}; test $(wc -l < {0}) -ge {{}}",
        counter.display()
    );
    let ended = run(&cpu, ["--retries", "2", "3"]).run();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(
        ended
            .stderr
            .contains("failed commands were retried 2 times"),
        "{ended:#?}"
    );
    assert_eq!(super::lines(&counter).len(), 3);
    let ended = run("false", ["--retries", "2", "3"]).run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
}

#[test]
fn halt_soon_lets_jobs_end_and_halt_now_ends_them() {
    // Of two jobs at once the first one fails while the second one runs.
    let cpu = "if test {} = 1; then sleep 0.2; exit 3; fi; sleep 0.5; echo {}";
    for (halt, expected) in [("never", "2\n3\n4\n"), ("soon", "2\n"), ("now", "")] {
        let args = [
            "--jobs",
            "2",
            "--keep-order",
            "--halt",
            halt,
            "1",
            "2",
            "3",
            "4",
        ];
        let ended = run(cpu, args).run();
        assert_eq!(ended.code, Some(1), "{halt}: {ended:#?}");
        assert_eq!(ended.stdout, expected, "{halt}: {ended:#?}");
    }
}

#[test]
fn a_reader_that_has_enough_ends_it_quietly() {
    let mut child = fed(
        run("echo {}; sleep 0.01", ["--jobs", "2"]),
        &numbers(100_000),
    );
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 2]).unwrap();
    drop(stdout);
    let ended = ended(child);
    assert_eq!(ended.code, Some(141), "{ended:#?}");
    assert!(!ended.stderr.contains("error"), "{ended:#?}");
}

#[test]
fn an_output_that_takes_nothing_ends_the_run() {
    let full = std::fs::File::options().write(true).open("/dev/full");
    let Ok(full) = full else {
        return crate::command::skipped("there is no /dev/full");
    };
    let mut command = run("echo", ["--jobs", "1", "a", "b", "c"]);
    command.command.stdout(full);
    let ended = command.run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(
        ended.stderr.contains("cannot write the output of jobs"),
        "{ended:#?}"
    );
}

#[test]
fn quiet_is_quiet_until_something_fails() {
    let said = |cpu, args: &[&str]| run(cpu, args.iter().copied()).run().stderr;
    assert_eq!(said("true", &["--quiet", "a"]), "");
    let failed = said("false", &["--quiet", "a"]);
    assert!(failed.contains("1 job failed:"), "{failed}");
}
