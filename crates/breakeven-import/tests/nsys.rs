//! A database of Nsight Systems, made by its documented schema.

use std::fs;
use std::path::Path;

use breakeven_import::{Imported, Options, read};
use breakeven_profile::profile::Activity;
use insta::assert_snapshot;
use rusqlite::Connection;

use crate::support::{data, imported, paths, summary};

/// What every format records of the same story; streams and the texts of copies aside.
pub(crate) fn story() -> Activity {
    let [activity] = imported("chrome/kineto-gpu.json")
        .profile
        .activity
        .try_into()
        .expect("one");
    activity
}

#[test]
fn a_report() {
    let imported = imported("nsys/story.sqlite");
    assert_snapshot!(format!(
        "{}{}",
        summary(&imported),
        paths(&imported.profile)
    ));
    assert_eq!(imported.profile.activity, [story()]);
    let timeline = imported.profile.timeline.expect("events");
    assert_eq!(timeline.threads[0], "python (4243)");
    let gpu = &imported.profile.environment.gpus[0];
    assert_eq!(
        (gpu.id.as_str(), gpu.name.as_deref()),
        ("cuda:0", Some("NVIDIA H200"))
    );
}

#[track_caller]
fn refused(path: &Path) -> String {
    let error = read(path, &Options::default())
        .expect_err("an error")
        .to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error.replace(
        &path.parent().expect("a folder").display().to_string(),
        "[dir]",
    )
}

/// What is said of a database with these tables.
fn refused_tables(name: &str, sql: &str) -> String {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path().join(name);
    let database = Connection::open(&path).expect("a database");
    database.execute_batch(sql).expect("tables");
    drop(database);
    refused(&path)
}

#[test]
fn databases_that_are_none_of_a_report() {
    let foreign = refused_tables("a?b#c%20.sqlite", "CREATE TABLE t (id INTEGER)");
    let rocpd = refused_tables("rocpd.db", "CREATE TABLE rocpd_metadata (id INTEGER)");
    let columns = refused_tables(
        "columns.sqlite",
        "CREATE TABLE NVTX_EVENTS (begin INTEGER); INSERT INTO NVTX_EVENTS VALUES (1)",
    );
    let values = refused_tables(
        "values.sqlite",
        "CREATE TABLE NVTX_EVENTS (start, end, eventType, text);
         INSERT INTO NVTX_EVENTS VALUES ('x', 5, 59, 'a'), (9, 5, 59, 'a'), (1, 5, 59, x'00')",
    );
    assert_snapshot!([foreign, rocpd, columns, values].join("\n"));
}

#[test]
fn damaged_packed_and_open_ones() {
    let directory = tempfile::tempdir().expect("a folder");
    let whole = fs::read(data("nsys/story.sqlite")).expect("the report");
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).expect("a file");
        path
    };
    let short = refused(&write("short.sqlite", &whole[..3_000]));
    let mut damaged = whole.clone();
    damaged[600..6_000].fill(0xa5);
    let damaged = refused(&write("damaged.sqlite", &damaged));
    let head = refused(&write("head.sqlite", b"SQLite format 3\0 and no more"));
    write("open.sqlite-wal", b"log");
    let open = refused(&write("open.sqlite", &whole));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &whole).expect("memory");
    let packed = refused(&write("packed.sqlite", &packed.finish().expect("memory")));
    assert_snapshot!([short, damaged, head, open, packed].join("\n"));
}

/// The report of the tests, changed.
fn report(sql: &str) -> Imported {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.sqlite");
    fs::copy(data("nsys/story.sqlite"), &path).expect("a copy");
    let mut permissions = fs::metadata(&path).expect("a file").permissions();
    #[expect(
        clippy::permissions_set_readonly_false,
        reason = "a file of the test's"
    )]
    permissions.set_readonly(false);
    fs::set_permissions(&path, permissions).expect("a file of ours");
    let database = Connection::open(&path).expect("a database");
    database.execute_batch(sql).expect("tables");
    drop(database);
    read(&path, &Options::default()).expect(sql)
}

#[test]
fn tables_of_nsight_may_have_a_version_and_missing_ones_are_named() {
    let versions = report(
        "ALTER TABLE NVTX_EVENTS RENAME TO NVTX_EVENTS_V2;
         ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO CUPTI_ACTIVITY_KIND_KERNEL_V10;
         ALTER TABLE StringIds RENAME TO StringIds_V3;",
    );
    let plain = report("");
    assert_eq!(versions.profile, plain.profile);
    assert_eq!(versions.notes, plain.notes);
    let lacking = report("DROP TABLE NVTX_EVENTS; DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;");
    let text = summary(&lacking);
    for note in [
        "there is no range, since the report has no table NVTX_EVENTS: ",
        "there is no kernel, since the report has no table CUPTI_ACTIVITY_KIND_KERNEL: ",
        "there is no kernel on cuda:0: ",
    ] {
        assert!(text.contains(note), "{text}");
    }
}

#[test]
fn a_report_without_its_table_of_texts_says_so() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path().join("story.sqlite");
    fs::copy(data("nsys/story.sqlite"), &path).expect("a copy");
    let database = Connection::open(&path).expect("a database");
    database
        .execute_batch("DROP TABLE StringIds")
        .expect("no table");
    drop(database);
    let imported = read(&path, &Options::default()).expect("a profile");
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    let said = "there is no table StringIds: the names of kernels and calls are in it; export the report again";
    assert!(notes.iter().any(|note| note == said), "{notes:?}");
}
