//! Where programs publish: one socket each, in a folder that only its user can enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use breakeven_machine::linux;
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
use rustix::process::{Pid, geteuid, test_kill_process};

/// A program that publishes: its process, and the socket on which it serves its
/// [`Figures`](super::Figures) as JSON.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Publisher {
    /// Its process id.
    pub pid: u32,
    /// When it started, to detect a reused id: clock ticks since boot, and 0 if nothing reports it.
    started: u64,
    /// The path of its socket.
    pub socket: PathBuf,
}

impl Publisher {
    /// Returns the process that has this id now, and its socket in a folder.
    pub(crate) fn of(pid: u32, folder: &Path) -> Self {
        let started = started(pid).unwrap_or(0);
        let socket = folder.join(format!("{pid}-{started}.sock"));
        Self {
            pid,
            started,
            socket,
        }
    }

    fn of_file(socket: PathBuf) -> Option<Self> {
        let name = socket.file_name()?.to_str()?;
        let (pid, started) = name.strip_suffix(".sock")?.split_once('-')?;
        let (pid, started) = (pid.parse().ok()?, started.parse().ok()?);
        // `+1-02.sock` belongs to no program.
        (name == format!("{pid}-{started}.sock")).then_some(Self {
            pid,
            started,
            socket,
        })
    }

    /// Returns the programs that publish in a folder, by process id. None if the folder belongs to
    /// another user or other users can enter it.
    pub fn in_folder(folder: &Path) -> Vec<Self> {
        if !is_own(folder).unwrap_or(false) {
            return Vec::new();
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut found: Vec<_> = entries
            .filter_map(|entry| Self::of_file(entry.path()))
            .collect();
        found.sort_unstable();
        found
    }

    /// Returns true while the process runs, as far as it is visible from here.
    pub fn is_alive(&self) -> bool {
        match self.started {
            0 => {
                let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
                pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
            }
            ticks => started(self.pid) == Some(ticks),
        }
    }

    /// Connects; neither this nor reading from the stream ever waits. Removes the socket of a
    /// program that has ended: nothing listens, and its process is gone (one of another container
    /// may not be visible from here).
    ///
    /// # Errors
    ///
    /// The system's error: `ConnectionRefused` if nothing listens, `WouldBlock` if the queue of
    /// waiting readers is full.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let stream = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        fcntl_setfd(&stream, FdFlags::CLOEXEC)?;
        ioctl_fionbio(&stream, true)?;
        match connect(&stream, &SocketAddrUnix::new(&self.socket)?) {
            Err(rustix::io::Errno::CONNREFUSED) if !self.is_alive() => {
                let _ = fs::remove_file(&self.socket);
                Err(rustix::io::Errno::CONNREFUSED.into())
            }
            connected => Ok(connected.map(|()| stream.into())?),
        }
    }
}

/// Returns when a process started, in clock ticks since boot.
fn started(pid: u32) -> Option<u64> {
    let stat = linux::text(format!("/proc/{pid}/stat"))?;
    Some(linux::process_stat(&stat)?.started)
}

/// Returns the folders in which programs of this user publish; this process uses the first.
pub fn folders() -> Vec<PathBuf> {
    // By the XDG Base Directory Specification a relative path counts as none.
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|path| path.is_absolute());
    let runtime = runtime.map(|path| path.join("breakeven"));
    let own = format!("breakeven-{}", geteuid().as_raw());
    let temporary = std::env::temp_dir().join(own);
    runtime.into_iter().chain([temporary]).collect()
}

/// Creates the folder, unless it exists.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Returns whether the folder belongs to this user and no other user can enter it. In a folder for
/// temporary files it could be any user's.
pub(crate) fn is_own(folder: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(folder)?;
    Ok(found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start_too() {
        let own = Publisher::of(std::process::id(), Path::new("/folder"));
        assert!(own.is_alive());
        assert_eq!(Publisher::of_file(own.socket.clone()), Some(own.clone()));
        if cfg!(target_os = "linux") {
            let later = Publisher {
                started: own.started + 1,
                ..own.clone()
            };
            assert!(own.started > 0 && !later.is_alive());
        }
        let unknown = Publisher { started: 0, ..own };
        assert!(unknown.is_alive());
        for name in [
            "1.sock",
            "+1-2.sock",
            "1-2",
            "a-2.sock",
            "1-2.sock.sock",
            "01-2.sock",
        ] {
            assert_eq!(Publisher::of_file(name.into()), None, "{name}");
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
        assert_eq!(Publisher::in_folder(&folder).len(), 1);
        let link = outer.path().join("link");
        symlink(&folder, &link).expect("a link");
        assert!(!is_own(&link).expect("it is there"));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).expect("it is ours");
        assert!(!is_own(&folder).expect("it is there"));
        assert_eq!(Publisher::in_folder(&folder), []);
    }
}
