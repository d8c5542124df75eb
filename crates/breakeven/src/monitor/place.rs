//! Where programs publish: a socket each, in a folder that only its user can enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, geteuid, test_kill_process};

/// A process: its id, and when it started, so that an id that is used again does not
/// count. The start is in clock ticks since boot, and 0 where nothing tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) pid: u32,
    started: u64,
}

impl Id {
    pub(super) fn own() -> Self {
        Self::of(std::process::id())
    }

    /// The process that has this id now.
    pub(super) fn of(pid: u32) -> Self {
        let started = started(pid).unwrap_or(0);
        Self { pid, started }
    }

    /// The name of its socket.
    pub(super) fn file_name(self) -> String {
        format!("{}-{}.sock", self.pid, self.started)
    }

    fn of_file(name: &str) -> Option<Self> {
        let (pid, started) = name.strip_suffix(".sock")?.split_once('-')?;
        let (pid, started) = (pid.parse().ok()?, started.parse().ok()?);
        let id = Self { pid, started };
        // `+1-02.sock` is nobody's.
        (id.file_name() == name).then_some(id)
    }

    /// True while the process runs, as far as it can be seen from here.
    pub(super) fn is_alive(self) -> bool {
        match self.started {
            0 => {
                let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
                pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
            }
            ticks => started(self.pid) == Some(ticks),
        }
    }
}

/// When a process started, by `/proc/<pid>/stat` (`proc_pid_stat(5)`, field 22).
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses, which may have any character.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

/// Where programs of this user publish; this process in the first.
pub(super) fn folders() -> Vec<PathBuf> {
    // By the XDG Base Directory Specification a relative path counts as none.
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|path| path.is_absolute());
    let runtime = runtime.map(|path| path.join("breakeven"));
    let own = format!("breakeven-{}", geteuid().as_raw());
    let temporary = std::env::temp_dir().join(own);
    runtime.into_iter().chain([temporary]).collect()
}

/// Makes the folder, unless it is there.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Whether the folder is this user's and nobody else can enter it. In a folder for
/// temporary files it could be anybody's.
pub(super) fn is_own(folder: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(folder)?;
    Ok(found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0)
}

/// The sockets of a folder, at most so many, and how many there are beyond.
pub(super) fn sockets(folder: &Path, most: usize) -> (Vec<(Id, PathBuf)>, usize) {
    if !is_own(folder).unwrap_or(false) {
        return (Vec::new(), 0);
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let id = Id::of_file(entry.file_name().to_str()?)?;
        Some((id, entry.path()))
    });
    let mut found: Vec<_> = named.collect();
    found.sort_unstable();
    let beyond = found.len().saturating_sub(most);
    found.truncate(most);
    (found, beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start_too() {
        let own = Id::own();
        assert!(own.is_alive());
        assert_eq!(Id::of_file(&own.file_name()), Some(own));
        if cfg!(target_os = "linux") {
            let later = Id {
                started: own.started + 1,
                ..own
            };
            assert!(own.started > 0 && !later.is_alive());
        }
        let unknown = Id { started: 0, ..own };
        assert!(unknown.is_alive());
        for name in [
            "1.sock",
            "+1-2.sock",
            "1-2",
            "a-2.sock",
            "1-2.sock.sock",
            "01-2.sock",
        ] {
            assert_eq!(Id::of_file(name), None, "{name}");
        }
    }

    #[test]
    fn a_folder_that_others_can_enter_is_not_used() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let outer = tempfile::tempdir().expect("a folder");
        let folder = outer.path().join("breakeven");
        make(&folder).expect("it can be made");
        make(&folder).expect("it is there");
        assert!(is_own(&folder).expect("it is there"));
        fs::write(folder.join("1-2.sock"), "").expect("a file");
        assert_eq!(sockets(&folder, 9).0.len(), 1);
        let link = outer.path().join("link");
        symlink(&folder, &link).expect("a link");
        assert!(!is_own(&link).expect("it is there"));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).expect("it is ours");
        assert!(!is_own(&folder).expect("it is there"));
        assert_eq!(sockets(&folder, 9), (Vec::new(), 0));
    }
}
