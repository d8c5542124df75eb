//! What is printed about a profile: a committed file in every format.

use std::fs;
use std::path::{Path, PathBuf};

use breakeven_profile::file;
use insta::assert_snapshot;

use crate::command::{directory, line, show};

/// Two kernels on the CPU, on an H200 and on a software GPU, where one fails;
/// two runs, phases, peaks. One of the suite's own budgets is passed closely.
fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample.json")
}

fn printed(args: &str) -> String {
    let ended = show(&sample(), args).quietly(0);
    assert!(!ended.stdout.contains('\u{1b}'), "colours in a pipe");
    ended.stdout
}

#[test]
fn table() {
    let table = printed("");
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "wider than 80: {line}");
    }
    assert_snapshot!(table);
}

#[test]
fn markdown() {
    assert_snapshot!(printed("--format markdown"));
}

#[test]
fn csv() {
    assert_snapshot!(printed("--format csv"));
}

#[test]
fn json() {
    let printed = printed("--format json");
    let profile = file::read(&sample()).unwrap();
    assert_eq!(file::read_from(printed.as_bytes(), "").unwrap(), profile);
    assert_snapshot!(printed);
}

#[test]
fn colours_only_where_they_are_wanted() {
    let forced = |name: &str, value: &str| {
        let show = line("show").arg(sample()).env("CLICOLOR_FORCE", "1");
        show.env(name, value).run().quietly(0).stdout
    };
    assert!(forced("TERM", "xterm").contains("\u{1b}["));
    assert!(!forced("NO_COLOR", "1").contains('\u{1b}'));
    let no_color = line("show").arg(sample()).env("NO_COLOR", "1").run();
    assert_eq!(no_color.quietly(0).stdout, printed(""));
    // Colours change nothing else.
    let plain = printed("");
    let coloured = forced("TERM", "xterm");
    assert_eq!(coloured.lines().count(), plain.lines().count());
    for format in ["json", "csv", "markdown"] {
        let show = line("show").arg(sample()).env("CLICOLOR_FORCE", "1");
        let stdout = show.args("--format").arg(format).run().quietly(0).stdout;
        assert!(!stdout.contains('\u{1b}'), "{format}");
    }
}

#[test]
fn the_five_line_file() {
    let directory = directory();
    let file = directory.path().join("five.json");
    let text = "{\"format\": \"breakeven-profile\", \"version\": 1, \"operations\": [\
                {\"name\": \"conv2d\", \"device\": \"cpu\", \"samples_ns\": [812000, 799000]}]}";
    fs::write(&file, text).unwrap();
    assert_snapshot!(show(&file, "").quietly(0).stdout);
    for format in ["json", "csv", "markdown"] {
        show(&file, &format!("--format {format}")).quietly(0);
    }
}

#[test]
fn a_profile_of_nothing() {
    let directory = directory();
    let file = directory.path().join("nothing.json");
    fs::write(&file, "{\"format\": \"breakeven-profile\", \"version\": 1}").unwrap();
    let table = show(&file, "").quietly(0).stdout;
    assert!(table.contains("the profile holds no operations"), "{table}");
    for format in ["json", "csv", "markdown"] {
        show(&file, &format!("--format {format}")).quietly(0);
    }
}

#[test]
fn names_as_long_as_can_be_keep_to_the_width() {
    let directory = directory();
    let file = directory.path().join("long.json");
    let long = "a_name_that_somebody_found_good_".repeat(6);
    let operation = |device: &str| {
        format!(
            "{{\"name\": \"{long}\", \"device\": \"{device}\", \"workload\": \"{long} | {long}\", \
             \"samples_ns\": [9e17, 1, 20000000000]}}"
        )
    };
    let text = format!(
        "{{\"format\": \"breakeven-profile\", \"version\": 1, \"operations\": [{}, {}]}}",
        operation("cpu"),
        operation(&format!("cuda:{long}"))
    );
    fs::write(&file, text).unwrap();
    let table = show(&file, "").quietly(0).stdout;
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "wider than 80: {line}");
    }
}

