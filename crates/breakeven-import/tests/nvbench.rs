//! nvbench's JSON with a file of samples, made by its schema.

use std::fs;

use breakeven_import::{Options, read};
use insta::assert_snapshot;

use crate::support::{data, imported, summary};

#[test]
fn samples_of_a_file_beside_it_a_mean_and_a_skipped_state() {
    let imported = imported("nvbench/copy.json");
    assert_snapshot!(summary(&imported));
    let samples = &imported.profile.operations[0].runs[0].samples_ns;
    let whole: Vec<f64> = samples.iter().map(|ns| ns.round()).collect();
    assert_eq!(whole, [100_000.0, 110_000.0, 105_000.0]);
}

#[test]
fn a_file_of_samples_that_is_not_there_or_of_another_length() {
    let directory = tempfile::tempdir().expect("a folder");
    let path = directory.path().join("copy.json");
    fs::copy(data("nvbench/copy.json"), &path).expect("a file");
    let alone = read(&path, &Options::default()).expect("means");
    assert_snapshot!(summary(&alone));
    fs::create_dir(directory.path().join("copy.json-bin")).expect("a folder");
    fs::write(directory.path().join("copy.json-bin/0.bin"), [0; 11]).expect("a file");
    let error = read(&path, &Options::default()).expect_err("an error");
    let folder = directory.path().display().to_string();
    assert_snapshot!(error.to_string().replace(&folder, "[dir]"));
    // What leads out of the folder is not read.
    let text = fs::read_to_string(&path).expect("the JSON");
    fs::write(
        &path,
        text.replace("copy.json-bin/0.bin", "../../etc/hostname"),
    )
    .expect("a file");
    let outside = read(&path, &Options::default()).expect("means");
    assert_eq!(outside.notes, alone.notes);
}
