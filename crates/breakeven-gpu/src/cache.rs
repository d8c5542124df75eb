//! Files of the cache directory: their location, content and locking.
//!
//! Each file is JSON with a `format` and a `version`, shared by all processes of a user. A change
//! reads the file, merges and replaces it in one step, under a lock: no process loses another one's
//! changes. A damaged file is moved aside at the next change; a file of a newer version is not
//! touched.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use breakeven_profile::file::{TEMPORARY_PREFIX, in_words, replace};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::hardware::HardwareCapabilities;

/// Bytes of a file that are read. Full of everything that may be in it, it is about a tenth.
const MOST_BYTES: u64 = 1 << 28;

/// How long a change waits for other processes: many times the duration of one.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest sleep between two tries to lock.
const LONGEST_SLEEP: Duration = Duration::from_millis(16);

/// A temporary file that is older was left by a process that was killed.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60 * 60);

/// What is wrong with a file of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CostsWarningKind {
    /// It is no file of costs, or not all of one. Saving keeps it under another
    /// name.
    Damaged,
    /// A newer version wrote it. Saving leaves it alone.
    NewerVersion,
    /// The operating system refuses it.
    Unreadable,
    /// There is no cache directory to have one in.
    NoPlace,
}

/// A file of costs was not used: nothing is known of what was measured before.
///
/// Displayed it is one line: what is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", .path.as_ref().map_or_else(String::new, |path| format!("{}: ", path.display())))]
pub struct CostsWarning {
    /// The kind of thing that is wrong.
    pub kind: CostsWarningKind,
    /// The file; none if there is no place for one.
    pub path: Option<PathBuf>,
    /// What is wrong and what to do, in one line without the path.
    pub message: String,
}

impl From<CostsWarning> for Error {
    fn from(warning: CostsWarning) -> Self {
        Self::new(ErrorKind::File, warning.to_string())
    }
}

/// Identifies a machine without its name: measurements on one are void on another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineId {
    /// Model of its processor; none if it reports none.
    #[serde(default)]
    pub cpu: Option<String>,
    /// Its logical cores.
    pub cores: usize,
}

impl MachineId {
    /// This machine.
    pub fn detect() -> Self {
        let hardware = HardwareCapabilities::detect_without_gpu();
        Self {
            cpu: hardware.cpu_model.known().cloned(),
            cores: hardware.cpu_cores,
        }
    }
}

/// The cache directory that the environment names; none if it says that nothing is kept. An
/// empty variable is one that is not set; so is a relative path in `XDG_CACHE_HOME`, as the XDG
/// Base Directory Specification says.
fn directory(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<PathBuf>, CostsWarning> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let is_off = variable("BREAKEVEN_CACHE").is_some_and(|value| {
        let value = value.to_string_lossy().trim().to_ascii_lowercase();
        ["off", "0", "false", "no"].contains(&value.as_str())
    });
    if is_off {
        return Ok(None);
    }
    let path = |name| variable(name).map(PathBuf::from);
    let platforms = || {
        if cfg!(windows) {
            path("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            path("HOME").map(|home| home.join("Library/Caches"))
        } else {
            let named = path("XDG_CACHE_HOME").filter(|path| path.is_absolute());
            named.or_else(|| path("HOME").map(|home| home.join(".cache")))
        }
    };
    let own = path("BREAKEVEN_CACHE_DIR").or_else(|| Some(platforms()?.join("breakeven")));
    own.map(Some).ok_or_else(|| CostsWarning {
        kind: CostsWarningKind::NoPlace,
        path: None,
        message: "no home directory to keep measured costs in; set BREAKEVEN_CACHE_DIR, or BREAKEVEN_CACHE=off to do without".to_owned(),
    })
}

/// What a file holds: the fields of its JSON after `format` and `version`.
pub trait Cached: Serialize + DeserializeOwned + Default {
    /// The file's name in the cache directory.
    const NAME: &str;
    /// What the field `format` says.
    const FORMAT: &str;
    /// The version that is written, and the newest that is read.
    const VERSION: u64 = 1;

    /// Drops what cannot be, after it was read.
    fn mend(&mut self) {}
}

/// The beginning, which every version has.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

#[derive(Serialize)]
struct Document<'c, T> {
    format: &'static str,
    version: u64,
    #[serde(flatten)]
    content: &'c T,
}

