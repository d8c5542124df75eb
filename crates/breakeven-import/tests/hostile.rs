//! Texts that no tool writes: they end in an error of one line or in a profile that can be
//! written, in little time.

use std::io::{Cursor, Write};
use std::time::{Duration, Instant};

use breakeven_import::{Format, Imported, Options, read_from};
use breakeven_profile::file;
use flate2::{Compression, write::GzEncoder};

/// Reads a text; the profile can be written and read.
#[track_caller]
fn read(format: &str, text: impl Into<Vec<u8>>) -> Result<Imported, String> {
    let options = Options {
        from: Some(Format::named(format).unwrap()),
        ..Options::default()
    };
    let start = Instant::now();
    let read = read_from(Cursor::new(text.into()), "file", &options);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "{format}: {took:?}");
    let imported = read.map_err(|error| error.to_string())?;
    let mut written = Vec::new();
    file::write_to(&imported.profile, &mut written).expect("a profile that can be written");
    let again = file::read_from(&written[..], "").expect("a profile that can be read");
    assert_eq!(again, imported.profile);
    Ok(imported)
}

fn pyperf(name: &str) -> String {
    let name = serde_json::to_string(name).unwrap();
    format!(
        r#"{{"benchmarks": [{{"metadata": {{"name": {name}}}, "runs": [{{"values": [1e-3]}}]}}]}}"#
    )
}

#[test]
fn names_of_any_content_and_length() {
    for name in ["\u{202e}drow", "\u{1b}[31mred\nline", "\"},{\"", "", " "] {
        let imported = read("pyperf", pyperf(name)).unwrap();
        let kept = &imported.profile.operations[0].name;
        assert_eq!(kept, if name.is_empty() { "(unnamed)" } else { name });
    }
    let long = "n".repeat(1 << 20);
    let imported = read("pyperf", pyperf(&long)).unwrap();
    assert!(imported.profile.operations[0].name.starts_with("nnn"));
    assert!(imported.profile.operations[0].name.len() < 2_000);
    let shortened = "1 name(s) longer than 65536 bytes are shortened";
    assert_eq!(imported.notes, [shortened]);
    let go = format!("Benchmark_{long}-2 1 5 ns/op\n");
    assert_eq!(read("go", go).unwrap().notes, [shortened]);
    let catch2 = format!(
        "<Catch><TestCase name=\"{long}\"><BenchmarkResults name=\"b\"><mean value=\"5\"/>\
         </BenchmarkResults></TestCase></Catch>"
    );
    let catch2 = read("catch2", catch2).unwrap();
    assert!(catch2.notes.iter().any(|note| note == shortened));
}

#[test]
fn huge_and_tiny_numbers() {
    let values = r#"{"benchmarks": [{"runs": [{"values": [1e308, 1e-320, -0.0, -1, NaN, -Infinity, null, 0]}]}]}"#;
    let imported = read("pyperf", values).unwrap();
    assert_eq!(
        imported.profile.operations[0].runs[0].samples_ns,
        [1e-320 * 1e9, 0.0, 0.0]
    );
    let [not_times, mended] = &imported.notes[..] else {
        panic!("{:?}", imported.notes);
    };
    assert!(not_times.contains("5 value(s)") && mended.contains("is not JSON"));
    assert!(
        read(
            "pyperf",
            r#"{"benchmarks": [{"runs": [{"values": [1e999]}]}]}"#
        )
        .is_err()
    );
    assert!(read("go", "BenchmarkA 1 1e400 ns/op\n").is_err());
}

#[test]
fn claims_of_millions_cost_nothing() {
    let claimed = r#"[{"benchmark": "a", "mode": "sample", "forks": 10000000, "primaryMetric": {"scoreUnit": "ns/op",
        "rawDataHistogram": [[[[5, 1e18], [7, 10000000]]]]}}]"#;
    let imported = read("jmh", claimed).unwrap();
    assert_eq!(imported.profile.operations[0].runs.len(), 1);
    let catch2 = r#"<Catch><BenchmarkResults name="a" samples="10000000"><mean value="5"/></BenchmarkResults></Catch>"#;
    assert_eq!(
        read("catch2", catch2).unwrap().profile.operations[0]
            .runs
            .len(),
        1
    );
}

#[test]
fn deep_nesting() {
    for format in [
        "pyperf",
        "jmh",
        "google-benchmark",
        "pytest-benchmark",
        "benchmarkdotnet",
    ] {
        for deep in ["[", "{\"a\":"] {
            let said = read(format, deep.repeat(100_000)).unwrap_err();
            assert!(said.len() < 1_000 && said.lines().count() == 1, "{said}");
        }
    }
    let said = read("catch2", format!("<Catch>{}", "<Section>".repeat(100_000))).unwrap_err();
    assert!(said.contains("nested more than 256 deep"), "{said}");
    let said = read("divan", "│  ".repeat(100_000)).unwrap_err();
    assert!(said.contains("no times"), "{said}");
}

#[test]
fn many_entries_of_a_history() {
    let entry = |n: usize| {
        format!(
            r#"{{"commit": {{"id": "{n}"}}, "date": {n}, "benches": [{{"name": "a", "unit": "ns", "value": 1}}]}}"#
        )
    };
    let entries: Vec<String> = (0..20_000).map(entry).collect();
    let text = format!(
        r#"{{"lastUpdate": 1, "entries": {{"A": [{0}], "B": [{0}]}}}}"#,
        entries.join(",")
    );
    let imported = read("github-action-benchmark", text).unwrap();
    assert_eq!(imported.history.len(), 20_000);
    assert_eq!(imported.history[0].profile.operations.len(), 2);
}

#[test]
fn a_folder_of_links_that_lead_back() {
    let directory = tempfile::tempdir().unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(directory.path(), directory.path().join("new")).unwrap();
    let read = breakeven_import::read(directory.path(), &Options::default());
    let said = read.unwrap_err().to_string();
    assert!(said.contains("holds no results of a tool"), "{said}");
}

/// 300 MB in 300 KB: what is not bounded otherwise is not read as a whole.
#[test]
fn a_compressed_text_that_is_too_long_is_refused() {
    let lines = "BenchmarkX-2 1 5 ns/op\n".repeat(50_000);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..263 {
        packed.write_all(lines.as_bytes()).unwrap();
    }
    let packed = packed.finish().unwrap();
    for format in ["go", "divan", "catch2"] {
        let error = read(format, packed.clone()).unwrap_err();
        assert!(error.contains("more than 256 MiB"), "{error}");
    }
}
