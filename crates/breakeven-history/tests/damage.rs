//! Files that are no history, or no longer one.

use std::fs;
use std::path::Path;

use breakeven_history::{At, Branches, History, Sensitivity, changes, is_history};
use breakeven_profile::file::{FileError, FileErrorKind};
use rusqlite::Connection;

use crate::support::{commit, place, profile};

fn error(path: &Path) -> FileError {
    match History::open(path) {
        Err(error) => error,
        Ok(_) => panic!("it is no history"),
    }
}

#[test]
fn a_missing_file_is_not_made_by_reading() {
    let (_folder, path) = place();
    assert_eq!(error(&path).kind(), FileErrorKind::Io);
    assert!(!path.exists());
}

#[test]
fn other_files_and_databases_are_refused_and_stay_as_they_are() {
    let (_folder, path) = place();
    fs::write(&path, "{}").unwrap();
    assert_eq!(error(&path).kind(), FileErrorKind::NotAProfile);
    assert_eq!(fs::read(&path).unwrap(), b"{}");
    fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("CREATE TABLE songs (title TEXT)")
        .unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    assert!(is_history(&path));
    assert_eq!(error(&path).kind(), FileErrorKind::NotAProfile);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_version_is_reported() {
    let (_folder, path) = place();
    drop(History::create(&path).unwrap());
    let newer = Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 2).unwrap();
    drop(newer);
    let error = error(&path);
    assert_eq!(error.kind(), FileErrorKind::Version, "{error}");
    assert!(error.to_string().ends_with(
        "is of version 2 of the format, and this build knows up to 1; update breakeven"
    ));
}

#[test]
fn a_damaged_file_is_an_error_or_still_whole() {
    let (folder, path) = place();
    let mut history = History::create(&path).unwrap();
    for number in 0..12 {
        let times = [
            ("decode", 8.0 + number as f64),
            ("encode", 1.0 + number as f64),
        ];
        history.add(&profile(&times), &commit(number)).unwrap();
    }
    drop(history);
    let whole = fs::read(&path).unwrap();
    let damaged = folder.path().join("damaged.db");
    let use_all = || -> Result<(), FileError> {
        let mut history = History::open(&damaged)?;
        let loaded = history.load(&Branches::All)?;
        changes(&loaded, &Sensitivity::default());
        for entry in &loaded.entries {
            history.profile(entry.id)?;
        }
        history.add(&profile(&[("f", 1.0)]), &At::default())?;
        Ok(())
    };
    let mut refused = 0;
    for at in (0..whole.len()).step_by(211) {
        let mut bytes = whole.clone();
        let end = (at + 24).min(bytes.len());
        bytes[at..end].fill(0xd5);
        for side in ["-wal", "-shm"] {
            let _ = fs::remove_file(folder.path().join(format!("damaged.db{side}")));
        }
        fs::write(&damaged, &bytes).unwrap();
        refused += usize::from(use_all().is_err());
    }
    assert!(refused > 20, "{refused}");
    for length in [0, 1, 50, 100, 1_000, 4_096, 6_000, whole.len() / 2] {
        fs::write(&damaged, &whole[..length]).unwrap();
        // An empty file is a history without entries.
        assert_eq!(use_all().is_ok(), length == 0, "{length}");
    }
}