/// A file of the cache directory that holds a `T`.
#[derive(Debug)]
pub struct CacheFile<T> {
    path: PathBuf,
    holds: PhantomData<fn() -> T>,
}

impl<T: Cached> CacheFile<T> {
    /// Returns the file in the cache directory; none if nothing is to be kept.
    ///
    /// # Errors
    ///
    /// [`CostsWarningKind::NoPlace`].
    pub fn open_default() -> Result<Option<Self>, CostsWarning> {
        let directory = directory(|name| env::var_os(name))?;
        Ok(directory.map(|directory| Self::at(&directory.join(T::NAME))))
    }

    /// The one at `path`.
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            holds: PhantomData,
        }
    }

    /// The file of another kind in the same directory.
    pub fn beside<U: Cached>(&self) -> CacheFile<U> {
        CacheFile::at(&self.path.with_file_name(U::NAME))
    }

    /// What it holds; the default if there is no file.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(&self) -> Result<T, CostsWarning> {
        use CostsWarningKind::{Damaged, NewerVersion, Unreadable};
        let refused = |kind, message| CostsWarning {
            kind,
            path: Some(self.path.clone()),
            message,
        };
        let damaged = |what: String| {
            let aside = self.aside();
            let aside = aside.file_name().unwrap_or_default().display();
            let then = "when costs are saved, and measured anew";
            refused(
                Damaged,
                format!("{what}; it is put aside as {aside} {then}"),
            )
        };
        let not_json = |reason: serde_json::Error| {
            damaged(format!("is damaged: {}", in_words(&reason.to_string())))
        };
        let text = self.bytes().map_err(|reason| {
            let then = "nothing that was measured before is known";
            refused(Unreadable, format!("cannot be read: {reason}; {then}"))
        })?;
        let Some(text) = text else {
            return Ok(T::default());
        };
        let Head { format, version } = serde_json::from_slice(&text).map_err(not_json)?;
        if format != T::FORMAT {
            let format: String = format.chars().take(40).collect();
            let what = format!("is of format {format:?}, not {}", T::FORMAT);
            return Err(damaged(what));
        }
        if version > T::VERSION {
            let message = format!(
                "is of version {version}, and this program knows {}: it was not changed; update the program, or set BREAKEVEN_CACHE_DIR to another directory",
                T::VERSION
            );
            return Err(refused(NewerVersion, message));
        }
        let mut content: T = serde_json::from_slice(&text).map_err(not_json)?;
        content.mend();
        Ok(content)
    }

    /// Changes what it holds, with what other processes wrote until then, and writes that.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`] if it cannot be read, locked or written, or is of a newer version. It
    /// is as it was then.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> Result<R, Error> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder)
            .map_err(|reason| Error::file(folder, "cannot be made", &reason))?;
        let _held = hold(&self.suffixed(".lock"), PATIENCE)?;
        sweep(folder);
        let mut content = match self.read() {
            Ok(content) => content,
            Err(warning) if warning.kind == CostsWarningKind::Damaged => {
                self.put_aside()?;
                T::default()
            }
            Err(warning) => return Err(warning.into()),
        };
        let changed = change(&mut content);
        let document = Document {
            format: T::FORMAT,
            version: T::VERSION,
            content: &content,
        };
        replace(&self.path, |mut file| {
            let written = serde_json::to_writer(&mut file, &document).map_err(io::Error::from);
            let ended = written.and_then(|()| file.write_all(b"\n"));
            ended.map_err(|reason| Error::file(&self.path, "cannot be written", &reason))
        })?;
        Ok(changed)
    }

    fn bytes(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::metadata(&self.path) {
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(reason) => return Err(reason),
            Ok(found) => is_regular(&found)?,
        }
        let mut bytes = Vec::new();
        let file = File::open(&self.path)?;
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// A name for a damaged file that is free.
    fn aside(&self) -> PathBuf {
        let mut names =
            (1_u32..).map(|number| self.suffixed(&[".damaged-", &number.to_string()].concat()));
        let free = names.find(|name| !name.exists());
        free.unwrap_or_else(|| self.suffixed(".damaged"))
    }

    /// Renames the file to a name that is free.
    fn put_aside(&self) -> Result<(), Error> {
        fs::rename(&self.path, self.aside()).map_err(|reason| {
            Error::file(&self.path, "is damaged and cannot be put aside", &reason)
        })
    }

    /// The path with something after its name.
    fn suffixed(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }
}

