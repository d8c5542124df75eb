//! Wrong use is refused with what to do, before anything runs.

use std::fs;

use super::run;
use crate::command::{breakeven, directory};

#[test]
fn commands_that_cannot_be_run_are_refused() {
    let said = |cpu: &str, args: &[&str]| run(cpu, args.iter().copied()).run().refusal();
    insta::assert_snapshot!([
        said("", &["a"]),
        said("echo 'a", &["a"]),
        said("echo", &["--gpu", "echo `ls {}`", "a"]),
        said("echo", &["--timeout", "0s", "a"]),
        said("echo", &["--jobs", "0", "a"]),
        said("echo", &["--resume", "a"]),
        said("echo", &["--gpu-batch", "2", "a"]),
        said("echo", &["--strategy", "gpu-only", "a"]),
        said("echo", &["-a", "/proc/nonexistent/list"]),
        said("echo", &["-a", "/"]),
    ].concat(), @r#"
    error: --cpu "": it is empty: give a program and its arguments
    error: --cpu "echo 'a": a quote is not closed
    error: --gpu "echo `ls {}`": a placeholder is within `…`; write $(…) in its place
    error: invalid value '0s' for '--timeout <T>': give a time above 0

    For more information, try '--help'.
    error: invalid value '0' for '--jobs <N>': give a whole number, 1 or more

    For more information, try '--help'.
    error: the following required arguments were not provided:
      --joblog <FILE>

    Usage: breakeven run --cpu <CMD> --joblog <FILE> --resume <INPUT>...

    For more information, try '--help'.
    error: the following required arguments were not provided:
      --gpu <CMD>

    Usage: breakeven run --cpu <CMD> --gpu <CMD> --gpu-batch <N> <INPUT>...

    For more information, try '--help'.
    error: --strategy gpu-only: give the GPU's command with --gpu
    error: cannot read the inputs of /proc/nonexistent/list: No such file or directory (os error 2)
    error: cannot read the inputs of /: is a directory
    "#);
    let said = breakeven(["run", "a"]).run().refusal();
    assert!(said.contains("--cpu <CMD>"), "{said}");
}

#[test]
fn a_file_that_is_no_joblog_stays_as_it_is() {
    let directory = directory();
    let file = directory.path().join("file");
    let said = |text: &str, args: &[&str]| {
        fs::write(&file, text).unwrap();
        let command = run("echo", args.iter().copied()).arg("--joblog").arg(&file);
        let said = command.arg("a").run().refusal();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        said.replace(file.to_str().unwrap(), "FILE")
    };
    let header = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";
    let line = "1\t:\t1.0\t0.1\t0\t0\t0\t0\tgzip a\n";
    insta::assert_snapshot!([
        said("my only thesis\n", &[]),
        said("my only thesis", &["--resume"]),
        said(&format!("{header}not a line\n"), &["--resume"]),
        said(&format!("{header}{line}"), &["--resume"]),
    ].concat(), @r#"
    error: FILE is not a joblog: its line 1 is not a joblog's; name another file
    error: FILE is not a joblog: its line 1 is not a joblog's; name another file
    error: FILE is not a joblog: its line 2 is not a joblog's; name another file
    error: the joblog FILE is of other commands: its line 2 is of "gzip"; name the joblog of these commands, or leave --resume out
    "#);
    let folder = directory.path().to_str().unwrap();
    let said = run("echo", ["--joblog", folder, "a"]).run().refusal();
    assert!(said.contains("cannot use the joblog"), "{said}");
}

#[test]
fn an_input_that_no_argument_can_be_ends_with_what_was_run() {
    let ended = super::ended(super::fed(run("echo", ["--jobs", "1"]), b"a\nb\0c\nd\n"));
    assert_eq!((ended.code, &*ended.stdout), (Some(2), "a\n"), "{ended:#?}");
    let error = "error: no command can have input 2 as its argument: it has a NUL byte; `-0` reads \
        inputs that end with one\n";
    assert!(ended.stderr.ends_with(error), "{ended:#?}");
}
