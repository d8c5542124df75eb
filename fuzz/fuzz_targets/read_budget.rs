//! Reading any text as a budget file never panics.
#![no_main]

use breakeven_judge::Limits;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Limits::from_toml(text) {
        assert_eq!(error.to_string().lines().count(), 1, "{error:?}");
    }
});
