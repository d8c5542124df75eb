//! Commands with a form for a GPU: where jobs run, and what becomes of those that fail there.

use std::time::Duration;

use super::{ended, fed, lines, logged, numbers, run};
use crate::command::directory;

/// What both commands print, in order.
const CPU: &str = "echo cpu {}";

fn gpu_only<'a>(gpu: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    [
        &["--gpu", gpu, "--strategy", "gpu-only", "--keep-order"],
        args,
    ]
    .concat()
}

#[test]
fn jobs_that_fail_on_a_gpu_run_on_the_cpu_and_are_counted() {
    let gpu = "echo gpu {}; echo 'no memory' >&2; test {} != 3 && test {} != 6";
    let ended = ended(fed(run(CPU, gpu_only(gpu, &[])), &numbers(8)));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let expected = "gpu 1\ngpu 2\ncpu 3\ngpu 4\ngpu 5\ncpu 6\ngpu 7\ngpu 8\n";
    assert_eq!(ended.stdout, expected);
    assert!(
        ended
            .stderr
            .contains("2 jobs went from a GPU to the CPU: exit status 1 (2: no memory)"),
        "{ended:#?}"
    );
    assert!(ended.stderr.contains("2 on cpu, 6 on gpu:0"), "{ended:#?}");
}

#[test]
fn a_gpu_command_that_takes_too_long_costs_its_job_not_the_device() {
    let gpu = "echo gpu {}; if test {} = 2; then sleep 60; fi";
    let ended = run(
        CPU,
        gpu_only(gpu, &["--timeout", "500ms", "1", "2", "3", "4"]),
    )
    .run();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(ended.stdout, "gpu 1\ncpu 2\ngpu 3\ngpu 4\n");
    assert!(
        ended.stderr.contains("over its time limit (1)"),
        "{ended:#?}"
    );
    assert!(ended.took < Duration::from_secs(30), "{ended:#?}");
}

#[test]
fn a_gpu_command_that_always_fails_is_soon_left_alone() {
    let directory = directory();
    let tries = directory.path().join("tries");
    let gpu = format!("echo {{}} >> {}; false", tries.display());
    let child = fed(run(CPU, ["--gpu", &gpu, "--keep-order"]), &numbers(100));
    let ended = ended(child);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(ended.stdout.lines().count(), 100);
    // Three, and one for each second that a loaded machine takes.
    let count = lines(&tries).len();
    assert!((3..20).contains(&count), "{count} tries: {ended:#?}");
    let args = ["--gpu", "/proc/nonexistent/program", "1", "2"];
    let ended = run("sleep 0.5; echo {}", args).run();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(ended.stdout.lines().count(), 2);
    assert!(
        ended
            .stderr
            .contains("not started: /proc/nonexistent/program"),
        "{ended:#?}"
    );
}

#[test]
fn several_inputs_of_one_command_are_jobs_of_their_own() {
    let directory = directory();
    let log = directory.path().join("log");
    let gpu = "echo gpu {}; for n in {}; do test $n != 7 || exit 1; done";
    let args = ["--gpu-batch", "3", "--joblog", log.to_str().unwrap()];
    let ended = ended(fed(run(CPU, gpu_only(gpu, &args)), &numbers(40)));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let (mut most, mut all) = (0, Vec::new());
    for line in ended.stdout.lines() {
        let (device, inputs) = line.split_once(' ').unwrap();
        let inputs: Vec<u64> = inputs
            .split(' ')
            .map(|input| input.parse().unwrap())
            .collect();
        assert!(device == "gpu" || inputs.len() == 1, "{line}");
        most = most.max(inputs.len());
        all.extend(inputs);
    }
    assert!(ended.stdout.contains("cpu 7\n"), "{ended:#?}");
    assert_eq!((most, all), (3, (1..=40).collect::<Vec<_>>()), "{ended:#?}");
    let mut logged = logged(&log);
    logged.sort_unstable();
    assert_eq!(logged, (1..=40).collect::<Vec<_>>());
}

#[test]
fn each_slot_sees_its_device() {
    let gpu = "echo $BREAKEVEN_DEVICE $BREAKEVEN_SLOT {%} $CUDA_VISIBLE_DEVICES \
        $HIP_VISIBLE_DEVICES $ZE_AFFINITY_MASK {}; sleep 0.1";
    let args = gpu_only(gpu, &["--jobs", "2", "--gpu-slots", "2"]);
    let command = run(CPU, args).env("CUDA_VISIBLE_DEVICES", "5,GPU-7");
    let ended = ended(fed(command, &numbers(8)));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let seen = |slot: &str| {
        ended
            .stdout
            .lines()
            .filter(|line| line.starts_with(slot))
            .count()
    };
    let (first, second) = (seen("gpu:0 3 3 5 0 0 "), seen("gpu:1 4 4 GPU-7 1 1 "));
    assert!(first > 0 && second > 0 && first + second == 8, "{ended:#?}");
}

#[test]
fn both_commands_run_at_once_and_the_faster_one_has_more() {
    let args = ["--gpu", "sleep 0.01; echo gpu {}", "--jobs", "1"];
    let ended = ended(fed(run("sleep 0.2; echo cpu {}", args), &numbers(60)));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let on = |device: &str| {
        ended
            .stdout
            .lines()
            .filter(|line| line.starts_with(device))
            .count()
    };
    assert_eq!(on("cpu") + on("gpu"), 60, "{ended:#?}");
    assert!(on("gpu") > 2 * on("cpu") && on("cpu") > 0, "{ended:#?}");
}

#[test]
fn a_gpu_command_that_hangs_does_not_hold_up_the_end() {
    let args = ["--gpu", "sleep 600.3141", "--jobs", "2"];
    let ended = ended(fed(run("sleep 0.02; echo {}", args), &numbers(40)));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(ended.stdout.lines().count(), 40);
    assert!(
        ended
            .stderr
            .contains("1 job taken back from a GPU that took too long"),
        "{ended:#?}"
    );
    assert!(super::processes_with("600.3141").is_empty());
}
