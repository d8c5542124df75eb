//! Whatever profile can be read goes through the overview and every exporter
//! without a panic, and what is JSON can be read again.
#![no_main]

use breakeven_judge::export::{ExportError, bmf, chrome, collapsed, flamegraph, pprof, speedscope};
use breakeven_judge::{Limits, overview};
use breakeven_profile::file;
use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;

fuzz_target!(|bytes: &[u8]| {
    let Ok(profile) = file::read_from(bytes, "fuzz.json") else {
        return;
    };
    let _ = overview(&profile, &Limits::default());
    let mut trace = Vec::new();
    if expected(chrome(&profile, &mut trace)) {
        serde_json::from_slice::<IgnoredAny>(&trace).expect("JSON");
    }
    let mut sheet = Vec::new();
    if expected(speedscope(&profile, &mut sheet)) {
        serde_json::from_slice::<IgnoredAny>(&sheet).expect("JSON");
    }
    let mut lines = Vec::new();
    if expected(collapsed(&profile, &mut lines)) {
        let lines = String::from_utf8(lines).expect("text");
        for line in lines.lines() {
            let (path, weight) = line.rsplit_once(' ').expect("a path and a weight");
            assert!(
                !path.is_empty() && weight.parse::<u64>().is_ok(),
                "{line:?}"
            );
        }
    }
    let mut figures = Vec::new();
    if expected(bmf(&profile, &mut figures)) {
        serde_json::from_slice::<IgnoredAny>(&figures).expect("JSON");
    }
    expected(pprof(&profile, &mut Vec::new()));
    expected(flamegraph(&profile, &mut Vec::new()));
});

/// True for what was written; a profile may have nothing to export, or too much.
fn expected(written: Result<(), ExportError>) -> bool {
    match written {
        Ok(()) => true,
        Err(ExportError::Empty | ExportError::TooLong) => false,
        Err(error) => panic!("{error:?}"),
    }
}