#[test]
fn a_budget_that_is_passed_makes_the_exit_code_one() {
    let directory = directory();
    let budget = directory.path().join("budget.toml");
    let with = |text: &str| {
        fs::write(&budget, text).unwrap();
        line("show")
            .arg(sample())
            .arg("--budget")
            .arg(&budget)
            .run()
    };
    let within = "[[budget]]\noperation = \"conv2d\"\ndevice = \"cpu\"\nmax = \"2 ms\"\n";
    let ended = with(within).quietly(0);
    assert_eq!(ended.lines_with("within").len(), 1, "{ended:#?}");
    let over = "[[budget]]\noperation = \"conv2d\"\ndevice = \"cpu\"\nmax = \"400 us\"\n";
    let ended = with(over).quietly(1);
    let said = ended.lines_with("over ");
    assert!(
        said.iter()
            .any(|line| line.contains("conv2d on cpu") && line.contains("400 µs")),
        "{ended:#?}"
    );
    let near = "[[budget]]\noperation = \"conv2d\"\ndevice = \"cpu\"\nmax = \"900 us\"\n";
    let ended = with(near).quietly(0);
    assert!(!ended.lines_with("near").is_empty(), "{ended:#?}");
}

/// The sample's `matrix_multiply` on the software GPU failed; `nope` is nowhere.
#[test]
fn a_budget_that_holds_nothing_never_passes() {
    let directory = directory();
    let budget = directory.path().join("budget.toml");
    let with = |device: &str, operation: &str| {
        let text = format!(
            "[[budget]]\noperation = \"{operation}\"\ndevice = \"{device}\"\nmax = \"2 s\"\n"
        );
        fs::write(&budget, text).unwrap();
        line("show")
            .arg(sample())
            .arg("--budget")
            .arg(&budget)
            .run()
    };
    let wrong = with("cpu", "nope");
    assert_eq!(wrong.code, Some(2), "{wrong:#?}");
    let lines = wrong.lines_with("\"nope\" on \"cpu\" applies to no operation");
    assert_eq!((lines.len(), &*wrong.stderr), (1, ""), "{wrong:#?}");
    let failed = with("vulkan:llvmpipe", "matrix_multiply");
    assert_eq!(failed.code, Some(1), "{failed:#?}");
}

#[test]
fn what_a_terminal_would_obey_is_not_printed() {
    let directory = directory();
    let file = directory.path().join("odd.json");
    let text = r#"{"format": "breakeven-profile", "version": 1, "operations": [
        {"name": "a\u001b]0;title\u0007\nb", "device": "cpu\t", "samples_ns": [1, 2]}]}"#;
    fs::write(&file, text).unwrap();
    for format in ["table", "markdown", "csv"] {
        let printed = show(&file, &format!("--format {format}")).quietly(0).stdout;
        let obeyed = |c: char| c.is_control() && c != '\n';
        assert!(!printed.contains(obeyed), "{format}: {printed:?}");
    }
}

#[test]
fn what_a_recorder_saw_of_asynchronous_and_of_very_short_calls() {
    let directory = directory();
    let file = directory.path().join("p.json");
    let text = r#"{"format": "breakeven-profile", "version": 1,
        "environment": {"recorder": {"guard_ns": 27.0, "inside_ns": 12.0}},
        "operations": [
            {"name": "fetch", "runs": [{"samples_ns": [5000000, 5100000], "self_ns": 300000,
                "phases_ns": {"polled": [150000, 150000], "waiting": [4850000, 4950000]}}]},
            {"name": "tick", "runs": [{"samples_ns": [16, 17, 18], "self_ns": 51}]}
        ]}"#;
    std::fs::write(&file, text).unwrap();
    let printed = show(&file, "").quietly(0).stdout;
    let rows: Vec<&str> = printed
        .lines()
        .skip_while(|line| *line != "fetch")
        .take(7)
        .collect();
    assert_snapshot!(rows.join("\n"), @r"
    fetch
    cpu            2  10.1ms   300µs   100%  5.05ms  5.05ms  5.09ms  5.10ms  1.4%
      polled                                  150µs   150µs   150µs   150µs  0.0%
      waiting                                4.90ms  4.90ms  4.95ms  4.95ms  1.4%
    tick
    cpu            3  51.0ns  51.0ns   0.0%  17.0ns  17.0ns  17.9ns  18.0ns  5.9%
      71% of it is the recorder's overhead: excluded from the verdicts
    ");
}

