//! Reading any bytes as a file of another tool never panics, its error is one line, and
//! what is read can be written and read again. The first byte picks the format: from the
//! front of the list, else by the content, or as a table.
#![no_main]

use std::io::Cursor;

use breakeven_import::{Format, Options, read_from};
use breakeven_profile::file;
use libfuzzer_sys::fuzz_target;

/// The first byte of a table; higher ones, and those behind the list, tell the format by
/// the content.
const TABLE: u8 = b'T';

fuzz_target!(|bytes: &[u8]| {
    let Some((pick, text)) = bytes.split_first() else {
        return;
    };
    let columns = "name=name,time=time,unit=unit,run=run,device=device,size=size";
    let columns = columns.parse().expect("columns");
    let options = Options {
        from: Format::all().nth(usize::from(*pick)),
        columns: (*pick == TABLE).then_some(columns),
    };
    match read_from(Cursor::new(text.to_vec()), "fuzz", &options) {
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
