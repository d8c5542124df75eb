//! `breakeven sweep --cpu CMD --gpu CMD`: the size from which one command is faster than another,
//! as a constant, and its check.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use insta::assert_snapshot;

use super::interrupt::signal;
use crate::command::{Breakeven, Ended, breakeven, directory, line, show, skipped};

/// 0.1 ms for each.
const CPU: &str = "sleep $(printf 0.%04d {n})";

/// 40 ms at any size: it pays from 400 on.
const GPU: &str = "sleep $(printf 0.%04d 400); : {n}";

fn sweep(cpu: &str, gpu: &str, args: &str) -> Breakeven {
    breakeven(["sweep", "--cpu", cpu, "--gpu", gpu]).args(args)
}

/// A sweep of the pair for eight seconds at most.
fn pair(args: &str) -> Breakeven {
    sweep(CPU, GPU, "--from 100 --to 1600 --time-limit 8s --name pair").args(args)
}

#[test]
fn the_size_from_which_a_command_pays_is_found() {
    let directory = directory();
    let file = directory.path().join("pair.json");
    let ended = pair("--format json").arg("-o").arg(&file).run().quietly(0);
    let found = &ended.json()["break_even"][0];
    assert_eq!(found["answer"], "from", "{ended:#?}");
    let end = |at: usize| found["interval"][at].as_f64().unwrap();
    assert!(100.0 <= end(0) && end(0) < 430.0, "{found}");
    assert!(370.0 < end(1) && end(1) <= 800.0, "{found}");
    let ended_json = ended.json();
    for point in ended_json["points"].as_array().unwrap() {
        let rounds = |side: usize| point["times"][side]["rounds_ns"].as_array().unwrap().len();
        assert!(rounds(0) >= 1 && rounds(0) == rounds(1), "{point}");
    }
    let shown = show(&file, "--format json").quietly(0).json();
    let operation = &shown["operations"][0];
    assert_eq!(
        (&operation["name"], &operation["size"]),
        (&"pair".into(), &100.into())
    );
    assert!(operation["runs"].as_array().unwrap().len() >= 3);
    let page = directory.path().join("pair.html");
    line("report").arg(&file).arg("-o").arg(&page).run();
    assert!(fs::read_to_string(&page).unwrap().contains("gpu pays from"));
    line("compare").arg(&file).arg(&file).run().quietly(0);
    line("advise").arg(&file).run().quietly(0);
}

#[test]
fn what_a_time_includes_and_what_never_pays_is_said() {
    let said = |cpu: &str, gpu: &str| {
        sweep(cpu, gpu, "--from 1 --to 2 --time-limit 30s")
            .run()
            .quietly(0)
            .said()
    };
    let slow = said("true {n}", "sleep 0.02{n}");
    assert!(slow.contains("gpu never pays up to size 2"), "{slow}");
    assert!(
        slow.contains("each time includes the start of a process gpu"),
        "{slow}"
    );
    assert!(slow.starts_with("true over size"), "{slow}");
    let shell = said("true {n}; true", "sleep 0.02{n}");
    assert!(shell.contains("of a process and of its shell"), "{shell}");
}

#[test]
fn the_time_limit_leaves_sizes_out() {
    let ended = sweep(
        "sleep 0.{n}",
        "sleep 0.0{n}",
        "--from 1 --to 9 --time-limit 1500ms",
    );
    let ended = ended.args("--format json").run().quietly(0);
    assert!(ended.took < Duration::from_secs(10), "{ended:#?}");
    let document = ended.json();
    let left = document["not_measured"].as_array().unwrap();
    assert_eq!(left.last().unwrap(), 9, "{document}");
    // A run that takes longer than predicted is ended.
    let ended = sweep(
        "sleep {n}",
        "true {n}",
        "--from 30 --to 60 --time-limit 300ms",
    )
    .run();
    assert!(ended.took < Duration::from_secs(10), "{ended:#?}");
    assert!(ended.said().contains("nothing was measured"), "{ended:#?}");
}

#[test]
fn a_command_that_fails_costs_its_size() {
    let gpu = "[ {n} -lt 8 ] && sleep 0.02";
    let ended = sweep(
        "sleep 0.01; : {n}",
        gpu,
        "--from 2 --to 8 --time-limit 30s --format json",
    );
    let ended = ended.run().quietly(1);
    let document = ended.json();
    let last = &document["points"][2];
    assert_eq!(last["value"], 8);
    assert_eq!(last["times"][1]["failure"]["message"], "exit status 1");
    assert!(last["times"][1]["rounds_ns"].as_array().unwrap().is_empty());
    assert_eq!(document["break_even"][0]["tried_to"], 4.0);
    let refused = sweep("no-such-program {n}", "true {n}", "--from 1 --to 2")
        .run()
        .refusal();
    assert!(
        refused.starts_with("error: cannot run \"no-such-program {n}\""),
        "{refused}"
    );
}

