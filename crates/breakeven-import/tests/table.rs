//! Tables whose columns are named.

use std::io::Cursor;
use std::str::FromStr;

use breakeven_import::{Columns, Format, Imported, Options, read, read_from};
use insta::assert_snapshot;

use crate::support::{data, refused, summary};

fn options(columns: &str) -> Options {
    Options {
        columns: Some(Columns::from_str(columns).unwrap()),
        ..Options::default()
    }
}

#[track_caller]
fn imported(name: &str, columns: &str) -> Imported {
    read(&data(name), &options(columns)).expect(name)
}

#[track_caller]
fn text(text: &str, columns: &str) -> Imported {
    read_from(Cursor::new(text.to_owned()), "file", &options(columns)).expect(text)
}

#[test]
fn rows_are_samples_and_a_column_reports_the_runs() {
    let columns = "name=case,device=device,size=elements,run=process,time=wall,unit=unit";
    assert_snapshot!(summary(&imported("table/runs.csv", columns)));
}

#[test]
fn a_real_file_of_another_tool() {
    assert_snapshot!(summary(&imported(
        "table/hyperfine.csv",
        "name=command,time=median,unit=s"
    )));
}

#[test]
fn json_lines_whose_times_have_their_units() {
    assert_snapshot!(summary(&imported(
        "table/lines.jsonl",
        "name=bench,time=took,size=n,run=worker"
    )));
}

#[test]
fn separators_rates_and_marks() {
    let tab = text("\u{feff}a\tb\nf\t4\n\n f\t5\n", "name=a,time=b,unit=ops/s");
    assert_eq!(tab.profile.operations[0].runs[0].samples_ns, [2.5e8, 2e8]);
    let quoted = text("\"a;a;a;a\",b\n\"f,g\",4\n", "name=a;a;a;a,time=b,unit=ns");
    assert_eq!(quoted.profile.operations[0].name, "f,g");
}

#[test]
fn a_profile_stays_one_where_columns_are_named() {
    let profile = r#"{"format": "breakeven-profile", "version": 1, "operations": [{"name": "f", "samples_ns": [1]}]}"#;
    assert!(text(profile, "name=a,time=b").format.is_none());
}

#[test]
fn what_is_wrong_in_a_table() {
    let refused = |text: &str, columns: &str| refused(text, &options(columns));
    let cases = [
        ("", "name=a,time=b,unit=ms"),
        ("a,b\n", "name=a,time=b,unit=ms"),
        ("a,b\nf,1\n", "name=x,time=b,unit=ms"),
        ("a,b,b\nf,1,2\n", "name=a,time=b,unit=ms"),
        ("a,b\nf,1,2\n", "name=a,time=b,unit=ms"),
        ("a,b\nf,fast\n", "name=a,time=b,unit=ms"),
        ("a;b\nf;1,5\n", "name=a,time=b,unit=ms"),
        ("a,b\nf,1\n", "name=a,time=b"),
        ("a,b\nf,1 parsec\n", "name=a,time=b"),
        ("a,b\nf,1 ms\n", "name=a,time=b,unit=ms"),
        ("a,b\nf,1\n", "name=a,time=b,unit=parsec"),
        ("a,b,u\nf,1,parsec\n", "name=a,time=b,unit=u"),
        ("a,b,n\nf,1,-3\n", "name=a,time=b,unit=ms,size=n"),
        ("a,b\nf,-1\n", "name=a,time=b,unit=ms"),
        ("{\"a\": \"f\"}\n", "name=a,time=b,unit=ms"),
        ("{\"b\": 2}\n{\"b\": 3}\n", "name=a,time=b,unit=ms"),
        ("{\"a\": \"f\", \"b\": 2\n", "name=a,time=b,unit=ms"),
        ("{\"a\": \"f\", \"b\": [1]}\n", "name=a,time=b,unit=ms"),
        ("{\"a\": \"f\", \"b\": 1} {}\n", "name=a,time=b,unit=ms"),
    ];
    let said = cases.map(|(text, columns)| refused(text, columns));
    assert_snapshot!(said.join("\n"));
}

#[test]
fn columns_and_a_format_are_one_too_many() {
    let both = Options {
        from: Format::named("pyperf"),
        ..options("name=a,time=b")
    };
    assert_snapshot!(refused("a,b\n", &both));
    let neither = Options {
        from: Format::named("table"),
        ..Options::default()
    };
    assert_snapshot!(refused("a,b\n", &neither));
    let error = read(&data("table/runs.csv"), &Options::default()).unwrap_err();
    assert_snapshot!(error.message());
}
