//! Job slots take the next input as soon as they are free, and there are no more threads than
//! there is work.

use std::fs;
use std::time::{Duration, Instant};

use super::{ended, fed, numbers, run, wait_until};
use crate::command::directory;
use crate::engine::interrupt::signal;

/// More inputs than a window of two slots and a GPU has.
const INPUTS: usize = 900;

#[test]
fn a_long_job_holds_up_none_of_those_behind_it() {
    for gpu in [false, true] {
        let directory = directory();
        let done = directory.path().join("done");
        // The first job ends when the last one was run.
        let cpu = format!(
            "case {{}} in 1) n=0; until test -e {0} -o $n = 600; do sleep 0.05; n=$((n+1)); done; \
             test -e {0};; {INPUTS}) : > {0};; esac",
            done.display()
        );
        let mut args = vec!["--jobs", "2"];
        if gpu {
            args.extend(["--gpu", &cpu]);
        }
        let ended = ended(fed(run(&cpu, args), &numbers(INPUTS)));
        assert_eq!(ended.code, Some(0), "gpu: {gpu}, {ended:#?}");
    }
}

#[test]
fn an_input_that_comes_late_waits_for_no_job() {
    use std::io::Write as _;
    let directory = directory();
    let done = directory.path().join("done");
    let cpu = format!(
        "case {{}} in 1) n=0; until test -e {0} -o $n = 600; do sleep 0.05; n=$((n+1)); done; \
         test -e {0};; 2) : > {0};; esac",
        done.display()
    );
    let mut command = run(&cpu, ["--jobs", "2"]);
    let mut child = command
        .command
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    writeln!(pipe, "1").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    writeln!(pipe, "2").unwrap();
    drop(pipe);
    let ended = ended(child);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
}

#[test]
fn there_are_no_more_threads_than_inputs_and_they_sleep() {
    let child = run("sleep 60.4321", ["--jobs", "4000", "0"])
        .command
        .spawn()
        .unwrap();
    let folder = format!("/proc/{}", child.id());
    let threads = || fs::read_dir(format!("{folder}/task")).map_or(0, Iterator::count);
    wait_until("its job", || super::processes_with("60.4321").len() > 1);
    std::thread::sleep(Duration::from_millis(300));
    let stat = fs::read_to_string(format!("{folder}/stat")).unwrap();
    let ticks = stat.split(' ').skip(13).take(2);
    let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    assert!(threads() < 20, "{} threads", threads());
    assert!(ticks < 50, "{ticks} hundredths of a second of CPU time");
    let start = Instant::now();
    signal("INT", child.id());
    assert_eq!(ended(child).code, Some(130));
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn more_slots_than_inputs_cost_nothing() {
    let ended = ended(fed(run("true", ["--jobs", "100000"]), &numbers(10)));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.took < Duration::from_secs(10), "{ended:#?}");
}

#[test]
fn as_many_slots_as_inputs_end_when_their_jobs_do() {
    for gpu in [None, Some("true")] {
        let gpu = gpu.map(|gpu| ["--gpu", gpu, "--gpu-slots", "2"]);
        let args = ["--jobs", "400"]
            .into_iter()
            .chain(gpu.into_iter().flatten());
        let mut child = fed(run("true", args), &numbers(400));
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        let ended = ended(child);
        assert_eq!(ended.code, Some(0), "gpu: {gpu:?}, {ended:#?}");
    }
}
