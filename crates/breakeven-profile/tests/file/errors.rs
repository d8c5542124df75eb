//! The errors' words: what, where, what to do, in one line.

use std::collections::BTreeMap;
use std::io::{self, Read};

use breakeven_profile::file::{self, FileErrorKind};
use breakeven_profile::profile::{CountedEnergy, Counter, Energy, Operation, Profile, Run};
use insta::assert_snapshot;

use super::{parse, with_operations};

fn refused(text: impl AsRef<[u8]>) -> String {
    parse(text).unwrap_err().to_string()
}

fn refused_operations(operations: &str) -> String {
    refused(with_operations(operations))
}

#[test]
fn no_profile_at_all() {
    assert_snapshot!(refused(""), @"profile.json: the file is empty; write the profile again");
    assert_snapshot!(refused(" \n\n "), @"profile.json: the file is empty; write the profile again");
    assert_snapshot!(refused("[1, 2]"), @"profile.json: not a breakeven profile: it is no JSON object, and a profile is one");
    assert!(
        refused("[ 50.00%] ··· bench").ends_with(r#"it is no JSON object, and a profile is one"#)
    );
    assert!(refused("· Creating environments").ends_with(r#"it is not JSON"#));
    assert!(refused("日本").ends_with(r#"it is not JSON"#));
    assert!(refused(b"\xc3\x28\x01\x02").ends_with(r#"it is not text"#));
    assert_snapshot!(refused("<html>"), @"profile.json: not a breakeven profile: it looks like HTML or XML");
    assert_snapshot!(refused(b"\x1f\x8b\x08\x00"), @"profile.json: not a breakeven profile: it is a gzip file; decompress it first");
    assert_snapshot!(refused(b"\xff\xfe{\0"), @"profile.json: not a breakeven profile: it is UTF-16 text; save it as UTF-8");
    assert_snapshot!(refused("{}"), @r#"profile.json: not a breakeven profile: line 1, column 2: missing field `format`; a profile begins {"format": "breakeven-profile", "version": 1"#);
    assert_snapshot!(refused(r#"{"context": {}, "benchmarks": [], "version": "1.0.0"}"#), @r#"profile.json: not a breakeven profile: line 1, column 52: version: invalid type: string "1.0.0", expected a whole number, 0 or more; a profile begins {"format": "breakeven-profile", "version": 1"#);
    assert_snapshot!(refused(r#"{"format": "criterion"}"#), @r#"profile.json: not a breakeven profile: its "format" is "criterion"; a profile begins {"format": "breakeven-profile", "version": 1"#);
    assert_snapshot!(refused("[".repeat(100_000)), @"profile.json: not a breakeven profile: it is no JSON object, and a profile is one");
}

#[test]
fn another_version() {
    assert_snapshot!(refused(r#"{"format": "breakeven-profile"}"#), @r#"profile.json: the profile has no "version"; a profile begins {"format": "breakeven-profile", "version": 1"#);
    assert_snapshot!(refused(r#"{"format": "breakeven-profile", "version": 2, "operations": 7}"#), @"profile.json: the profile is of version 2 and this build reads version 1; update breakeven, or write the profile again with this one");
    assert_snapshot!(refused(r#"{"version": 2, "format": "breakeven-profile"}"#), @"profile.json: the profile is of version 2 and this build reads version 1; update breakeven, or write the profile again with this one");
    assert_snapshot!(refused(r#"{"format": "breakeven-profile", "version": "1"}"#), @r#"profile.json: not a breakeven profile: line 1, column 46: version: invalid type: string "1", expected a whole number, 0 or more; a profile begins {"format": "breakeven-profile", "version": 1"#);
    assert_snapshot!(refused(r#"{"format": "breakeven-profile", "version": 0}"#), @"profile.json: the profile is of version 0 and this build reads version 1; update breakeven, or write the profile again with this one");
}

#[test]
fn broken_text() {
    assert_snapshot!(refused("{\"format\": \"breakeven-profile\",\n\"version\": 1, \"operations\": [{\"name\": \"a\", \"samples_ns\": [1,"), @"profile.json:2:60: operations[0].samples_ns: the file ends early; its writer was stopped or the copy is incomplete: copy or measure again");
    assert_snapshot!(refused_operations("{\"name\": \"a\",\n}"), @"profile.json:3:1: operations[0]: not valid JSON: trailing comma");
    assert_snapshot!(refused(with_operations("") + "\n{}"), @"profile.json:3:1: not valid JSON: something follows the end of the document");
    assert_snapshot!(refused(b"{\"format\": \"break\xffeven\"}"), @"profile.json:1:18: format: not valid JSON: a text is not UTF-8; save the file as UTF-8");
    let deep = "[".repeat(100_000);
    assert_snapshot!(refused_operations(&format!(r#"{{"name": "a", "attributes": {{"x": {deep}"#)), @"profile.json:2:173: operations[0].attributes.x[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]…: not valid JSON: lists or objects are nested more than 120 deep");
    assert_snapshot!(refused_operations(&deep), @"profile.json:2:16: operations[0][0]: invalid type: list, expected a text in quotes");
}

#[test]
fn a_name_of_ten_megabytes() {
    let long = "n".repeat(10 << 20);
    assert_snapshot!(refused_operations(&format!("{{\"name\": \"{long}\"}}")), @"profile.json: operations[0]: the name is 10485760 bytes long; shorten it to at most 65536");
    assert_snapshot!(refused_operations(&format!("{{\"name\": \"a\", \"device\": \"{long}\"}}")), @"profile.json: operations[0]: the name is 10485760 bytes long; shorten it to at most 65536");
    assert_snapshot!(refused_operations(&format!("{{\"name\": \"a\", \"runs\": [{{\"samples_ns\": [], \"phases_ns\": {{\"{long}\": [1]}}}}]}}")), @"profile.json: operations[0].runs[0].phases_ns: the name is 10485760 bytes long; shorten it to at most 65536");
    let beside = |fields: &str| {
        refused(format!(
            "{{\"format\": \"breakeven-profile\", \"version\": 1, {fields}}}"
        ))
    };
    assert_snapshot!(beside(&format!("\"stacks\": [{{\"frames\": [\"a\", \"{long}\"], \"calls\": 1, \"total_ns\": 1, \"self_ns\": 1}}]")), @"profile.json: stacks[0]: the name is 10485760 bytes long; shorten it to at most 65536");
    assert_snapshot!(beside(&format!("\"timeline\": {{\"threads\": [\"{long}\"]}}")), @"profile.json: timeline.threads: the name is 10485760 bytes long; shorten it to at most 65536");
    assert_snapshot!(beside(&format!("\"timeline\": {{\"events\": [{{\"name\": \"a\", \"device\": \"{long}\", \"start_ns\": 0, \"duration_ns\": 1}}]}}")), @"profile.json: timeline.events[0]: the name is 10485760 bytes long; shorten it to at most 65536");
    // What could not be read is not written either.
    let profile = Profile {
        operations: vec![Operation::new(long, "cpu")],
        ..Profile::default()
    };
    assert_snapshot!(file::write_to(&profile, io::sink()).unwrap_err(), @"operations[0]: the name is 10485760 bytes long; shorten it to at most 65536");
}

#[test]
fn wrong_times() {
    let samples = |list: &str| {
        refused_operations(&format!(
            "{{\"name\": \"a\", \"runs\": [\n{{\"samples_ns\": {list}}}]}}"
        ))
    };
    assert_snapshot!(samples("[1, 2, -5]"), @"profile.json: operations[0].runs[0].samples_ns[2]: -5 ns is not a time; times are from 0 to 2^63 ns");
    assert_snapshot!(samples("[1, -0.5]"), @"profile.json: operations[0].runs[0].samples_ns[1]: -0.5 ns is not a time; times are from 0 to 2^63 ns");
    assert_snapshot!(samples("[null]"), @"profile.json:3:20: operations[0].runs[0].samples_ns[0]: invalid type: null, expected a number");
    assert_snapshot!(samples("[\"1 ms\"]"), @r#"profile.json:3:22: operations[0].runs[0].samples_ns[0]: invalid type: string "1 ms", expected a number"#);
    assert_snapshot!(samples("[1e19]"), @"profile.json: operations[0].runs[0].samples_ns[0]: 10000000000000000000 ns is not a time; times are from 0 to 2^63 ns");
    assert_snapshot!(samples("[1e999]"), @"profile.json:3:21: operations[0].runs[0].samples_ns[0]: not valid JSON: number out of range");
    assert_snapshot!(samples("812000"), @"profile.json:3:21: operations[0].runs[0].samples_ns: invalid type: integer `812000`, expected a list");
    assert_snapshot!(refused_operations(r#"{"name": "a", "runs": [{"samples_ns": [], "phases_ns": {"kernel": [1, true]}}]}"#), @"profile.json:2:89: operations[0].runs[0].phases_ns.kernel[1]: invalid type: boolean `true`, expected a number");
    assert_snapshot!(refused_operations(r#"{"name": "a", "runs": [{"samples_ns": [], "first_call_ns": -1}]}"#), @"profile.json: operations[0].runs[0].first_call_ns: -1 ns is not a time; times are from 0 to 2^63 ns");
}

#[test]
fn wrong_operations() {
    assert_snapshot!(refused_operations(r#"{"name": "a"}, {"name": "b"},
        {"name": "a", "size": null, "device": "cpu"}
        "#), @"profile.json: operations[2]: the same operation as operations[0], a on cpu; give them different sizes, or put both in one operation as two runs");
    assert_snapshot!(refused_operations(r#"{"name": "a", "samples_ns": [], "runs": []}"#), @"profile.json:2:53: operations[0]: duplicate field `runs`");
    assert_snapshot!(refused_operations(r#"{"name": ""}"#), @"profile.json: operations[0].name: the name is empty; give the operation a name");
    assert_snapshot!(refused_operations(r#"{"samples_ns": [1]}"#), @"profile.json:2:34: operations[0]: missing field `name`");
    assert_snapshot!(refused_operations(r#"{"name": "a", "size": "big"}"#), @r#"profile.json:2:42: operations[0].size: invalid type: string "big", expected a whole number, 0 or more"#);
    assert_snapshot!(refused_operations(r#"{"name": "a", "size": 1, "size": 2}"#), @"profile.json:2:46: operations[0]: duplicate field `size`");
    assert_snapshot!(refused_operations(r#"{"name": "a", "runs": [{}]}"#), @"profile.json:2:40: operations[0].runs[0]: missing field `samples_ns`");
    assert_snapshot!(refused_operations(r#"{"name": "a", "runs": [[[1, 2]]]}"#), @"profile.json:2:39: operations[0].runs[0]: invalid type: list, expected a time or a run");
    let moments = |count, min, total| {
        refused_operations(&format!(
            r#"{{"name": "a", "runs": [{{"samples_ns": [1, 2], "moments":
            {{"count": {count}, "total": {total}, "mean": 1, "m2": 0, "min": {min}, "max": 2}}}}]}}"#
        ))
    };
    assert_snapshot!(moments(0, 1, 2), @"profile.json: operations[0].runs[0].moments: they count 0 of the calls, and samples_ns has 2; count all calls of the run");
    assert_snapshot!(moments(1, 1, 2), @"profile.json: operations[0].runs[0].moments: they count 1 of the calls, and samples_ns has 2; count all calls of the run");
    assert_snapshot!(moments(2, -1, 2), @"profile.json: operations[0].runs[0].moments: -1 ns is not a time; times are from 0 to 2^63 ns");
    assert_snapshot!(moments(2, 1, -2), @"profile.json: operations[0].runs[0].moments: -2 ns is not a time; times are from 0 to 2^63 ns");
    assert_snapshot!(refused(r#"{"format": "breakeven-profile", "version": 1, "operations": [], "operations": []}"#), @"profile.json:1:76: duplicate field `operations`");
    assert_snapshot!(refused(r#"{"format": "breakeven-profile", "version": 1, "environment": {"gpus": [{"name": "x"}]}}"#), @"profile.json:1:84: environment.gpus[0]: missing field `id`");
}

#[test]
fn wrong_types_have_the_names_of_json() {
    let refused_header = |fields: &str| {
        refused(format!(
            "{{\"format\": \"breakeven-profile\", \"version\": 1, {fields}}}"
        ))
    };
    assert_snapshot!(refused_header(r#""interrupted": 1"#), @"profile.json:1:62: interrupted: invalid type: integer `1`, expected true or false");
    assert_snapshot!(refused_header(r#""created": {}"#), @"profile.json:1:57: created: invalid type: object, expected a text in quotes");
    assert_snapshot!(refused_header(r#""environment": {"cpu": "fast"}"#), @r#"profile.json:1:75: environment.cpu: invalid type: string "fast", expected an object"#);
    assert_snapshot!(refused_header(r#""environment": {"clock": {"source": "os", "read_ns": null}}"#), @"profile.json:1:103: environment.clock.read_ns: invalid type: null, expected a number");
    assert_snapshot!(refused_header(r#""operations": {}"#), @"profile.json:1:60: operations: invalid type: object, expected a list");
    assert_snapshot!(refused_header(r#""operations": [7]"#), @"profile.json:1:62: operations[0]: invalid type: integer `7`, expected an object");
}

#[test]
fn wrong_loads() {
    let refused_load = |load: &str| {
        refused(format!(
            "{{\"format\": \"breakeven-profile\", \"version\": 1, \"load\": {load}}}"
        ))
    };
    let sample = |fields: &str| {
        refused_load(&format!(
            "[{{\"interval_ns\": 1, \"devices\": [{{\"device\": \"cpu\", \"samples\": [{{\"start_ns\": 0, \"duration_ns\": 1, {fields}}}]}}]}}]"
        ))
    };
    assert_snapshot!(refused_load("{}"), @"profile.json:1:54: load: invalid type: object, expected a list");
    assert_snapshot!(refused_load("[7]"), @"profile.json:1:56: load[0]: invalid type: integer `7`, expected an object");
    assert_snapshot!(refused_load("[{}]"), @"profile.json:1:57: load[0]: missing field `interval_ns`");
    assert_snapshot!(refused_load("[{\"interval_ns\": -1}]"), @"profile.json:1:74: load[0].interval_ns: invalid value: floating point `-1.0`, expected a time in ns, from 0 to 2^63");
    assert_snapshot!(sample("\"used\": 1.5"), @"profile.json: load[0].devices[0].samples[0].used: the use is not a fraction; give numbers from 0 to 1");
    assert_snapshot!(sample("\"clock_hz\": [3, 2, 1]"), @"profile.json: load[0].devices[0].samples[0].clock_hz: minimum, mean and maximum are not in this order");
    assert_snapshot!(sample("\"power_watts\": [1, 2]"), @"profile.json:1:172: load[0].devices[0].samples[0].power_watts: expected a number, or a list of minimum, mean and maximum");
    assert_snapshot!(sample("\"memory_bytes\": \"much\""), @"profile.json:1:173: load[0].devices[0].samples[0].memory_bytes: expected a number, or a list of minimum, mean and maximum");
    assert_snapshot!(sample("\"limited\": -1"), @"profile.json:1:163: load[0].devices[0].samples[0].limited: invalid value: integer `-1`, expected a whole number, 0 or more");
    assert_snapshot!(sample("\"limits\": [\"power\"]"), @"profile.json:1:160: load[0].devices[0].samples[0].limits: invalid type: list, expected an object");
}

#[test]
fn wrong_energy() {
    let energy = |fields: &str| {
        refused_operations(&format!(
            r#"{{"name": "a", "runs": [{{"samples_ns": [1], "energy": {{{fields}}}}}]}}"#
        ))
    };
    let counter = |fields: &str| {
        energy(&format!(
            r#""calls": 1, "over_ns": 1, "counters": [{{"of": "cpu", "how": "rapl", {fields}}}]"#
        ))
    };
    assert_snapshot!(energy(r#""calls": 0, "over_ns": 1, "counters": []"#), @"profile.json: operations[0].runs[0].energy: it is the energy of no calls; give 1 or more, or leave it out");
    assert_snapshot!(energy(r#""over_ns": 1, "counters": []"#), @"profile.json:2:98: operations[0].runs[0].energy: missing field `calls`");
    assert_snapshot!(energy(r#""calls": 1, "over_ns": 1"#), @"profile.json:2:94: operations[0].runs[0].energy: missing field `counters`");
    assert_snapshot!(energy(r#""calls": 1, "over_ns": -1, "counters": []"#), @"profile.json: operations[0].runs[0].energy.over_ns: -1 ns is not a time; times are from 0 to 2^63 ns");
    assert_snapshot!(counter(r#""joules": -0.5"#), @"profile.json: operations[0].runs[0].energy.counters[0]: -0.5 is no amount of energy or power; give 0 or more");
    assert_snapshot!(counter(r#""joules": "5 J""#), @r#"profile.json:2:152: operations[0].runs[0].energy.counters[0].joules: invalid type: string "5 J", expected a number"#);
    assert_snapshot!(counter(r#""idle_watts": 3"#), @"profile.json:2:153: operations[0].runs[0].energy.counters[0]: missing field `joules`");
    assert_snapshot!(counter(r#""joules": 1, "idle_watts": -3"#), @"profile.json: operations[0].runs[0].energy.counters[0]: -3 is no amount of energy or power; give 0 or more");
}

#[test]
fn wrong_counters() {
    let counted = |counters: &str, values: &str| {
        refused_operations(&format!(
            r#"{{"name": "a", "counters": {{{counters}}}, "runs": [{{"samples_ns": [1], "counters": {{{values}}}}}]}}"#
        ))
    };
    let misses = r#""misses": {"unit": ""}"#;
    assert_snapshot!(counted("", r#""misses": 1"#), @"profile.json: operations[0].runs[0].counters.misses: it is not among the operation's counters; name its unit there");
    assert_snapshot!(counted(misses, r#""misses": 1e999"#), @"profile.json:2:124: operations[0].runs[0].counters.misses: not valid JSON: number out of range");
    assert_snapshot!(counted(misses, r#""misses": null"#), @"profile.json:2:123: operations[0].runs[0].counters.misses: invalid type: null, expected a number");
    assert_snapshot!(counted(r#""misses": {"unit": 1}"#, ""), @"profile.json:2:62: operations[0].counters.misses.unit: invalid type: integer `1`, expected a text in quotes");
    assert_snapshot!(counted(r#""misses": "B""#, ""), @r#"profile.json:2:55: operations[0].counters.misses: invalid type: string "B", expected an object"#);
}

#[test]
fn counters_that_are_no_number_are_not_written() {
    let mut operation = Operation::new("a", "cpu");
    operation
        .counters
        .insert("misses".to_owned(), Counter::default());
    let counters = BTreeMap::from([("misses".to_owned(), f64::NAN)]);
    operation.runs.push(Run {
        counters,
        ..Run::default()
    });
    let profile = Profile {
        operations: vec![operation],
        ..Profile::default()
    };
    assert_snapshot!(file::write_to(&profile, io::sink()).unwrap_err(), @"operations[0].runs[0].counters.misses: NaN cannot be written in JSON; leave the value out");
}

#[test]
fn energy_that_no_reader_takes_is_not_written() {
    let written = |energy: Energy| {
        let mut operation = Operation::new("a", "cpu");
        operation.runs.push(Run {
            energy: Some(energy),
            ..Run::default()
        });
        let profile = Profile {
            operations: vec![operation],
            ..Profile::default()
        };
        file::write_to(&profile, io::sink()).unwrap_err()
    };
    assert_snapshot!(written(Energy::default()), @"operations[0].runs[0].energy: it is the energy of no calls; give 1 or more, or leave it out");
    let counters = vec![CountedEnergy {
        joules: f64::NAN,
        ..CountedEnergy::default()
    }];
    assert_snapshot!(written(Energy { calls: 1, counters, ..Energy::default() }), @"operations[0].runs[0].energy.counters[0]: NaN is no amount of energy or power; give 0 or more");
}

#[test]
fn the_parts_of_an_error_can_be_asked_for() {
    let error = parse(with_operations(
        "{\"name\": \"a\",\n  \"samples_ns\": [7, null]}",
    ))
    .unwrap_err();
    assert_eq!(error.kind(), FileErrorKind::Value);
    assert_eq!(error.path().unwrap().to_str(), Some("profile.json"));
    assert_eq!(error.line(), Some(3));
    assert_eq!(error.column(), Some(24));
    assert_eq!(error.place(), Some("operations[0].samples_ns[1]"));
    assert_snapshot!(error.message(), @"invalid type: null, expected a time or a run");
}

#[test]
fn a_long_wrong_value_does_not_fill_the_screen() {
    let long = "x".repeat(1_000_000);
    let error = refused_operations(&format!(r#"{{"name": "a", "size": "{long}"}}"#));
    assert!(error.len() < 400, "{}", error.len());
}

#[test]
fn a_reader_that_fails_reports_why() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the cable was pulled"))
        }
    }
    let at_once = file::read_from(Failing, "<stdin>").unwrap_err();
    assert_eq!(at_once.kind(), FileErrorKind::Io);
    assert_snapshot!(at_once, @"<stdin>: cannot be read: the cable was pulled");
    let later = file::read_from(b"{\"format\"  ".chain(Failing), "<stdin>").unwrap_err();
    assert_snapshot!(later, @"<stdin>: cannot be read: the cable was pulled");
}
