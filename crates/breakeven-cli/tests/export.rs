//! `breakeven convert --to`: every format to a file and to the standard output.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::command::{Breakeven, Ended, directory, line, show};

const FORMATS: [&str; 7] = [
    "chrome",
    "speedscope",
    "collapsed",
    "flamegraph",
    "bmf",
    "markdown",
    "csv",
];

/// The profile that the formats of `show` are tested on: operations, no timeline.
fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample.json")
}

fn export(file: &Path, format: &str) -> Breakeven {
    line("convert").arg(file).args("--to").arg(format)
}

#[track_caller]
fn printed(format: &str) -> Ended {
    export(&sample(), format).run().quietly(0)
}

#[test]
fn every_format_is_the_same_in_a_file_and_on_stdout() {
    let directory = directory();
    for format in FORMATS {
        let stdout = printed(format).stdout;
        let path = directory.path().join(format);
        fs::write(&path, "old").unwrap();
        let ended = export(&sample(), format).args("-o").arg(&path).run();
        assert_eq!(ended.quietly(0).stdout, "");
        assert_eq!(fs::read_to_string(&path).unwrap(), stdout, "{format}");
        let dash = export(&sample(), format).args("-o -").run();
        assert_eq!(dash.quietly(0).stdout, stdout, "{format}");
    }
    // Beside the files there is nothing left.
    assert_eq!(
        fs::read_dir(directory.path()).unwrap().count(),
        FORMATS.len()
    );
}

#[test]
fn each_format_is_what_it_says() {
    let trace = printed("chrome").json();
    assert!(trace["traceEvents"].as_array().unwrap().len() > 20);
    let file = printed("speedscope").json();
    let schema = "https://www.speedscope.app/file-format-schema.json";
    assert_eq!(file["$schema"], schema);
    assert!(printed("flamegraph").stdout.starts_with("<?xml"));
    assert_snapshot!(printed("collapsed").stdout, @"
    cpu;conv2d 8047750
    cpu;matrix_multiply 2104600
    cuda:nvidia-h200;conv2d 1104600
    cuda:nvidia-h200;matrix_multiply 25046000
    vulkan:llvmpipe (software);conv2d 104780000
    ");
    for format in ["markdown", "csv"] {
        let shown = show(&sample(), &format!("--format {format}")).quietly(0);
        assert_eq!(printed(format).stdout, shown.stdout);
    }
}

#[test]
fn a_profile_of_nothing_is_refused_and_the_old_file_stays() {
    let directory = directory();
    let (file, old) = (
        directory.path().join("p.json"),
        directory.path().join("old"),
    );
    fs::write(&file, "{\"format\": \"breakeven-profile\", \"version\": 1}").unwrap();
    fs::write(&old, "old").unwrap();
    for format in FORMATS {
        let ended = export(&file, format).args("-o").arg(&old).run();
        let said = ended.refusal().replace(file.to_str().unwrap(), "p.json");
        let what = match format {
            "markdown" | "csv" => {
                "the profile holds no operations to make a table of; measure again, or give \
                 --to chrome for a timeline, --to collapsed for stacks"
            }
            _ => {
                "the profile holds no times to export: no samples, stacks or timeline; measure \
                 again and see `breakeven show` for what failed"
            }
        };
        assert_eq!(said, format!("error: p.json: {what}\n"), "{format}");
        assert_eq!(fs::read_to_string(&old).unwrap(), "old", "{format}");
    }
}

#[test]
fn a_target_that_cannot_be_written_is_found_before_the_profile_is_read() {
    let directory = directory();
    let to = |path: &Path| {
        let said = export(Path::new("no.json"), "chrome")
            .args("-o")
            .arg(path)
            .run();
        said.refusal()
            .replace(directory.path().to_str().unwrap(), "[dir]")
    };
    assert_snapshot!(to(directory.path()), @"error: [dir]: is a directory; name a file in it");
    assert_snapshot!(to(&directory.path().join("missing/p.svg")), @"error: [dir]/missing/p.svg: the directory [dir]/missing cannot be used: No such file or directory (os error 2)");
    let file = directory.path().join("p.json");
    fs::copy(sample(), &file).unwrap();
    let itself = directory.path().join(".").join("p.json");
    let said = export(&file, "csv").args("-o").arg(&itself).run().refusal();
    assert!(
        said.ends_with("p.json: is one of the profiles; name another file to write\n"),
        "{said}"
    );
    assert_eq!(fs::read(&file).unwrap(), fs::read(sample()).unwrap());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_reported_with_the_file() {
    for format in FORMATS {
        let ended = export(&sample(), format).args("-o /dev/full").run();
        assert_eq!(ended.code, Some(1), "{format}: {ended:#?}");
        let said = ended.stderr;
        assert!(said.starts_with("error: /dev/full: "), "{format}: {said}");
        assert!(said.contains("No space left on device"), "{format}: {said}");
        assert_eq!(said.lines().count(), 1, "{format}: {said}");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    for format in FORMATS {
        let mut child = export(&sample(), format).command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let ended = Ended::of(output, std::time::Duration::ZERO);
        // A short one may have been written before.
        assert!(matches!(ended.code, Some(0 | 141)), "{format}: {ended:#?}");
        assert_eq!(ended.stderr, "", "{format}");
    }
}

#[test]
fn a_format_that_is_none() {
    let said = export(&sample(), "xml").run().refusal();
    assert!(
        said.contains(
            "[possible values: profile, chrome, speedscope, collapsed, flamegraph, pprof, bmf, markdown, csv]"
        ),
        "{said}"
    );
}

/// The name of an operation in the error reached the terminal as it was.
#[test]
fn a_name_in_the_refusal_of_a_comparison_moved_the_terminal() {
    let directory = directory();
    let path = directory.path().join("baseline.json");
    let name = "x\\u001b]0;title\\u0007";
    let text = format!(
        r#"{{"format":"breakeven-profile","version":1,"operations":[{{"name":"{name}","samples_ns":[5]}}]}}"#
    );
    fs::write(&path, text).unwrap();
    let against = line("compare").arg(sample()).arg(&path);
    let refusal = against.run().refusal();
    assert!(
        refusal.contains("x\u{fffd}]0;title\u{fffd} on cpu"),
        "{refusal}"
    );
}
