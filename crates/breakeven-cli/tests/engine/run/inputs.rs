//! What jobs get: inputs of any bytes, in any number, from anywhere.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::{ended, fed, numbers, run};
use crate::command::directory;

const NASTY: [&[u8]; 10] = [
    b"a b",
    b"-rf",
    b"--help",
    b"it's \"so\"",
    b"$(exit 9)`exit 9`; exit 9 & | > <",
    b"new\nline",
    b"*?[a-z]~{}{.}",
    b"back\\slash\\",
    b"\xff\xfe invalid \x81",
    b"",
];

#[test]
fn names_arrive_unharmed_without_a_shell_and_with_one() {
    let all: Vec<u8> = NASTY
        .iter()
        .flat_map(|input| [*input, b"\0"].concat())
        .collect();
    let expected: Vec<u8> = NASTY
        .iter()
        .flat_map(|input| [b"[", *input, b"]"].concat())
        .collect();
    for cpu in [
        "printf [%s] {}",
        "printf '[%s]' {} | cat",
        "x={}; printf '[%s]' \"$x\"",
    ] {
        let mut child = fed(run(cpu, ["-0", "--keep-order"]), &all);
        let mut stdout = Vec::new();
        let mut pipe = child.stdout.take().unwrap();
        std::io::Read::read_to_end(&mut pipe, &mut stdout).unwrap();
        assert!(child.wait().unwrap().success(), "{cpu}");
        assert_eq!(
            stdout,
            expected,
            "{cpu}: {}",
            String::from_utf8_lossy(&stdout)
        );
    }
}

#[test]
fn arguments_and_lists_are_inputs_too() {
    let mut command = run("printf '%s.'", ["--keep-order", "--"]);
    for input in [&b"-a"[..], b"--cpu", b"\xff"] {
        command = command.arg(OsStr::from_bytes(input));
    }
    let output = command.command.output().unwrap();
    assert_eq!(output.stdout, b"-a.--cpu.\xff.");
    let directory = directory();
    let list = directory.path().join("list");
    std::fs::write(&list, "a b\nc").unwrap();
    let of_list = |args: &[&str]| {
        let command = run("printf '%s.'", ["--keep-order"]).arg("-a").arg(&list);
        let ended = args
            .iter()
            .fold(command, |command, arg| command.arg(arg))
            .run();
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        ended.stdout
    };
    assert_eq!(of_list(&[]), "a b.c.");
    assert_eq!(of_list(&["-0"]), "a b\nc.");
}

#[test]
fn placeholders_slots_and_devices_are_reported() {
    let cpu = "printf '%s|%s|%s|%s|%s|%s|%s|%s\\n' {} {.} {/} {//} {/.} {#} $BREAKEVEN_DEVICE \
        \"$BREAKEVEN_SLOT-{%}\"";
    let ended = run(cpu, ["--jobs", "1", "a/b.c", "d"]).run();
    assert_eq!(
        ended.stdout,
        "a/b.c|a/b|b.c|a|b|1|cpu|1-1\nd|d|d|.|d|2|cpu|1-1\n"
    );
}

#[test]
fn an_input_without_end_is_refused_and_costs_no_memory() {
    let ended = run("true", ["-a", "/dev/zero"]).run();
    let said = "error: input 1 is longer than 2 MiB, which no argument can be\n";
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.ends_with(said), "{ended:#?}");
}

#[test]
fn no_input_is_no_job() {
    let ended = ended(fed(run("false", []), b""));
    assert_eq!((ended.code, &*ended.stdout), (Some(0), ""), "{ended:#?}");
}

#[test]
fn inputs_come_in_windows_and_jobs_begin_in_their_order() {
    let ended = ended(fed(run("echo", ["--jobs", "1"]), &numbers(1500)));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(ended.stdout.into_bytes(), numbers(1500));
}

#[test]
fn a_dry_run_prints_what_a_shell_would_run() {
    let all: Vec<u8> = NASTY
        .iter()
        .flat_map(|input| [*input, b"\0"].concat())
        .collect();
    let child = fed(run("printf '[%s]' {} | cat", ["-0", "--dry-run"]), &all);
    let output = child.wait_with_output().unwrap();
    let mut shell = std::process::Command::new("sh");
    let done = shell
        .arg("-c")
        .arg(OsStr::from_bytes(&output.stdout))
        .output()
        .unwrap();
    let expected: Vec<u8> = NASTY
        .iter()
        .flat_map(|input| [b"[", *input, b"]"].concat())
        .collect();
    assert_eq!(
        done.stdout,
        expected,
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let of_gpu = [
        "--gpu",
        "b {}",
        "--gpu-batch",
        "2",
        "--strategy",
        "gpu-only",
        "--dry-run",
    ];
    let ended = run("a {}", of_gpu.into_iter().chain(["1", "2 x", "3"])).run();
    assert_eq!(ended.quietly(0).stdout, "b 1 '2 x'\nb 3\n");
}
