//! The built-in workers: a rayon pool.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rayon::ThreadPool;

use super::executor::{CpuExecutor, Leaf};
use super::portion::Portion;

/// For how long a worker that waits for the driver sleeps between two looks for
/// work of its pool.
const SHORTEST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

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

thread_local! {
    /// True while a turn lets the pool's other work get in between.
    static IN_BETWEEN: Cell<bool> = const { Cell::new(false) };
    /// Batches whose driver this worker waits for.
    static WAITS: Cell<u32> = const { Cell::new(0) };
}

/// Batches on one worker's stack, each waiting for its driver, that the worker
/// takes from its pool meanwhile; beyond, one does without its GPU.
const MOST_WAITS: u32 = 8;

/// The workers' turns at a batch: no more at once than there are workers.
struct Turns<'l> {
    leaf: &'l (dyn Fn() -> Leaf + Sync),
    workers: usize,
    live: AtomicUsize,
    wakes: AtomicUsize,
}

impl<'l> Turns<'l> {
    fn new(leaf: &'l (dyn Fn() -> Leaf + Sync), workers: usize) -> Self {
        Self {
            leaf,
            workers,
            live: AtomicUsize::new(0),
            wakes: AtomicUsize::new(0),
        }
    }

    /// Sets the workers to work.
    fn wake<'s>(&'s self, scope: &rayon::Scope<'s>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        while self.begins() {
            scope.spawn(move |scope| self.take(scope));
        }
    }

    /// True where another turn may begin, which it then has.
    fn begins(&self) -> bool {
        let more = |live| (live < self.workers).then_some(live + 1);
        let order = Ordering::SeqCst;
        self.live.fetch_update(order, order, more).is_ok()
    }

    /// A worker's turns: a span each, and between two of them a piece of the
    /// pool's other work, such as what the driver's thread asks of the pool. Where
    /// that is another batch's turn, it does one span, so that batches alternate.
    fn take<'s>(&'s self, scope: &rayon::Scope<'s>) {
        loop {
            let wakes = self.wakes.load(Ordering::SeqCst);
            while (self.leaf)() == Leaf::Busy {
                if IN_BETWEEN.get() {
                    scope.spawn(move |scope| self.take(scope));
                    return;
                }
                IN_BETWEEN.set(true);
                rayon::yield_now();
                IN_BETWEEN.set(false);
            }
            self.live.fetch_sub(1, Ordering::SeqCst);
            // Who woke the workers meanwhile may have found this turn still there.
            if self.wakes.load(Ordering::SeqCst) == wakes || !self.begins() {
                return;
            }
        }
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
        let turns = Turns::new(leaf, workers);
        let turns = &turns;
        if !self.is_inside() {
            self.scope(|scope| driver(&|| turns.wake(scope)));
            return;
        }
        let waits = WAITS.get();
        if waits >= MOST_WAITS {
            self.scope(|scope| turns.wake(scope));
            return;
        }
        // The caller is a worker itself: the driver gets a thread of its own, and
        // the caller does the pool's work meanwhile. It must not sleep: what the
        // driver asks of the pool may have nobody else.
        let bell = Bell::default();
        self.scope(|scope| {
            let bell = &bell;
            std::thread::scope(|threads| {
                let thread = std::thread::Builder::new().name("breakeven-driver".to_owned());
                let thread = thread.spawn_scoped(threads, move || {
                    let _end = EndOnDrop(bell);
                    driver(&|| {
                        turns.wake(scope);
                        bell.ring();
                    });
                });
                if let Err(error) = thread {
                    log::warn!("no thread for the GPU's driver: {error}");
                    turns.wake(scope);
                    return;
                }
                WAITS.set(waits + 1);
                let mut pause = SHORTEST_PAUSE;
                while !bell.is_over() {
                    if rayon::yield_now() == Some(rayon::Yield::Executed) || bell.wait(pause) {
                        pause = SHORTEST_PAUSE;
                    } else {
                        pause = (2 * pause).min(LONGEST_PAUSE);
                    }
                }
                WAITS.set(waits);
            });
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

/// How the driver's thread calls the worker that started it.
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
        change(&mut self.lock());
        self.rung.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, BellState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True once the driver has ended.
    fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Waits to be rung, or for the driver's end, for so long at most; true where
    /// it was rung.
    fn wait(&self, at_most: Duration) -> bool {
        let nothing = |state: &mut BellState| !state.is_rung && !state.is_over;
        let waited = self.rung.wait_timeout_while(self.lock(), at_most, nothing);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.is_rung)
    }
}

struct EndOnDrop<'b>(&'b Bell);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.is_over = true);
    }
}
