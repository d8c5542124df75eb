//! The threads of rayon's pool.

use std::error::Error as _;
use std::sync::OnceLock;

/// Returns the threads of the rayon pool that a call from here uses: the current pool's, else the
/// global one's. 1 if [`has_pool`] is false.
pub fn pool_threads() -> usize {
    if has_pool() {
        rayon::current_num_threads()
    } else {
        1
    }
}

/// Returns false outside of a rayon pool if the global one cannot start its threads, because of a
/// limit of processes or memory. Rayon would panic there.
pub fn has_pool() -> bool {
    static GLOBAL: OnceLock<bool> = OnceLock::new();
    rayon::current_thread_index().is_some()
        || *GLOBAL.get_or_init(|| {
            let built = rayon::ThreadPoolBuilder::new().build_global();
            // An error without a source says that there is a pool already.
            let Some(error) = built.err().filter(|error| error.source().is_some()) else {
                return true;
            };
            log::warn!("rayon's pool cannot start its threads, so one thread computes: {error}");
            false
        })
}
