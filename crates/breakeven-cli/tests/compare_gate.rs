//! What a gate of `breakeven compare` writes, and where.

use std::fs;

use insta::assert_snapshot;

use crate::command::directory;
use crate::compare::{operation, steady, within, write};

/// A CI job needs a table, a page and a list of tests: from one verdict, of one run.
#[test]
fn one_run_writes_all_formats_of_one_verdict() {
    let directory = directory();
    let written = |args: &str| {
        let args = format!(
            "compare a.json b.json --gate {args} -o junit=x.xml -o markdown=x.md -o json=x.json"
        );
        let ended = within(&directory, &args);
        let read = |name| fs::read_to_string(directory.path().join(name)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&read("x.json")).unwrap();
        let said = [ended.stdout, read("x.md"), read("x.xml")];
        (ended.code, said, json["verdict"]["outcome"].clone())
    };
    let memory = |bytes| operation("f", 1e6, 0.01, &format!(", \"memory_bytes\": {bytes}"));
    write(directory.path(), "a.json", &[memory(64)]);
    write(directory.path(), "b.json", &[memory(128)]);
    let (code, said, outcome) = written("--strict");
    assert_eq!((code, outcome.as_str()), (Some(1), Some("failed")));
    for said in said {
        assert!(
            said.contains("regression of its memory by +100.0 %"),
            "{said}"
        );
    }
    let (code, [table, _, junit], _) = written("--strict --format github");
    assert_eq!(code, Some(1));
    assert!(table.starts_with("::error"), "{table}");
    assert!(junit.contains("failures=\"1\" errors=\"0\""), "{junit}");
    // Nothing judged is no green list of tests.
    write(directory.path(), "b.json", &[operation("f", 1e6, 0.3, "")]);
    let (code, [.., junit], outcome) = written("");
    assert_eq!((code, outcome.as_str()), (Some(3), Some("inconclusive")));
    assert!(junit.contains("failures=\"0\" errors=\"1\""), "{junit}");
    // Two budgets of one operation.
    let budget = "[[budget]]\noperation = \"f\"\nmax = \"1 us\"\nmax_memory = \"64 B\"\n";
    fs::write(directory.path().join("budget.toml"), budget).unwrap();
    write(directory.path(), "b.json", &[memory(128)]);
    let (code, said, _) = written("--budget budget.toml");
    assert_eq!(code, Some(1));
    for said in said {
        for budget in [
            "exceeds its budget of 1.00 µs",
            "exceeds its budget of 64 B",
        ] {
            assert!(said.contains(budget), "{budget}: {said}");
        }
    }
}

/// The gate passes for what is decided, and names the threshold that these runs decide.
#[test]
fn a_gate_that_passes_says_what_is_undecided() {
    let directory = directory();
    let both = [steady("f", 1e6), operation("noisy", 1e6, 0.05, "")];
    for name in ["a.json", "b.json"] {
        write(directory.path(), name, &both);
    }
    let ended = within(&directory, "compare a.json b.json --gate").quietly(0);
    let (_, end) = ended
        .stdout
        .split_once("per side would be needed\n")
        .unwrap();
    assert_snapshot!(end, @r"
    1 of 2 operations undecided: runs differ by up to 4.7 %. These runs decide at a
    threshold of 7.1 %, which hides smaller changes. At 5.0 %, about 57 runs per
    side would be needed
    --require-decided fails the gate (code 3) while one is undecided

    1 inconclusive, 1 unchanged; gate passed
    ");
    let decided = "compare a.json b.json --gate --require-decided --threshold 7.1%";
    within(&directory, decided).quietly(0);
    let strict = within(&directory, "compare a.json b.json --gate --require-decided").quietly(3);
    assert_eq!(
        strict.lines_with("gate inconclusive").len(),
        1,
        "{strict:#?}"
    );
}
