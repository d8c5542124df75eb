//! The built-in workers: a rayon pool.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rayon::ThreadPool;

use super::executor::{CpuExecutor, Leaf};
use super::portion::Portion;

/// The CPU as a rayon pool: the one the caller is in (the global one outside of
/// pools), or one it was given.
#[derive(Debug, Clone, Default)]
pub struct RayonCpu {
    pool: Option<Arc<ThreadPool>>,
}

impl RayonCpu {
    /// The pool that each caller is in.
    pub fn current() -> Self {
        Self::default()
    }

    /// That pool.
    pub fn with_pool(pool: Arc<ThreadPool>) -> Self {
        Self { pool: Some(pool) }
    }

    /// True on a thread of the pool.
    fn is_inside(&self) -> bool {
        match &self.pool {
            Some(pool) => pool.current_thread_index().is_some(),
            None => rayon::current_thread_index().is_some(),
        }
    }

    /// Runs `body` with a scope of the pool, on the calling thread.
    fn scope<'s>(&self, body: impl FnOnce(&rayon::Scope<'s>)) {
        match &self.pool {
            Some(pool) => pool.in_place_scope(body),
            None => rayon::in_place_scope(body),
        }
    }
}

/// A worker's turn: a span, and the next turn as a job of its own, so that the
/// pool's other work gets in between.
fn turn<'s>(scope: &rayon::Scope<'s>, leaf: &'s (dyn Fn() -> Leaf + Sync)) {
    if leaf() == Leaf::Busy {
        scope.spawn(move |scope| turn(scope, leaf));
    }
}

impl CpuExecutor for RayonCpu {
    fn workers(&self) -> usize {
        match &self.pool {
            Some(pool) => pool.current_num_threads(),
            None => rayon::current_num_threads(),
        }
    }

    fn run(&self, leaf: &(dyn Fn() -> Leaf + Sync), driver: &mut (dyn FnMut(&dyn Fn()) + Send)) {
        let workers = self.workers();
        if !self.is_inside() {
            self.scope(|scope| {
                driver(&|| {
                    (0..workers).for_each(|_| scope.spawn(move |scope| turn(scope, leaf)));
                });
            });
            return;
        }
        // The caller is a worker itself: the driver gets a thread of its own.
        let bell = Bell::default();
        std::thread::scope(|threads| {
            let bell = &bell;
            threads.spawn(move || {
                let _end = EndOnDrop(bell);
                driver(&|| bell.ring());
            });
            while bell.wait() {
                self.scope(|scope| {
                    (0..workers).for_each(|_| scope.spawn(move |scope| turn(scope, leaf)));
                });
            }
        });
    }

    fn all(&self, portion: Portion<'_>) {
        let workers = self.workers();
        match &self.pool {
            Some(pool) => pool.install(|| halves(portion, workers, false, workers)),
            None => halves(portion, workers, false, workers),
        }
    }
}

/// Splits as rayon's parallel iterators do (`rayon::iter::plumbing`): into about
/// as many parts as there are workers, and again whenever a part was stolen.
fn halves(portion: Portion<'_>, splits: usize, was_stolen: bool, workers: usize) {
    if portion.len() < 2 || splits == 0 && !was_stolen {
        portion.run();
        return;
    }
    let splits = match was_stolen {
        true => workers.max(splits / 2),
        false => splits / 2,
    };
    let (left, right) = portion.halve();
    rayon::join_context(
        |context| halves(left, splits, context.migrated(), workers),
        |context| {
            if let Some(right) = right {
                halves(right, splits, context.migrated(), workers);
            }
        },
    );
}

/// How the driver's thread calls the workers.
#[derive(Default)]
struct Bell {
    state: Mutex<BellState>,
    rung: Condvar,
}

#[derive(Default)]
struct BellState {
    is_rung: bool,
    is_over: bool,
}

impl Bell {
    fn ring(&self) {
        self.change(|state| state.is_rung = true);
    }

    fn change(&self, change: impl FnOnce(&mut BellState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.rung.notify_one();
    }

    /// Waits to be rung; false once the driver has ended and nothing is left to do.
    fn wait(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if std::mem::take(&mut state.is_rung) {
                return true;
            }
            if state.is_over {
                return false;
            }
            let waited = self.rung.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

struct EndOnDrop<'b>(&'b Bell);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.is_over = true);
    }
}
