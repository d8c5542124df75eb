//! Runs two benches as processes, and reads what they print and write.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use breakeven_profile::file;
use breakeven_profile::profile::{Operation, Profile};
use insta::assert_snapshot;
use tempfile::TempDir;

/// A bench of this folder, and a folder for its files.
struct Bench {
    name: &'static str,
    folder: TempDir,
}

/// How it ended, with what it printed.
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Bench {
    fn new(name: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { name, folder }
    }

    fn fixture() -> Self {
        Self::new("bench_fixture")
    }

    /// The executable that is built with these tests.
    fn command(&self, args: &str, wrong: &str) -> Command {
        let test = std::env::current_exe().expect("this test");
        let target = test.parent().and_then(Path::parent).expect("target/debug");
        let path = target.join("examples").join(self.name);
        let path = path.with_extension(std::env::consts::EXE_EXTENSION);
        assert!(path.exists(), "{} is not built", path.display());
        let mut command = Command::new(path);
        command.args(args.split_whitespace());
        command
            .env("FIXTURE", wrong)
            .env("COLUMNS", "100")
            .env("RUST_BACKTRACE", "0")
            .current_dir(self.folder.path());
        command
    }

    fn run(&self, args: &str, wrong: &str) -> Ended {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(args, wrong).output().expect("it starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let folder = self.folder.path().canonicalize().expect("a folder");
        let shown = |bytes| text(bytes).replace(&*folder.to_string_lossy(), "FOLDER");
        Ended {
            code: status.code(),
            out: shown(stdout),
            err: shown(stderr),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn profile(&self, name: &str) -> Profile {
        file::read(&self.path(name)).expect("a profile")
    }
}

fn operation<'p>(profile: &'p Profile, name: &str) -> &'p Operation {
    let mut operations = profile.operations.iter();
    operations
        .find(|it| it.name == name)
        .expect("it was measured")
}

/// With figures as `#`, and one space where there are several.
fn masked(text: &str) -> String {
    let figure = |word: &str| {
        let digits = word.trim_start_matches(['-', '+', '<']);
        match digits.starts_with(|first: char| first.is_ascii_digit()) {
            true => "#".to_owned(),
            false => word.to_owned(),
        }
    };
    let line = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(figure).collect();
        words.join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_table_is_that_of_show_and_the_profile_has_runs() {
    let bench = Bench::fixture();
    let ended = bench.run("--bench --runs 2 --time 60ms", "");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(ended.err, "");
    assert_snapshot!(masked(&ended.out));

    let profile = bench.profile("target/breakeven/bench_fixture.json");
    assert!(profile.benchmark && !profile.interrupted && profile.created.is_some());
    assert!(profile.generator.unwrap().starts_with("breakeven-bench "));
    assert!(profile.environment.cpu.is_some() && profile.environment.build_profile.is_some());
    let keys = profile.operations.iter().map(|it| it.key().to_string());
    let keys: Vec<String> = keys.collect();
    let expected = ["nap on cpu", "second on cpu", "sum on cpu, size 10"];
    assert_eq!(keys[..3], expected);
    assert_eq!(keys[3..], ["sum on cpu, size 1000", "sum/none on cpu"]);
    for operation in &profile.operations {
        assert_eq!(operation.runs.len(), 2, "{}", operation.name);
        for run in &operation.runs {
            assert!(!run.samples_ns.is_empty() && run.first_call_ns.is_some());
        }
    }
    let nap = profile.operations[0].summary().unwrap();
    assert!(nap.min >= 10e6, "{nap:?}");
}

#[test]
fn the_gate_has_the_exit_codes_of_compare() {
    let bench = Bench::fixture();
    let options = "--runs 5 --time 500ms --threshold 150% --exact nap";
    let ended = bench.run(&format!("{options} --output base.json"), "");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let judged = format!("{options} --output new.json --baseline base.json");
    let gated = format!("{judged} --gate");

    let same = bench.run(&gated, "");
    assert_eq!(same.code, Some(0), "{}", same.out);
    assert!(
        same.out.ends_with("1 unchanged; gate passed\n"),
        "{}",
        same.out
    );

    let slower = bench.run(&gated, "slow");
    assert_eq!(slower.code, Some(1), "{}", slower.out);
    assert_snapshot!(masked(&slower.out));
    assert_eq!(bench.run(&judged, "slow").code, Some(0));

    let few = bench.run(&(gated.clone() + " --runs 2"), "");
    assert_eq!(few.code, Some(3), "{}", few.out);
    let other = bench.run(&gated.replace("nap", "second"), "");
    assert_eq!(other.code, Some(2), "{}", other.err);
    // What was measured is shown nevertheless.
    assert!(other.out.starts_with(' '), "{}", other.out);
}

#[test]
fn the_baseline_is_judged_by_what_the_filter_chooses() {
    let bench = Bench::fixture();
    let all = bench.run("--runs 4 --time 5ms --output base.json", "");
    assert_eq!(all.code, Some(0), "{}", all.err);
    let gated =
        "--runs 4 --time 60ms --output new.json --baseline base.json --gate --threshold 150%";
    let one = bench.run(&format!("{gated} --exact nap"), "");
    // 2 if the rest of the baseline were missing.
    assert!(matches!(one.code, Some(0 | 3)), "{}", one.out);
}

#[test]
fn a_benchmark_that_fails_stops_no_other() {
    for (wrong, message) in [
        ("panic", "panic: made up in two lines"),
        ("abort", "crash: the process ended with signal: 6 (SIGABRT)"),
        ("exit", "crash: the process ended with exit status: 0"),
    ] {
        let bench = Bench::fixture();
        let ended = bench.run("--runs 3 --time 5ms --output new.json", wrong);
        assert_eq!(ended.code, Some(1), "{wrong}: {}", ended.err);
        let profile = bench.profile("new.json");
        let failure = operation(&profile, "second").failure.as_ref().unwrap();
        let failure = failure.to_string();
        assert!(failure.starts_with(message), "{failure}");
        for name in ["nap", "sum", "sum/none"] {
            let operation = operation(&profile, name);
            assert!(operation.failure.is_none(), "{wrong}: {name}");
            assert_eq!(operation.runs.len(), 3, "{wrong}: {name}");
        }
        // What failed is not called again.
        assert!(ended.err.matches("made up").count() <= 1, "{}", ended.err);
    }
    let never = Bench::fixture().run("--runs 1 --time 5ms never", "never");
    let message = "failed: it calls iter 0 times, not once";
    assert!(
        never.code == Some(1) && never.out.contains(message),
        "{}",
        never.out
    );
}

#[test]
fn a_panic_between_benchmarks_fails_what_was_measured() {
    let bench = Bench::fixture();
    let ended = bench.run("--runs 3 --time 5ms --output new.json", "outside");
    assert_eq!(ended.code, Some(1));
    let message = "error: a run ended with exit status: 101 outside of a benchmark";
    assert!(ended.err.contains(message), "{}", ended.err);
    assert_eq!(operation(&bench.profile("new.json"), "nap").runs.len(), 1);
}

#[test]
fn wrong_use_ends_with_2_and_says_what_to_do() {
    let bench = Bench::fixture();
    std::fs::write(bench.path("text"), "no profile").unwrap();
    std::fs::create_dir(bench.path("folder")).unwrap();
    let mut all = String::new();
    for args in [
        "--frob",
        "--runs",
        "--runs 0",
        "--runs=five",
        "--time 5",
        "--threshold 5",
        "--threshold 0.01%",
        "--gate",
        "--test --gate",
        "--baseline",
        "--baseline missing.json",
        "--baseline text",
        "--output folder",
        "--output missing/new.json",
        "--output text --baseline text --gate",
        "--bench nothing like it",
    ] {
        let Ended { code, out, err } = bench.run(args, "");
        assert!(code == Some(2) && out.is_empty(), "{args}: {code:?} {out}");
        all += &format!("{args}\n  {err}");
    }
    let twice = bench.run("--bench --time 5ms", "twice");
    assert_eq!(twice.code, Some(2));
    all += &format!("(two of one name)\n  {}", twice.err);
    assert_snapshot!(all);
    assert_eq!(
        std::fs::read_to_string(bench.path("text")).unwrap(),
        "no profile"
    );
}

#[test]
fn benchmarks_are_listed_and_called_once_as_cargo_test_asks() {
    let bench = Bench::fixture();
    let listed = bench.run("--bench --list sum", "");
    assert_eq!(
        listed.out,
        "sum/10: benchmark\nsum/1000: benchmark\nsum/none: benchmark\n"
    );
    let exact = bench.run("--list --exact sum/10 nap", "");
    assert_eq!(exact.out, "nap: benchmark\nsum/10: benchmark\n");
    // `cargo test --benches` passes nothing, or what the user gave.
    for args in [
        "sum/none",
        "--test sum/none",
        "--bench --test sum/none --nocapture",
    ] {
        let once = bench.run(args, "");
        assert!(once.code == Some(0), "{args}");
        assert_eq!(once.out, "test sum/none ... ok\n");
    }
    assert_eq!(bench.run("nothing like it", "").code, Some(0));
    assert_eq!(bench.run("", "panic").code, Some(101));
    assert!(!bench.path("target").exists());
    assert!(
        bench
            .run("--help", "")
            .out
            .starts_with("usage: cargo bench")
    );
}

#[test]
fn what_benchmarks_print_is_shown_on_request() {
    let bench = Bench::fixture();
    let quiet = bench.run("--runs 1 --time 5ms second", "");
    assert!(!quiet.out.contains("prints"), "{}", quiet.out);
    let shown = bench.run("--runs 1 --time 5ms second --nocapture", "");
    assert!(shown.out.contains("a benchmark prints\n"), "{}", shown.out);
}

#[test]
fn a_bench_for_criterion_needs_another_import_alone() {
    let bench = Bench::new("bench_criterion_shape");
    let ended = bench.run("--bench --runs 1 --time 5ms --output new.json", "");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_snapshot!(bench.run("--list", "").out);
    let profile = bench.profile("new.json");
    let of = |name: &str| {
        let of = profile.operations.iter().filter(|it| it.name == name);
        let of = of.map(|it| (it.size, it.items));
        of.collect::<Vec<_>>()
    };
    assert_eq!(of("reverse"), [(None, None)]);
    let sizes = [10, 40].map(|n| (Some(n), Some(n)));
    assert_eq!(of("fibonacci"), sizes);
    assert_eq!(of("fibonacci/loop"), sizes);
    assert_eq!(of("fibonacci/loop/few"), [(None, Some(40))]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_measured() {
    use std::os::unix::process::CommandExt;
    use std::time::{Duration, Instant};

    let bench = Bench::fixture();
    let mut command = bench.command("--runs 100000 --time 5ms --output new.json", "");
    // Ctrl-C reaches a group of processes.
    let mut process = command.process_group(0).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let group = format!("-{}", process.id());
    let began = Instant::now();
    let killed = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(killed.unwrap().success());
    assert_eq!(process.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(20));
    let profile = bench.profile("new.json");
    assert!(profile.interrupted);
    let nap = operation(&profile, "nap");
    assert!(nap.failure.is_none() && !nap.runs.is_empty());
}