#[test]
fn a_command_that_is_deleted_costs_no_times() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = directory();
    let script = directory.path().join("gpu");
    fs::write(&script, "#!/bin/sh\n[ $1 -lt 4 ] || rm -f \"$0\"\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let gpu = format!("{} {{n}}", script.display());
    let args = "--from 2 --to 8 --time-limit 30s --format json";
    let ended = sweep("true {n}", &gpu, args).run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let points = &ended.json()["points"];
    for at in [0, 1] {
        let rounds = points[at]["times"][1]["rounds_ns"].as_array().unwrap();
        assert_eq!(rounds.len(), 1, "{ended:#?}");
    }
    assert_eq!(points.as_array().unwrap().len(), 2, "{ended:#?}");
    let failure = points[1]["times"][1]["failure"]["message"]
        .as_str()
        .unwrap();
    assert!(failure.contains("No such file"), "{failure}");
    assert!(
        ended.stderr.contains("can no longer be started"),
        "{ended:#?}"
    );
}

#[test]
fn ctrl_c_keeps_the_times() {
    let directory = directory();
    let file = directory.path().join("pair.json");
    let mut time = Duration::from_secs(2);
    loop {
        let sweep = sweep(CPU, GPU, "--from 100 --to 1600 --time-limit 10min");
        let child = sweep.arg("-o").arg(&file).command.spawn().unwrap();
        std::thread::sleep(time);
        signal("INT", child.id());
        let ended = Ended::of(child.wait_with_output().unwrap(), time);
        assert_eq!(ended.code, Some(130), "{ended:#?}");
        if file.exists() {
            assert!(ended.stdout.contains("interrupted: "), "{ended:#?}");
            let shown = show(&file, "").quietly(0);
            assert!(!shown.lines_with("interrupted: ").is_empty(), "{shown:#?}");
            return;
        }
        time *= 2;
        assert!(
            time < Duration::from_secs(60),
            "nothing is measured: {ended:#?}"
        );
    }
}

