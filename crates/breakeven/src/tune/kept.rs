//! What was tuned: kept in memory and in `tuned.json` beside the cost model.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::{Configuration, Gain, SizeClass, Trial};
use crate::error::{Error, ErrorKind};
use crate::locked;
use crate::store::{bytes_of, cache_file, hold, keep_aside, write_json};

/// The file's name.
const NAME: &str = "tuned.json";

/// What the file says that it is.
const FORMAT: &str = "breakeven-tuned";
const VERSION: u32 = 1;

/// Entries that are kept; beyond, the oldest go.
const MOST: usize = 1_000;

/// What a configuration was measured for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The kernel's name, and what beside the sizes decides how fast it is: `pixel_entropy,
    /// window 16`.
    pub kernel: String,
    /// The device as its driver calls it.
    pub device: String,
    /// Driver and version.
    pub driver: String,
    /// Sizes of a call.
    pub size: SizeClass,
}

/// What a search found for a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TunedKernel {
    /// What it is for.
    #[serde(flatten)]
    pub key: Key,
    /// Of the kernel's source: of another nothing is known.
    pub source: u64,
    /// What calls use: the default unless another was shown to be faster.
    pub configuration: Configuration,
    /// How much faster than the default, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// False where time was over before everything was compared.
    pub is_complete: bool,
    /// True where nothing was searched: the default takes no more than 1.05 times what the
    /// device's measured peaks allow.
    pub is_at_roofline: bool,
    /// All that was tried, the default first.
    pub tried: Vec<Tried>,
}

/// A configuration that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Which one.
    pub configuration: Configuration,
    /// How it did.
    #[serde(flatten)]
    pub trial: Trial,
}

/// Configurations that were tuned; clones share them.
#[derive(Clone, Default)]
pub struct Tuned {
    path: Option<PathBuf>,
    kernels: Arc<Mutex<Vec<TunedKernel>>>,
}

/// Why a file is not read.
enum Refused {
    Damaged,
    Newer(u32),
    Unreadable(io::Error),
}

/// The beginning, which every version has.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct Document {
    format: String,
    version: u32,
    kernels: Vec<TunedKernel>,
}

impl fmt::Debug for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuned")
            .field("path", &self.path)
            .field("kernels", &locked(&self.kernels).len())
            .finish()
    }
}

impl Tuned {
    /// What this user's processes share: `tuned.json` in the directory of the cost model
    /// ([`Costs::open_default`](crate::Costs::open_default)). Of a file that is damaged, and
    /// with `BREAKEVEN_CACHE=off`, nothing is known.
    pub fn open_default() -> Self {
        cache_file(NAME).map_or_else(Self::default, |path| Self::load(&path))
    }

    /// What is in the file at `path`, which need not exist yet.
    pub fn load(path: &Path) -> Self {
        Self {
            path: Some(path.to_owned()),
            kernels: Arc::new(Mutex::new(read(path).unwrap_or_default())),
        }
    }

    /// What is known, newest first.
    pub fn kernels(&self) -> Vec<TunedKernel> {
        locked(&self.kernels).clone()
    }

    /// What is known of that kernel, of the source that it has now.
    pub fn find(&self, key: &Key, source: u64) -> Option<TunedKernel> {
        self.look_up(key, source, TunedKernel::clone)
    }

    pub(crate) fn look_up<R>(
        &self,
        key: &Key,
        source: u64,
        what: impl FnOnce(&TunedKernel) -> R,
    ) -> Option<R> {
        let kernels = locked(&self.kernels);
        let is_it = |kernel: &&TunedKernel| kernel.key == *key && kernel.source == source;
        kernels.iter().find(is_it).map(what)
    }

    /// True where nothing was ever tuned.
    #[cfg(feature = "gpu")]
    pub(crate) fn is_empty(&self) -> bool {
        locked(&self.kernels).is_empty()
    }

    /// Keeps an entry in place of what was known for its key: in memory, and in the file,
    /// with what other processes kept meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](crate::ErrorKind::File) where that cannot be written; it is kept
    /// in memory all the same, and the file is as it was.
    pub fn keep(&self, entry: TunedKernel) -> Result<(), Error> {
        self.change(|kernels| {
            kernels.retain(|kernel| kernel.key != entry.key);
            kernels.insert(0, entry.clone());
            kernels.truncate(MOST);
        })
    }

    /// Forgets what was tuned for the kernels of which `is` says so.
    ///
    /// # Errors
    ///
    /// As [`keep`](Tuned::keep).
    pub fn forget(&self, is: impl Fn(&Key) -> bool) -> Result<(), Error> {
        self.change(|kernels| kernels.retain(|kernel| !is(&kernel.key)))
    }

    fn change(&self, change: impl Fn(&mut Vec<TunedKernel>)) -> Result<(), Error> {
        change(&mut locked(&self.kernels));
        let Some(path) = &self.path else {
            return Ok(());
        };
        let _held = hold(path)?;
        let mut kernels = match read(path) {
            Err(Refused::Damaged) => {
                keep_aside(path)?;
                Vec::new()
            }
            Err(Refused::Unreadable(reason)) => {
                return Err(Error::file(path, "cannot be read", &reason));
            }
            Err(Refused::Newer(version)) => {
                let path = path.display();
                return Err(Error::new(
                    ErrorKind::File,
                    format!(
                        "{path}: of version {version}, and this program knows {VERSION}: it is left alone; update the program, or set BREAKEVEN_CACHE_DIR to another directory"
                    ),
                ));
            }
            Ok(kernels) => kernels,
        };
        change(&mut kernels);
        let document = Document {
            format: FORMAT.to_owned(),
            version: VERSION,
            kernels,
        };
        write_json(path, &document)
    }
}

impl TunedKernel {
    pub(super) fn of(
        key: Key,
        source: u64,
        candidates: &[Configuration],
        found: super::Found,
    ) -> Self {
        let tried = candidates.iter().zip(found.trials);
        let tried = tried.map(|(configuration, trial)| Tried {
            configuration: configuration.clone(),
            trial,
        });
        Self {
            key,
            source,
            configuration: candidates[found.winner].clone(),
            gain: found.gain,
            is_complete: found.is_complete,
            is_at_roofline: found.is_at_roofline,
            tried: tried.collect(),
        }
    }
}

/// What the file holds; nothing where there is none.
fn read(path: &Path) -> Result<Vec<TunedKernel>, Refused> {
    let Some(bytes) = bytes_of(path).map_err(Refused::Unreadable)? else {
        return Ok(Vec::new());
    };
    let head: Head = serde_json::from_slice(&bytes).map_err(|_| Refused::Damaged)?;
    match head.version {
        _ if head.format != FORMAT => return Err(Refused::Damaged),
        newer if newer > VERSION => return Err(Refused::Newer(newer)),
        _ => {}
    }
    let document: Document = serde_json::from_slice(&bytes).map_err(|_| Refused::Damaged)?;
    Ok(document.kernels)
}
