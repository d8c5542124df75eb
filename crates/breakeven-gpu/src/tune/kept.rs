//! Tuned configurations: kept in memory and in `tuned.json` alongside the cost model.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::{Configuration, Gain, SizeClass, Trial};
use crate::cache::{CacheFile, Cached};
use crate::error::Error;
use crate::locked;

/// Entries that are kept; beyond, the oldest go.
const MOST: usize = 1_000;

/// What a configuration was measured for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The kernel's name, and what decides its speed in addition to the sizes: `pixel_entropy,
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
    /// How much faster than the default it is, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// False if time ran out before everything was compared.
    pub is_complete: bool,
    /// True if nothing was searched: the default takes at most 1.05 times what the device's
    /// measured peaks allow.
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
    file: Option<Arc<CacheFile<Kernels>>>,
    kernels: Arc<Mutex<Vec<TunedKernel>>>,
}

/// `tuned.json`: what was tuned, newest first.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kernels {
    kernels: Vec<TunedKernel>,
}

impl Cached for Kernels {
    const NAME: &str = "tuned.json";
    const FORMAT: &str = "breakeven-tuned";
}

impl fmt::Debug for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuned")
            .field("file", &self.file)
            .field("kernels", &locked(&self.kernels).len())
            .finish()
    }
}

impl Tuned {
    /// What this user's processes share: `tuned.json` in the cache directory. Of a file that is
    /// damaged, and with `BREAKEVEN_CACHE=off`, nothing is known.
    pub fn open_default() -> Self {
        let file = CacheFile::open_default().ok().flatten();
        file.map_or_else(Self::default, Self::of)
    }

    /// What is in the file at `path`, which need not exist yet.
    pub fn load(path: &Path) -> Self {
        Self::of(CacheFile::at(path))
    }

    fn of(file: CacheFile<Kernels>) -> Self {
        let known = file.read().unwrap_or_default();
        Self {
            file: Some(Arc::new(file)),
            kernels: Arc::new(Mutex::new(known.kernels)),
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

    /// Returns true if nothing was ever tuned.
    #[cfg(feature = "gpu")]
    pub(crate) fn is_empty(&self) -> bool {
        locked(&self.kernels).is_empty()
    }

    /// Keeps an entry in place of what was known for its key: in memory, and in the file,
    /// with what other processes kept meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](breakeven_types::ErrorKind::File) if that cannot be written; it is kept
    /// in memory anyway, and the file is unchanged.
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
        let update = |file: &CacheFile<Kernels>| file.update(|known| change(&mut known.kernels));
        self.file.as_deref().map_or(Ok(()), update)
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