#[test]
fn of_many_operations_those_that_take_most_time_are_listed() {
    let folder = directory();
    let path = folder.path().join("many.json");
    let operation = |n: u32| {
        let ns = if n == 2_999 { 3e9 } else { 2e6 + f64::from(n) };
        serde_json::json!({"name": format!("op{n}"), "samples_ns": [ns, ns, ns]})
    };
    let operations: Vec<_> = (0..3_000).map(operation).collect();
    let document = serde_json::json!({
        "format": "breakeven-profile", "version": 1, "operations": operations,
    });
    fs::write(&path, document.to_string()).unwrap();
    let budget = folder.path().join("b.toml");
    fs::write(&budget, "[thresholds]\nslow = \"1 ms\"\n").unwrap();
    let shown = show(&path, &format!("--budget {}", budget.display()));
    let printed = shown.quietly(0).stdout;
    let (_, targets) = printed.split_once("Targets").unwrap();
    let rows: Vec<&str> = targets
        .lines()
        .filter(|row| row.starts_with("op"))
        .collect();
    assert!(rows[0].starts_with("op2999 "), "{rows:?}");
    assert!(rows.len() <= 8, "{} rows", rows.len());
    assert!(targets.contains("and 2992 more operations"), "{targets}");
}

#[test]
fn sections_that_say_nothing_are_left_out() {
    let folder = directory();
    // The targets and budgets of the suite are not those of other operations, and how long a program
    // may take is its user's to say.
    let hyperfine = folder.path().join("hyperfine.json");
    let results = r#"{"results": [{"command": "make", "times": [2.0, 2.1, 2.0]}]}"#;
    fs::write(&hyperfine, results).unwrap();
    let printed = show(&hyperfine, "").quietly(0).stdout;
    for section in ["Bottlenecks", "Targets", "Budgets"] {
        assert!(!printed.contains(section), "{printed}");
    }
    let short = folder.path().join("short.json");
    let one = r#"{"format": "breakeven-profile", "version": 1, "operations": [
        {"name": "f", "samples_ns": [1000, 1000, 1000]}]}"#;
    fs::write(&short, one).unwrap();
    let printed = show(&short, "").quietly(0).stdout;
    for section in ["Bottlenecks", "Targets", "Budgets", "none"] {
        assert!(!printed.contains(section), "{printed}");
    }
}

#[test]
fn a_file_comes_through_the_standard_input() {
    let results = r#"{"results": [{"command": "make", "times": [2.0, 2.1, 2.0]}]}"#;
    let folder = directory();
    let file = folder.path().join("make.json");
    fs::write(&file, results).unwrap();
    let shown = show(&file, "").quietly(0).stdout;
    let mut piped = line("show -");
    piped.command.stdin(fs::File::open(&file).unwrap());
    assert_eq!(piped.run().quietly(0).stdout, shown);
    let mut compared = line("compare").arg(&file).args("-");
    compared.command.stdin(fs::File::open(&file).unwrap());
    assert!(compared.run().quietly(0).stdout.contains("make"));
    let mut wrong = line("show -");
    wrong.command.stdin(std::process::Stdio::null());
    assert!(wrong.run().refusal().starts_with("error: <stdin>:"));
}
