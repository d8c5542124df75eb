//! Reading any bytes as a file of another tool never panics, its error is one line, and
//! what is read can be written and read again. The first byte picks the format: from the
//! front of the list, else by the content, or as a table. A database is read from a file.
#![no_main]

use std::io::Cursor;

use breakeven_import::{Format, Options, read, read_from};
use breakeven_profile::file;
use libfuzzer_sys::fuzz_target;

/// The first byte of a table; higher ones, and those behind the list, choose the format by
/// the content.
const TABLE: u8 = b'T';

/// The first byte of a database.
const DATABASE: u8 = b'N';

fuzz_target!(|bytes: &[u8]| {
    let Some((pick, text)) = bytes.split_first() else {
        return;
    };
    let columns = "name=name,time=time,unit=unit,run=run,device=device,size=size";
    let columns = columns.parse().expect("columns");
    let options = Options {
        from: Format::all().nth(usize::from(*pick)),
        columns: (*pick == TABLE).then_some(columns),
        count_ns: Some(1.0),
    };
    let imported = match *pick {
        DATABASE => {
            let path = std::env::temp_dir().join(format!("fuzz-{}.sqlite", std::process::id()));
            std::fs::write(&path, text).expect("a file that can be written");
            read(&path, &options)
        }
        _ => read_from(Cursor::new(text.to_vec()), "fuzz", &options),
    };
    match imported {
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error:?}"),
        Ok(imported) => {
            let mut written = Vec::new();
            file::write_to(&imported.profile, &mut written).expect("a profile that can be written");
            let again = file::read_from(&written[..], "fuzz").expect("a profile that can be read");
            assert_eq!(again, imported.profile);
            for note in &imported.notes {
                assert!(!note.to_string().is_empty());
            }
        }
    }
});
