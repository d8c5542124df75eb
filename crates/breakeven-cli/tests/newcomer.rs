//! What somebody who sets up a gate in CI for the first time meets.

use std::fs;

use crate::command::directory;
use crate::compare::{operation, steady, within, write};

#[test]
fn the_text_names_the_limits_that_apply() {
    let directory = directory();
    for (name, ns) in [("a.json", 1.0e6), ("b.json", 1.025e6)] {
        write(directory.path(), name, &[operation("f", ns, 0.003, "")]);
    }
    let budget = "[[budget]]\noperation = \"f\"\nmax_increase = 0.02\n";
    fs::write(directory.path().join("budget.toml"), budget).unwrap();
    for format in ["table", "github"] {
        let args = format!("compare a.json b.json --gate --budget budget.toml --format {format}");
        let ended = within(&directory, &args).quietly(1);
        assert!(ended.stdout.contains("its limit is 2.0 %"), "{ended:#?}");
    }
    let ended = within(&directory, "compare a.json b.json --plain-threshold").quietly(0);
    assert!(ended.stdout.contains("threshold 5.0 %, without a test"));
    assert!(!ended.stdout.contains("false alarms"), "{ended:#?}");
}

#[test]
fn a_threshold_alone_asks_for_no_runs() {
    let directory = directory();
    let file = r#"{"results": [{"command": "make", "times": [1.0]}]}"#;
    for name in ["a.json", "b.json"] {
        fs::write(directory.path().join(name), file).unwrap();
    }
    let ended = within(&directory, "compare a.json b.json --plain-threshold");
    assert!(!ended.stdout.contains("too few runs"), "{ended:#?}");
}

#[test]
fn a_gate_that_fails_names_all_that_failed() {
    let directory = directory();
    let both = |ns| [steady("slower", ns), operation("noisy", 1e6, 0.3, "")];
    write(directory.path(), "a.json", &both(1e6));
    write(directory.path(), "b.json", &both(2e6));
    let args = "compare a.json b.json --gate --require-decided --threshold 15%";
    let ended = within(&directory, args).quietly(1);
    let (_, list) = ended.stdout.split_once("Not passed").unwrap();
    assert!(list.contains("slower on cpu: regression by"), "{list}");
    assert!(list.contains("noisy on cpu: inconclusive"), "{list}");
}

#[test]
fn an_audit_prints_a_line_to_copy() {
    let directory = directory();
    for (at, ms) in [1.0, 1.01, 1.3, 1.0, 0.99, 1.0].into_iter().enumerate() {
        let name = format!("past-{at}.json");
        write(directory.path(), &name, &[steady("f", ms * 1e6)]);
    }
    let past = "past-0.json past-1.json past-2.json past-3.json past-4.json past-5.json";
    let audit = |rule: &str| {
        let rest = past.split(' ').map(str::to_owned);
        let args = ["audit", "--rule", rule].map(str::to_owned).into_iter();
        let mut command = crate::command::breakeven(args.chain(rest));
        command.command.current_dir(&directory);
        command.run()
    };
    let page = audit("median > 3%").quietly(0).stdout;
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("median > 3 %"), "{page}");
    let line = "breakeven compare --baseline old-* --current new-* --metric median --threshold";
    assert!(page.contains(line), "{page}");
    assert_eq!(page.matches("per side").count(), 1, "{page}");
    for (rule, why) in [
        ("mean>5", "a percentage with its %"),
        ("mean >= 5%", "> (no other sign is known)"),
        ("foo > 5%", "there are time, median, mean"),
    ] {
        let refused = audit(rule).refusal();
        assert!(refused.contains(why), "{rule}: {refused}");
    }
}

#[test]
fn an_audit_sorts_dated_results() {
    let directory = directory();
    for (name, day, ns) in [("p-1", 1, 1e6), ("p-10", 3, 1.2e6), ("p-2", 2, 1.0e6)] {
        let name = format!("{name}.json");
        write(directory.path(), &name, &[steady("f", ns)]);
        let path = directory.path().join(name);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replace("01-02T", &format!("01-0{day}T"))).unwrap();
    }
    let args = "audit --format json p-1.json p-10.json p-2.json";
    let found = within(&directory, args).quietly(0).json();
    // In the order of the names the step would come back.
    assert_eq!(found["by_rule"]["stopped"], 1);
    assert_eq!(found["by_rule"]["came_back"], 0);
}