#[test]
fn wrong_use_is_refused() {
    let refused = |words: &[&str]| {
        let refusal = breakeven(["sweep"].iter().chain(words)).run().refusal();
        let what = refusal.split("\n\n").next().unwrap_or_default();
        what.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let commands =
        |cpu, gpu, from, to| refused(&["--cpu", cpu, "--gpu", gpu, "--from", from, "--to", to]);
    assert_snapshot!(commands("a", "b {n}", "1", "2"), @r#"error: --cpu "a" has no {n}, in whose place the size is put"#);
    assert_snapshot!(commands("a {n}", "b", "1", "2"), @r#"error: --gpu "b" has no {n}, in whose place the size is put"#);
    assert_snapshot!(commands("a {n}", "b {n} '", "1", "2"), @r#"error: "b {n} '": a quote is not closed"#);
    assert_snapshot!(commands("a {n}", "b {n}", "10k", "1000"), @"error: --from 10000 is beyond --to 1000; give a range that has values in it");
    assert_snapshot!(commands("a {n}", "b {n}", "10K", "1M"), @"error: invalid value '10K' for '--from <N>': give a whole number, 1 or more, perhaps with k, M or G behind it, as in 10M");
    assert_snapshot!(commands("a {n}", "b {n}", "1", "99999999999G"), @"error: invalid value '99999999999G' for '--to <N>': the number is too large");
    assert_snapshot!(refused(&["vector_add", "--cpu", "a {n}"]), @"error: the argument '[KERNEL]' cannot be used with '--cpu <CMD>'");
    assert_snapshot!(refused(&["--cpu", "a {n}"]), @"error: the following required arguments were not provided: --gpu <CMD> --from <N> --to <N>");
    assert_snapshot!(refused(&["--gpu", "a {n}"]), @"error: the following required arguments were not provided: --from <N> --to <N> --cpu <CMD>");
    assert_snapshot!(refused(&[]), @"error: the following required arguments were not provided: <KERNEL|--cpu <CMD>|--gpu <CMD>|--check <FILE>>");
    assert_snapshot!(refused(&["conv2d", "--emit", "go"]), @"error: invalid value 'go' for '--emit <LANGUAGE>' [possible values: rust, c, cpp, python]");
    assert_snapshot!(refused(&["conv2d", "--emit", "c", "--device", "cpu"]), @"error: --emit: no GPU is measured; `breakeven devices` lists them");
    assert_snapshot!(refused(&["--cpu", "a {n}", "--gpu", "b {n}\n", "--from", "1", "--to", "2", "--emit", "c"]), @"error: --emit: a comment in a source file cannot hold a command with line breaks or control characters; put the command into a script");
    assert_snapshot!(refused(&["conv2d", "--time-limit", "1s"]), @"error: the argument '[KERNEL]' cannot be used with '--time-limit <T>'");
    assert_snapshot!(refused(&["conv2d", "--check", "x.rs"]), @"error: the argument '--check <FILE>' cannot be used with one or more of the other specified arguments");
    assert_snapshot!(refused(&["--check", "/no/such/file.rs"]), @"error: /no/such/file.rs: No such file or directory (os error 2)");
}

/// The first line of the check of a source, and its exit code.
fn check(source: &Path) -> (String, Option<i32>) {
    let ended = line("sweep --check").arg(source).run();
    (ended.stdout + &ended.stderr, ended.code)
}

#[test]
fn a_constant_is_checked() {
    let directory = directory();
    let source = directory.path().join("limits.rs");
    let emitted = pair("--emit rust").run();
    assert_eq!(emitted.code, Some(0), "{emitted:#?}");
    assert!(emitted.stderr.contains("pair over size"), "{emitted:#?}");
    let begin = "/// breakeven: gpu pays from size ";
    assert!(emitted.stdout.starts_with(begin), "{emitted:#?}");
    let (before, _) = emitted.stdout.split_once("pub const").unwrap();
    let with = |value: &str| {
        let constant = format!("pub const PAIR_GPU_FROM: usize = {value};\n");
        fs::write(&source, [before, &constant].concat()).unwrap();
        check(&source)
    };
    // An interval misses the true size in one of twenty sweeps.
    let held = (0..4)
        .map(|_| with("400"))
        .find(|(_, code)| *code == Some(0));
    let (said, _) = held.expect("it holds");
    assert!(
        said.contains(":3: PAIR_GPU_FROM = 400 holds: gpu pays from size "),
        "{said}"
    );
    let (said, code) = with("2_000");
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("PAIR_GPU_FROM = 2 000 is stale: gpu pays from size "),
        "{said}"
    );
    assert_eq!(with("usize::MAX").1, Some(1));

    // Two constants: one that is stale decides over one that is undecided.
    let open = before.replace("--time-limit 8s", "--time-limit 1ms");
    let both = format!("{open}pub const A: usize = 1;\n{before}pub const B: usize = 1;\n");
    fs::write(&source, both).unwrap();
    let (said, code) = check(&source);
    assert_eq!((code, said.lines().count()), (Some(1), 2), "{said}");
    fs::write(&source, format!("{open}const A: usize = 1;\n")).unwrap();
    let (said, code) = check(&source);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("A = 1 is undecided"), "{said}");

    for (text, expected) in [
        ("fn main() {}\n".to_owned(), "has no constants of"),
        (
            before.to_owned(),
            "limits.rs:3: no constant is below this comment",
        ),
        (
            format!("{before}const A: usize = b();"),
            "limits.rs:4: this is no constant",
        ),
        (
            format!("{}const A: usize = 1;", before.replace("--from", "--form")),
            "limits.rs:3: unexpected argument '--form' found",
        ),
    ] {
        fs::write(&source, text).unwrap();
        let (said, code) = check(&source);
        assert!(code == Some(2) && said.contains(expected), "{said}");
    }
}

#[test]
fn times_that_do_not_decide_are_no_constant() {
    let ended = sweep(
        "sleep 0.01; : {n}",
        "sleep 0.01; : {n}",
        "--from 1 --to 2 --emit c",
    );
    let ended = ended.args("--time-limit 1ms").run();
    assert_eq!((ended.code, &*ended.stdout), (Some(3), ""), "{ended:#?}");
    assert!(
        ended.stderr.contains("error: the times do not decide"),
        "{ended:#?}"
    );
}

/// Hostile commands neither end the comment nor the line.
#[test]
fn a_constant_compiles() {
    let directory = directory();
    let gpu = "sleep 0.02; : {n} '*/ \"\"\" \\ #error ü ??/'";
    for (language, file, compiler) in [
        (
            "rust",
            "a.rs",
            &["rustc", "--crate-type", "lib", "--emit", "metadata"][..],
        ),
        (
            "c",
            "a.c",
            &[
                "cc",
                "-fsyntax-only",
                "-Wall",
                "-Werror",
                "-Wno-unused-const-variable",
                "-Wno-unused-variable",
            ],
        ),
        (
            "cpp",
            "a.cpp",
            &["c++", "-fsyntax-only", "-Wall", "-Werror"],
        ),
        ("python", "a.py", &["python3"]),
    ] {
        let ended = sweep(
            "true; : {n}",
            gpu,
            "--from 1 --to 2 --time-limit 30s --emit",
        );
        let ended = ended.arg(language).run();
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        assert!(
            ended.stdout.contains("gpu never pays up to size 2."),
            "{ended:#?}"
        );
        fs::write(directory.path().join(file), &ended.stdout).unwrap();
        let compiled = Command::new(compiler[0])
            .args(&compiler[1..])
            .arg(file)
            .current_dir(directory.path())
            .output();
        match compiled {
            Ok(compiled) => assert!(compiled.status.success(), "{compiled:?}\n{}", ended.stdout),
            Err(error) => skipped(&format!("{}: {error}", compiler[0])),
        }
        let (said, code) = check(&directory.path().join(file));
        assert!(
            code == Some(0) && said.contains(" = never holds: "),
            "{said}"
        );
    }
}
