//! Where files that outlive a process are.

use std::ffi::OsString;
use std::path::PathBuf;

/// Switches the file off.
const SWITCH: &str = "BREAKEVEN_CACHE";

/// The directory itself.
const DIRECTORY: &str = "BREAKEVEN_CACHE_DIR";

/// The file's name.
const NAME: &str = "costs.json";

/// Where the costs are kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In this file.
    File(PathBuf),
    /// In memory only: the user said so.
    Memory,
    /// In memory only: the environment names no directory.
    Unknown,
}

/// The place that the environment says, by the names of its variables. An empty
/// variable is one that is not set; so is a relative path where the XDG Base
/// Directory Specification says so.
pub(super) fn of(variable: impl Fn(&str) -> Option<OsString>) -> Place {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let off = variable(SWITCH).is_some_and(|value| {
        let value = value.to_string_lossy().trim().to_ascii_lowercase();
        ["off", "0", "false", "no"].contains(&value.as_str())
    });
    if off {
        return Place::Memory;
    }
    let path = |name| variable(name).map(PathBuf::from);
    let own = || {
        let cache = if cfg!(windows) {
            path("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            path("HOME").map(|home| home.join("Library/Caches"))
        } else {
            let named = path("XDG_CACHE_HOME").filter(|path| path.is_absolute());
            named.or_else(|| path("HOME").map(|home| home.join(".cache")))
        };
        cache.map(|cache| cache.join("breakeven"))
    };
    let directory = path(DIRECTORY).or_else(own);
    directory.map_or(Place::Unknown, |path| Place::File(path.join(NAME)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)]) -> Place {
        of(|name| {
            let found = variables.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    fn file(path: &str) -> Place {
        Place::File(PathBuf::from(path))
    }

    #[test]
    fn the_environment_says_where() {
        let (own, home) = (("BREAKEVEN_CACHE_DIR", "/a"), ("HOME", "/h"));
        // A directory that was named comes first.
        assert_eq!(place(&[own, home]), file("/a/costs.json"));
        let on = ("BREAKEVEN_CACHE", "on");
        assert_eq!(place(&[on, own]), file("/a/costs.json"));
        for off in ["off", "OFF", " 0 ", "false", "no"] {
            assert_eq!(place(&[("BREAKEVEN_CACHE", off), own]), Place::Memory);
        }
        for nowhere in [&[][..], &[("HOME", "")]] {
            assert_eq!(place(nowhere), Place::Unknown);
        }
        if cfg!(all(unix, not(target_os = "macos"))) {
            let ours = file("/h/.cache/breakeven/costs.json");
            assert_eq!(place(&[home]), ours);
            assert_eq!(place(&[home, ("XDG_CACHE_HOME", "relative")]), ours);
            let xdg = place(&[home, ("XDG_CACHE_HOME", "/x")]);
            assert_eq!(xdg, file("/x/breakeven/costs.json"));
        }
    }
}
