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
            // Samples of nvbench lie beside its file.
            if path.ends_with("copy.json-bin") {
                continue;
            }
            let options = Options {
                // Collapsed stacks do not state what they count.
                count_ns: Some(1.0),
                ..Options::default()
            };
            // A table is recognised by `--columns` alone.
            let recognised = match read(&path, &options) {
                Err(_) if name == "table" => Format::named(&name).unwrap(),
                Ok(imported) => imported.format.unwrap(),
                Err(error) => panic!("{error}"),
            };
            // Formats of one tool share a folder.
            assert!(
                recognised.name().starts_with(&name),
                "{}: {}",
                path.display(),
                recognised.name()
            );
            seen.push(recognised.name());
        }
    }
    for format in Format::all() {
        assert!(
            seen.contains(&format.name()),
            "{} has no file in tests/data",
            format.name()
        );
    }
}
