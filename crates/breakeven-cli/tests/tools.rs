//! Two sides of files as people's tools write them: what the gate says of them.

use std::fs;

use crate::command::{Ended, directory, line};

/// Compares five files a side; each function makes a file of a run's noise, a factor.
fn gate(
    end: &str,
    old: &dyn Fn(f64) -> String,
    new: &dyn Fn(f64) -> String,
    options: &str,
) -> Ended {
    let directory = directory();
    let mut command = line("compare --gate").args(options);
    for (side, text) in [("baseline", old), ("current", new)] {
        command = command.arg(format!("--{side}"));
        for (run, noise) in [0.996, 0.998, 1.0, 1.002, 1.004].into_iter().enumerate() {
            let name = format!("{side}{run}.{end}");
            fs::write(directory.path().join(&name), text(noise)).unwrap();
            command = command.arg(name);
        }
    }
    command.command.current_dir(&directory);
    command.run()
}

fn go(package: &str, name: &str, ns: f64) -> String {
    format!(
        "goos: linux\ngoarch: amd64\npkg: example.com/{package}\n{name} \t 100\t {ns} ns/op\nPASS\n\
         ok  \texample.com/{package}\t1s\n"
    )
}

#[test]
fn a_command_whose_executions_all_failed_is_no_improvement() {
    let file = |seconds: f64, code: &str| {
        format!(
            r#"{{"results": [{{"command": "make", "times": [{seconds}, {seconds}], "exit_codes": [{code}, {code}]}}]}}"#
        )
    };
    for code in ["2", "null"] {
        let ended = gate(
            "json",
            &|noise| file(noise, "0"),
            &|noise| file(noise / 40.0, code),
            "",
        );
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert!(!ended.stdout.contains("IMPROVEMENT"), "{}", ended.stdout);
    }
}

#[test]
fn of_two_families_of_one_name_the_slower_one_fails_the_gate() {
    let file = |noise: f64, factor: f64| {
        let row = |family: u32, ns: f64| {
            format!(
                r#"{{"name": "map", "run_type": "iteration", "family_index": {family}, "per_family_instance_index": 0, "real_time": {}}}"#,
                ns * noise
            )
        };
        let (large, small) = (row(0, 2e5), row(1, 50.0 * factor));
        format!(r#"{{"context": {{"num_cpus": 8}}, "benchmarks": [{large}, {small}]}}"#)
    };
    let ended = gate(
        "json",
        &|noise| file(noise, 1.0),
        &|noise| file(noise, 2.0),
        "",
    );
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.said().contains("map #2"), "{}", ended.stdout);
}

#[test]
fn what_is_on_both_sides_is_compared_whatever_else_one_of_them_holds() {
    let old =
        |noise| go("a", "BenchmarkA-8", 1000.0 * noise) + &go("b", "BenchmarkB-8", 2000.0 * noise);
    let new = |noise| go("a", "BenchmarkA-8", 1500.0 * noise);
    let ended = gate("txt", &old, &new, "--allow-missing");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("+50"), "{}", ended.stdout);
}

#[test]
fn a_package_that_panicked_or_ran_out_of_time_fails_the_gate() {
    let old = |noise| go("p", "BenchmarkA-8", 1000.0 * noise);
    let cut = |noise: f64, end: &str| {
        let whole = old(noise);
        let (measured, _) = whole.split_once("PASS").unwrap();
        format!("{measured}{end}exit status 2\nFAIL\texample.com/p\t18.1s\nFAIL\n")
    };
    let ends = [
        "panic: runtime error: index out of range\n\ngoroutine 1 [running]:\n",
        "BenchmarkC-8   \tpanic: test timed out after 30m0s\nrunning tests:\n\tBenchmarkC (29m50s)\n\n",
    ];
    for end in ends {
        let ended = gate("txt", &old, &|noise| cut(noise, end), "");
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert!(ended.stdout.contains("1 unchanged"), "{}", ended.stdout);
    }
}

#[test]
fn memory_of_go_is_judged() {
    let file = |noise: f64, bytes: u32| {
        let text = go("p", "BenchmarkA-8", 1456.0 * noise);
        text.replace("ns/op", &format!("ns/op\t {bytes} B/op\t 2 allocs/op"))
    };
    for options in ["--strict", "--metric memory"] {
        let ended = gate(
            "txt",
            &|noise| file(noise, 64),
            &|noise| file(noise, 6400),
            options,
        );
        assert_eq!(ended.code, Some(1), "{options}: {ended:#?}");
    }
}

/// Nothing was on both sides, so the gate ended as wrong use, without a report.
#[test]
fn a_package_that_failed_before_its_first_result_fails_the_gate() {
    let old = |noise| go("a", "BenchmarkA-8", 1000.0 * noise);
    let new = |_| {
        "goos: linux\npkg: example.com/a\npanic: oops\n\ngoroutine 1 [running]:\nexit status 2\n\
         FAIL\texample.com/a\t0.1s\n"
            .to_owned()
    };
    let ended = gate("txt", &old, &new, "--format junit");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("example.com/a"), "{}", ended.stdout);
    let both = gate("txt", &new, &new, "");
    assert_eq!(both.code, Some(1), "{both:#?}");
    assert!(both.stdout.contains("failed"), "{}", both.stdout);
}
