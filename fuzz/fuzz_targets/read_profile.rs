//! Reading any bytes never panics, and a profile that was read can be written
//! and read back the same.
#![no_main]

use breakeven_profile::file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match file::read_from(bytes, "fuzz.json") {
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error:?}"),
        Ok(profile) => {
            let mut text = Vec::new();
            file::write_to(&profile, &mut text).expect("what was read can be written");
            let again = file::read_from(&text[..], "again.json").expect("and read again");
            assert_eq!(again, profile);
        }
    }
});