#[test]
fn the_name_of_a_file_to_write_gives_its_format() {
    let directory = directory();
    for name in ["a.json", "b.json"] {
        write(directory.path(), name, &[steady("f", 1e6)]);
    }
    let starts = |name: &str, start: &str| {
        let text = fs::read_to_string(directory.path().join(name)).unwrap();
        assert!(text.starts_with(start), "{name}: {text}");
    };
    let args = "compare a.json b.json -o j.xml -o verdict.md -o v.json -o v.txt";
    within(&directory, args).quietly(0);
    starts("j.xml", "<?xml");
    starts("verdict.md", "### breakeven");
    starts("v.json", "{");
    starts("v.txt", "baseline");
    within(&directory, "convert a.json -o p.csv").quietly(0);
    starts("p.csv", "operation,");
    within(&directory, "advise a.json -o advice.json").quietly(0);
    starts("advice.json", "{");
    for (word, expected) in [
        ("junt", "did you mean \"junit\"?"),
        ("html", "there are table, json, markdown, github, junit"),
    ] {
        let args = format!("compare a.json b.json -o {word}=out.xml");
        let refused = within(&directory, &args).refusal();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn a_slow_down_below_the_threshold_is_named() {
    let directory = directory();
    let both = |ns| {
        [
            operation("f", ns, 0.002, ""),
            operation("g", 1e6, 0.002, ""),
        ]
    };
    write(directory.path(), "a.json", &both(1e6));
    write(directory.path(), "b.json", &both(1.033e6));
    let ended = within(&directory, "compare a.json b.json --gate").quietly(0);
    let end = "2 unchanged; 1 worse by less than the threshold (f on cpu +3.3 %); gate passed";
    assert!(ended.stdout.contains(end), "{ended:#?}");
    let faster = within(&directory, "compare b.json a.json --gate").quietly(0);
    assert!(!faster.stdout.contains("less than"), "{faster:#?}");
}

/// A file of hyperfine without its samples.
fn hyperfine(seconds: f64) -> String {
    format!(
        r#"{{"results": [{{"command": "make", "mean": {seconds}, "median": {seconds}, "min": {seconds}, "max": {seconds}, "stddev": 0.0}}]}}"#
    )
}

#[test]
fn a_folder_of_files_says_how_to_name_them() {
    let directory = directory();
    let folder = directory.path().join("results");
    fs::create_dir(&folder).unwrap();
    for run in 0..3 {
        fs::write(folder.join(format!("{run}.json")), hyperfine(1.0)).unwrap();
    }
    let refused = within(&directory, "show results").refusal();
    let expected = "results: the folder holds 3 .json file(s), of hyperfine; name them: \
                    results/*.json";
    assert!(refused.contains(expected), "{refused}");
}

#[test]
fn a_note_of_several_files_is_printed_once() {
    let directory = directory();
    let mut args = "compare --baseline".to_owned();
    for side in ["old", "new"] {
        for run in 0..4 {
            let name = format!("{side}-{run}.json");
            fs::write(directory.path().join(&name), hyperfine(1.0)).unwrap();
            args += &format!(" {name}");
        }
        args += if side == "old" { " --current" } else { "" };
    }
    let ended = within(&directory, &args);
    let note = "note: old-0.json and 7 more: the file holds no samples";
    assert!(ended.stderr.starts_with(note), "{ended:#?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
}

#[test]
fn wrong_use_says_what_to_write() {
    let directory = directory();
    for name in ["a.json", "b.json", "c.json"] {
        write(
            directory.path(),
            name,
            &[steady("test_words.py::test_count", 1e6)],
        );
    }
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("bin.json", "no profile");
    write("empty.json", "{}");
    write("tool.json", &hyperfine(1.0));
    let budget = "[[budget]]\noperation = \"test_count\"\nmax = \"1 s\"\n";
    write("budget.toml", budget);
    within(&directory, "history add a.json").quietly(0);
    for (args, expected) in [
        (
            "compare a.json bin.json",
            "of no known format, and not a breakeven profile: it is not JSON (--from; `breakeven convert --list` lists all)",
        ),
        ("show empty.json", "of no known format"),
        (
            "compare tool.json a.json --accept",
            "tool.json: not a breakeven profile",
        ),
        (
            "compare a.json b.json c.json",
            "several files per side: --baseline OLD... --current NEW...",
        ),
        ("compare --baseline a.json --gate", "--current <FILE>"),
        (
            "compare a.json b.json --threshold -5%",
            "give a fraction above zero",
        ),
        ("compare a.json b.json --alpha -5%", "-5%"),
        (
            "history show test_count",
            "did you mean \"test_words.py::test_count\"?",
        ),
    ] {
        let refused = within(&directory, args).refusal();
        assert!(refused.contains(expected), "{args}: {refused}");
        assert!(!refused.contains("\n  <BASELINE>"), "{refused}");
        assert!(!refused.contains("-- -5"), "{refused}");
    }
    #[cfg(feature = "engine")]
    {
        let refused = within(&directory, "profile python prog.py").refusal();
        assert!(
            refused.contains("breakeven profile -- ./program"),
            "{refused}"
        );
    }
    let ended = within(
        &directory,
        "compare a.json b.json --gate --budget budget.toml",
    );
    let text = ended
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        text.contains("did you mean \"test_words.py::test_count\"?"),
        "{text}"
    );
}

#[test]
fn columns_that_are_named_count() {
    let directory = directory();
    for name in ["a.json", "b.json"] {
        let name_of_it = "a_test_with_a_name_that_is_rather_long_for_a_terminal::and_case";
        write(
            directory.path(),
            name,
            &[steady(name_of_it, 1e6), operation("x", 1e6, 0.2, "")],
        );
    }
    let mut narrow = crate::command::line("compare a.json b.json");
    narrow.command.current_dir(&directory).env("COLUMNS", "60");
    let narrow = narrow.run().quietly(0);
    assert!(narrow.stdout.contains("COLUMNS=160"), "{narrow:#?}");
    let mut wide = crate::command::line("compare a.json b.json");
    wide.command.current_dir(&directory).env("COLUMNS", "160");
    let wide = wide.run().quietly(0);
    assert!(!wide.stdout.contains("left out: runs"), "{wide:#?}");
}
