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
        let format = Format::named(&name).expect(&name);
        seen.push(format.name());
        // A table is told by `--columns` alone.
        let told = (format.name() != "table").then_some(format);
        for file in fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let imported = read(&path, &Options::default());
            assert_eq!(
                imported.as_ref().ok().and_then(|imported| imported.format),
                told,
                "{}: {:?}",
                path.display(),
                imported.err()
            );
        }
    }
    for format in Format::all() {
        assert!(
            seen.contains(&format.name()),
            "{format} has no file in tests/data"
        );
    }
}
