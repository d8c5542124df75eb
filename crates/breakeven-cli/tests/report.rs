//! `breakeven report`: one HTML file, with the figures of `show` and the verdicts of
//! `compare`.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::command::{Breakeven, directory, line, show};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn report(files: &[&Path], output: &Path) -> Breakeven {
    let command = files
        .iter()
        .fold(line("report"), |command, file| command.arg(file));
    command.args("-o").arg(output)
}

/// A part's data, as the page has it.
fn part(html: &str, part: &str) -> serde_json::Value {
    let begin = format!("<script type=\"application/json\" id=\"{part}-data\">");
    let (_, rest) = html.split_once(&begin).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn its_figures_are_those_of_show() {
    let directory = directory();
    let target = directory.path().join("report.html");
    let file = data("program.json");
    let ended = report(&[&file], &target).run().quietly(0);
    assert_eq!(ended.stdout, "");
    let html = fs::read_to_string(&target).unwrap();
    assert!(html.contains("<title>program.json</title>"));
    let shown = show(&file, "--format json").quietly(0).json();
    let operations = part(&html, "operations");
    let columns: Vec<_> = operations["columns"].as_array().unwrap().iter().collect();
    let mut compared = 0;
    for (index, operation) in shown["operations"].as_array().unwrap().iter().enumerate() {
        let figures = &operation["figures"];
        for (key, figure) in [
            ("mean_ns", &figures["summary"]["mean"]),
            ("median_ns", &figures["summary"]["median"]),
            ("p95_ns", &figures["summary"]["p95"]),
            ("cv", &figures["summary"]["cv"]),
            ("calls", &figures["calls"]),
            ("total_ns", &figures["total_ns"]),
            ("own_ns", &figures["own_ns"]),
            ("share_of_total", &figures["share_of_total"]),
            ("memory_bytes", &figures["memory_bytes"]),
            ("calls_per_s", &figures["calls_per_s"]),
        ] {
            let place = columns.iter().position(|column| *column == key).unwrap();
            let value = operations["values"][index][place].as_f64();
            assert_eq!(value, figure.as_f64(), "{key} of {index}");
            compared += usize::from(value.is_some());
        }
    }
    assert!(compared > 60, "{compared}");
    // What is said beside them is what `show` says.
    let table = show(&file, "").quietly(0).stdout;
    let said = "slow: 16.0 ms (over 5.00 ms)";
    assert!(html.contains(said) && table.contains(said));
}

#[test]
fn a_baseline_gives_it_the_verdicts_of_compare() {
    let directory = directory();
    let target = directory.path().join("report.html");
    let (before, after) = (data("program.json"), data("program_after.json"));
    let command = report(&[&after], &target).args("--baseline").arg(&before);
    command
        .args("--title")
        .arg("<after> & before")
        .run()
        .quietly(0);
    let html = fs::read_to_string(&target).unwrap();
    assert!(html.contains("<title>&lt;after&gt; &amp; before</title>"));
    let compared = line("compare")
        .arg(&before)
        .arg(&after)
        .args("--format json");
    let compared = compared.run().quietly(0).json();
    let lines = part(&html, "verdicts");
    let of = |row: &serde_json::Value, lines: &serde_json::Value| {
        let lines = lines.as_array().unwrap().iter();
        let ratio = row["ratio"].as_f64();
        let mut same = lines.filter(|line| line["ratio"].as_f64() == ratio);
        same.next().map(|line| line["verdict"].clone())
    };
    let operations = compared["operations"].as_array().unwrap();
    let judged: Vec<_> = operations
        .iter()
        .filter(|row| !row["ratio"].is_null())
        .collect();
    assert_eq!(lines.as_array().unwrap().len(), judged.len());
    assert!(!judged.is_empty());
    for row in judged {
        assert_eq!(of(row, &lines).as_ref(), Some(&row["change_type"]), "{row}");
    }
    // File names, and no paths.
    assert!(html.contains("program_after.json"));
    assert!(!html.contains(env!("CARGO_MANIFEST_DIR")));
}

#[test]
fn several_files_are_runs_of_one_program() {
    let directory = directory();
    let run = |number: u64| {
        let path = directory.path().join(format!("{number}.json"));
        let text = format!(
            "{{\"format\": \"breakeven-profile\", \"version\": 1, \"operations\": \
             [{{\"name\": \"f\", \"samples_ns\": [{number}00, {number}10]}}]}}"
        );
        fs::write(&path, text).unwrap();
        path
    };
    let (first, second, target) = (run(1), run(2), directory.path().join("r.html"));
    report(&[&first, &second], &target).run().quietly(0);
    let html = fs::read_to_string(&target).unwrap();
    let histogram = &part(&html, "operations")["histograms"][0];
    assert_eq!(histogram["runs"].as_array().unwrap().len(), 2);
    assert!(html.contains("<title>1.json and 1 more</title>"));
}

#[test]
fn wrong_use_is_refused_and_the_old_file_stays() {
    let directory = directory();
    let (file, target) = (data("sample.json"), directory.path().join("r.html"));
    fs::write(&target, "old").unwrap();
    let refused = |command: Breakeven| {
        let said = command.run().refusal();
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        said.replace(file.to_str().unwrap(), "[sample]")
            .replace(directory.path().to_str().unwrap(), "[dir]")
    };
    assert_snapshot!(refused(report(&[&file, &file], &target)), @"error: [sample] is named twice on one side");
    let copy = directory.path().join("copy.json");
    fs::copy(&file, &copy).unwrap();
    assert_snapshot!(refused(report(&[&copy], &copy)), @"error: [dir]/copy.json: is one of the profiles; name another file to write");
    assert_snapshot!(refused(report(&[&file], &target).args("--baseline").arg(&target)), @"error: [dir]/r.html: is one of the profiles; name another file to write");
    assert_snapshot!(refused(report(&[&file], &directory.path().join("no/r.html"))), @"error: [dir]/no/r.html: the directory [dir]/no cannot be used: No such file or directory (os error 2)");
    assert_snapshot!(refused(line("report").arg(&file)), @r"
    error: the following required arguments were not provided:
      --output <FILE>

    Usage: breakeven report --output <FILE> <FILE>...

    For more information, try '--help'.
    ");
}

#[test]
fn budgets_are_held() {
    let directory = directory();
    let (file, target) = (data("sample.json"), directory.path().join("r.html"));
    let budget = directory.path().join("b.toml");
    let with = |text: &str| {
        fs::write(&budget, text).unwrap();
        report(&[&file], &target)
            .args("--budget")
            .arg(&budget)
            .run()
    };
    let over = "[[budget]]\noperation = \"conv2d\"\nmax = \"1 ns\"\n";
    assert_eq!(with(over).code, Some(1));
    assert!(fs::read_to_string(&target).unwrap().contains("exceeded"));
    let idle = with("[[budget]]\noperation = \"nothing\"\nmax = \"1 ns\"\n");
    assert_eq!(idle.code, Some(2));
    assert!(
        idle.stderr
            .contains("applies to no operation: there is no such operation"),
        "{}",
        idle.stderr
    );
}