/// A device or a pipe is neither to be waited for nor to be put aside.
fn is_regular(found: &fs::Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Holds the lock until it is dropped; waits for other processes no longer than `patience`. The
/// operating system frees it when the process ends, however it ends. The file at `path` stays:
/// one that is removed could be locked by two, each its own.
///
/// # Errors
///
/// [`ErrorKind::File`] if it cannot be opened or locked, or another process holds it for longer.
pub fn hold(path: &Path, patience: Duration) -> Result<File, Error> {
    let refused = |reason: io::Error| Error::file(path, "cannot be locked", &reason);
    if let Ok(found) = path.metadata() {
        is_regular(&found).map_err(refused)?;
    }
    let mut options = OpenOptions::new();
    let opened = options.create(true).truncate(false).write(true).open(path);
    let file = opened.map_err(|reason| Error::file(path, "cannot be opened", &reason))?;
    let start = Instant::now();
    let mut sleep = Duration::from_millis(1);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // Some network file systems have no locks. Writing is atomic there
            // too; what two write in the same moment is one's.
            Err(TryLockError::Error(reason)) if reason.kind() == io::ErrorKind::Unsupported => {
                return Ok(file);
            }
            Err(TryLockError::Error(reason)) => return Err(refused(reason)),
            Err(TryLockError::WouldBlock) if start.elapsed() >= patience => {
                let path = path.display();
                let held = format!(
                    "{path}: another process has held it for {patience:?}; what was learned stays in memory until it is saved again"
                );
                return Err(Error::new(ErrorKind::File, held));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(sleep),
        }
        sleep = (sleep * 2).min(LONGEST_SLEEP);
    }
}

/// Removes the temporary files of processes that were killed.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_string_lossy().starts_with(TEMPORARY_PREFIX);
        let modified = entry.metadata().and_then(|found| found.modified());
        let age = modified.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        if is_ours && age.is_ok_and(|age| age > FORGOTTEN_AFTER) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Place = Result<Option<PathBuf>, CostsWarningKind>;

    fn place(variables: &[(&str, &str)]) -> Place {
        let found = directory(|name| {
            let found = variables.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| OsString::from(value))
        });
        found.map_err(|warning| warning.kind)
    }

    fn folder(path: &str) -> Place {
        Ok(Some(PathBuf::from(path)))
    }

    #[test]
    fn the_environment_says_where() {
        let (own, home) = (("BREAKEVEN_CACHE_DIR", "/a"), ("HOME", "/h"));
        // A directory that was named comes first.
        assert_eq!(place(&[own, home]), folder("/a"));
        let on = ("BREAKEVEN_CACHE", "on");
        assert_eq!(place(&[on, own]), folder("/a"));
        for off in ["off", "OFF", " 0 ", "false", "no"] {
            assert_eq!(place(&[("BREAKEVEN_CACHE", off), own]), Ok(None));
        }
        for nowhere in [&[][..], &[("HOME", "")]] {
            assert_eq!(place(nowhere), Err(CostsWarningKind::NoPlace));
        }
        if cfg!(all(unix, not(target_os = "macos"))) {
            let ours = folder("/h/.cache/breakeven");
            assert_eq!(place(&[home]), ours);
            assert_eq!(place(&[home, ("XDG_CACHE_HOME", "relative")]), ours);
            let xdg = place(&[home, ("XDG_CACHE_HOME", "/x")]);
            assert_eq!(xdg, folder("/x/breakeven"));
        }
    }
}
