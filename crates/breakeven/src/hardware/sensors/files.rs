//! Small files of `/proc` and `/sys`: one value each.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The file's text without the end of the line; none where it cannot be read.
pub(in crate::hardware) fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// The number in the file.
pub(in crate::hardware) fn number<T: FromStr>(path: impl AsRef<Path>) -> Option<T> {
    text(path)?.parse().ok()
}

/// The number in the file, in units of which `per_unit` make one.
pub(super) fn scaled(path: impl AsRef<Path>, per_unit: f64) -> Option<f64> {
    let value: f64 = number(path)?;
    value.is_finite().then_some(value / per_unit)
}

/// The entries of a directory in the order of their names, numbers by value.
pub(in crate::hardware) fn entries(directory: impl AsRef<Path>) -> Vec<PathBuf> {
    let listed = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    paths.sort_by_cached_key(|path| {
        let name = name(path).to_owned();
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        (digits.parse().unwrap_or(u64::MAX), name)
    });
    paths
}

/// The last component of the path; empty where it is no text.
pub(in crate::hardware) fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("")
}

/// The `hwmon` directories below `parent` that have this driver name.
pub(super) fn hwmon(parent: impl AsRef<Path>, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = entries(parent);
    found.retain(|path| text(path.join("name")).is_some_and(|name| is_wanted(&name)));
    found
}

/// The highest of the files `<kind>N_input` in `directory`, in units of which `per_unit`
/// make one.
pub(super) fn highest(directory: &Path, kind: &str, per_unit: f64) -> Option<f64> {
    let inputs = entries(directory).into_iter().filter(|path| {
        let number = name(path).strip_prefix(kind);
        number.is_some_and(|rest| {
            rest.strip_suffix("_input")
                .is_some_and(|n| n.parse::<u32>().is_ok())
        })
    });
    inputs
        .filter_map(|path| scaled(path, per_unit))
        .max_by(f64::total_cmp)
}
