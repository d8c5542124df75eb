//! Every file below `tests/data/FORMAT` is recognised as exactly that format.

use std::fs;

use breakeven_import::{Format, Options, read};

use crate::support::data;

#[test]
fn every_file_is_recognised_as_its_format() {
    let mut seen = Vec::new();
    for folder in fs::read_dir(data("")).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name().into_string().unwrap();
        if !folder.file_type().unwrap().is_dir() {
            continue;
        }
        for file in fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let imported = read(&path, &Options::default());
            // A table is told by `--columns` alone.
            let told = match &imported {
                Err(_) if name == "table" => Format::named(&name).unwrap(),
                read => read.as_ref().expect(path.to_str().unwrap()).format.unwrap(),
            };
            // Formats of one tool share a folder.
            assert!(told.name().starts_with(&name), "{}: {told}", path.display());
            seen.push(told.name());
        }
    }
    for format in Format::all() {
        assert!(
            seen.contains(&format.name()),
            "{format} has no file in tests/data"
        );
    }
}
