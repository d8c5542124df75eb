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
        said("echo", &[":::", "a"]),
        said("echo {1} x{2/.}", &["a"]),
    ].concat(), @r#"
    error: --cpu "": it is empty: give a program and its arguments
    error: --cpu "echo 'a": a quote is not closed
    error: --gpu "echo `ls {}`": a placeholder cannot be within `…` or $((…)), nor in or behind a here-document (<<); write $(…), or assign it to a variable before, as in n={#}
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
    error: ":::" is GNU parallel's: give the inputs alone, as in `breakeven run --cpu 'CMD {}' a b c`; there is one list of inputs, so combine several lists before
    error: --cpu "echo {1} x{2/.}": GNU parallel's {1}, {+}, {..} and {= =} are not known: here are {}, {.}, {/}, {//}, {/.}, {#} and {%}, of one list of inputs; quote other braces, or write `\{`
    "#);
    // A regular expression's, and what is no placeholder.
    for literal in ["grep -qE '^a{3}$' - {}", "test {} = \\{1}"] {
        let ended = run(literal, ["a"]).run();
        assert_eq!(ended.code, Some(1), "{ended:#?}");
    }
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
    insta::assert_snapshot!([
        said("my only thesis\n", &[]),
        said("my only thesis", &["--resume"]),
        said(&format!("{header}not a line\n"), &["--resume"]),
    ].concat(), @r#"
    error: FILE is not a joblog: its line 1 is not a joblog's; name another file
    error: FILE is not a joblog: its line 1 is not a joblog's; name another file
    error: FILE is not a joblog: its line 2 is not a joblog's; name another file
    "#);
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for path in [directory.path(), &pipe, std::path::Path::new("/dev/full")] {
        for resume in [&[][..], &["--resume"]] {
            let command = run("echo", resume.iter().copied())
                .arg("--joblog")
                .arg(path);
            let said = command.arg("a").run().refusal();
            assert!(said.contains("not a regular file"), "{said}");
        }
    }
}

#[test]
fn the_joblog_of_an_earlier_run_is_not_overwritten() {
    let directory = directory();
    let log = directory.path().join("log");
    let again = || run("echo", ["a"]).arg("--joblog").arg(&log).run();
    assert_eq!(again().code, Some(0));
    let before = fs::read(&log).unwrap();
    let said = again().refusal();
    assert!(said.contains("--resume continues it"), "{said}");
    assert_eq!(fs::read(&log).unwrap(), before);
}

#[test]
fn an_input_that_no_argument_can_be_ends_with_what_was_run() {
    let ended = super::ended(super::fed(run("echo", ["--jobs", "1"]), b"a\nb\0c\nd\n"));
    assert_eq!((ended.code, &*ended.stdout), (Some(2), "a\n"), "{ended:#?}");
    let error = "error: no command can have input 2 as its argument: it has a NUL byte; `-0` reads \
        inputs that end with one\n";
    assert!(ended.stderr.ends_with(error), "{ended:#?}");
}
