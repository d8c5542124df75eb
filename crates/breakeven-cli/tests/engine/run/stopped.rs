//! Runs that are stopped at any moment, by Ctrl-C or for good, go on where they were: no job
//! is lost, none is repeated that had ended, and none runs twice at once.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use super::{ended, fed, lines, logged, numbers, processes_with, run, wait_until};
use crate::command::{Breakeven, directory};
use crate::engine::interrupt::signal;

/// Jobs of a run.
const JOBS: usize = 120;

/// Jobs that run at once, on either device.
const AT_ONCE: usize = 3;

struct Stopped {
    directory: tempfile::TempDir,
    mark: &'static str,
}

impl Stopped {
    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    /// Each job adds its number to a file when it ends.
    fn command(&self, args: &[&str]) -> Breakeven {
        let ends = self.path("ends");
        let job = |device: &str| {
            let (mark, ends) = (self.mark, ends.display());
            format!(": {device} {mark}; sleep 0.03; echo {{}} >> {ends}; echo out {{}}")
        };
        let gpu = job("gpu");
        let args = [&["--gpu", &gpu, "--jobs", "2", "--resume"], args].concat();
        run(&job("cpu"), args).arg("--joblog").arg(self.path("log"))
    }

    fn started(&self, args: &[&str]) -> Child {
        fed(self.command(args), &numbers(JOBS))
    }

    /// Runs what is left and looks whether all is there; what it printed.
    #[track_caller]
    fn finish(&self, args: &[&str], stops: usize) -> String {
        let ended = ended(self.started(args));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let mut log = logged(&self.path("log"));
        log.sort_unstable();
        assert_eq!(log, (1..=JOBS as u64).collect::<Vec<_>>());
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for job in lines(&self.path("ends")) {
            *times.entry(job).or_default() += 1;
        }
        assert_eq!(times.len(), JOBS, "{times:?}");
        let twice: usize = times.values().map(|times| times - 1).sum();
        assert!(
            twice <= stops * AT_ONCE,
            "{twice} jobs twice after {stops} stops: {times:?}"
        );
        assert!(processes_with(self.mark).is_empty());
        ended.stdout
    }
}

fn new(mark: &'static str) -> Stopped {
    let directory = directory();
    Stopped { directory, mark }
}

/// The numbers of what jobs printed, in their order.
fn printed(text: &str) -> Vec<usize> {
    let number = |line: &str| line.strip_prefix("out ")?.parse().ok();
    text.lines()
        .map(|line| number(line).expect("whole lines"))
        .collect()
}

/// Something later each time.
fn wait_for_ends(path: &Path, count: usize) {
    wait_until("jobs that end", || lines(path).len() >= count);
}

#[test]
fn ctrl_c_ends_the_jobs_and_resume_goes_on() {
    let stopped = new("mark-ctrl-c");
    let mut all = Vec::new();
    for (stop, name) in ["INT", "TERM", "INT"].into_iter().enumerate() {
        let child = stopped.started(&[]);
        wait_for_ends(&stopped.path("ends"), 20 * (stop + 1));
        signal(name, child.id());
        let ended = ended(child);
        assert_eq!(ended.code, Some(130), "{ended:#?}");
        assert!(
            ended
                .stderr
                .ends_with("interrupted: --resume goes on from here\n"),
            "{ended:#?}"
        );
        assert!(processes_with(stopped.mark).is_empty(), "{ended:#?}");
        all.extend(printed(&ended.stdout));
    }
    all.extend(printed(&stopped.finish(&[], 3)));
    all.sort_unstable();
    assert_eq!(
        all,
        (1..=JOBS).collect::<Vec<_>>(),
        "what was logged was printed, once"
    );
}

#[test]
fn after_kill_9_resume_goes_on_once_the_jobs_have_ended() {
    let stopped = new("mark-kill-9");
    let mut random = 12_345_u64;
    let stops = 6;
    for stop in 0..stops {
        let mut child = stopped.started(&[]);
        // Sometimes before the first job, sometimes in the middle of one.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        if stop > 0 {
            wait_for_ends(&stopped.path("ends"), 12 * stop);
        }
        std::thread::sleep(Duration::from_micros(random >> 49));
        signal("KILL", child.id());
        child.wait().unwrap();
        if stop % 2 == 0 {
            wait_until("the end of the jobs", || {
                processes_with(stopped.mark).is_empty()
            });
        }
        // Else the next one begins at once, and waits for that itself.
    }
    stopped.finish(&[], stops);
}

#[test]
fn kill_9_keeps_the_order_of_what_was_held_back() {
    let stopped = new("mark-held");
    // The first job is the last one to end, so that others are held back.
    let slow = |args: &[&str]| {
        let ends = stopped.path("ends");
        let job = format!(
            ": {}; if test {{}} = 1 -a ! -e {1}.go; then exec sleep 600.1357; fi; echo {{}} >> {1}; echo out {{}}",
            stopped.mark,
            ends.display()
        );
        let args = [&["--jobs", "3", "--keep-order", "--resume"], args].concat();
        fed(
            run(&job, args).arg("--joblog").arg(stopped.path("log")),
            &numbers(JOBS),
        )
    };
    let child = slow(&[]);
    wait_for_ends(&stopped.path("ends"), 10);
    signal("KILL", child.id());
    assert_eq!(ended(child).stdout, "");
    let refused = ended(slow(&[]));
    assert!(
        refused
            .stderr
            .contains("or by a job of one that was killed"),
        "{refused:#?}"
    );
    for process in processes_with("600.1357") {
        signal("KILL", process);
    }
    std::fs::write(format!("{}.go", stopped.path("ends").display()), "").unwrap();
    let ended = ended(slow(&[]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(printed(&ended.stdout), (1..=JOBS).collect::<Vec<_>>());
}

#[test]
fn ctrl_c_ends_a_run_whose_output_nobody_reads() {
    let child = fed(
        run("yes {} | head -c 200000", ["--jobs", "2"]),
        &numbers(1000),
    );
    std::thread::sleep(Duration::from_millis(500));
    signal("INT", child.id());
    let mut child = child;
    let start = std::time::Instant::now();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn what_waits_for_an_interrupted_job_is_printed_and_not_repeated() {
    let directory = directory();
    let log = directory.path().join("log");
    let ends = directory.path().join("ends");
    let begun = |inputs: &[&str]| {
        let args = [&["--jobs", "2", "--keep-order", "--resume"], inputs].concat();
        let ends = ends.display();
        let cpu =
            format!("if test {{}} = slow; then sleep 600.27; fi; echo out {{}}; echo >> {ends}");
        run(&cpu, args).arg("--joblog").arg(&log)
    };
    let child = begun(&["slow", "a", "b"]).command.spawn().unwrap();
    wait_for_ends(&ends, 2);
    std::thread::sleep(Duration::from_millis(200));
    signal("INT", child.id());
    assert_eq!(ended(child).stdout, "out a\nout b\n");
    let child = begun(&["new", "a", "b"]).command.spawn().unwrap();
    assert_eq!(ended(child).stdout, "out new\n");
}
