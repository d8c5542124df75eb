//! What all benches share: figures as lines, and a profile for the gate.

use std::path::PathBuf;

use breakeven_profile::file;
use breakeven_profile::profile::Profile;

/// True where the bench was asked to take less than 30 s.
pub(crate) fn is_quick() -> bool {
    std::env::args().any(|argument| argument == "--quick")
}

/// One figure, in the form that all benches print.
pub(crate) fn metric(name: &str, value: f64, unit: &str) {
    let digits = match value.abs() {
        v if v >= 100.0 => 1,
        v if v >= 1.0 => 2,
        _ => 4,
    };
    println!("METRIC {name} {value:.digits$} {unit}");
}

/// Where what benches find is written.
pub(crate) fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    );
    let folder = target.join("metrics");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// Writes what a bench timed to `target/metrics/<bench>.json`.
pub(crate) fn write_profile(bench: &str, mut profile: Profile) {
    profile.generator = Some(format!("bench {bench}"));
    let path = folder().join(format!("{bench}.json"));
    file::write(&profile, &path).expect("the profile can be written");
}
