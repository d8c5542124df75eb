//! The built-in workers: a rayon pool.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::ThreadPool;

use super::engine::Leaf;
use super::executor::CpuExecutor;
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
}

/// The workers' turns at a batch: no more at once than there are workers, or tasks.
struct Turns<'l> {
    leaf: &'l (dyn Fn() -> Leaf + Sync),
    most: usize,
    live: AtomicUsize,
    wakes: AtomicUsize,
}

impl Turns<'_> {
    /// Sets the workers to work.
    fn wake<'s>(&'s self, scope: &rayon::Scope<'s>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        while self.begins() {
            scope.spawn(move |scope| self.take(scope));
        }
    }

    /// True where another turn may begin, which it then has.
    fn begins(&self) -> bool {
        let more = |live| (live < self.most).then_some(live + 1);
        let order = Ordering::SeqCst;
        self.live.fetch_update(order, order, more).is_ok()
    }

    /// A worker's turns: a span each, and between two of them a piece of the
    /// pool's other work, such as what the driver's thread asks of the pool. Where
    /// that is another batch's turn, it does one span, so that batches alternate.
    fn take<'s>(&'s self, scope: &rayon::Scope<'s>) {
        loop {
            let wakes = self.wakes.load(Ordering::SeqCst);
            loop {
                match (self.leaf)() {
                    Leaf::Idle => break,
                    Leaf::Busy => {}
                    Leaf::More => self.wake(scope),
                }
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

    fn run(
        &self,
        tasks: usize,
        leaf: &(dyn Fn() -> Leaf + Sync),
        body: &mut dyn FnMut(&(dyn Fn() + Sync)),
    ) {
        let turns = Turns {
            leaf,
            most: self.workers().min(tasks),
            live: AtomicUsize::new(0),
            wakes: AtomicUsize::new(0),
        };
        let turns = &turns;
        self.scope(|scope| body(&|| turns.wake(scope)));
    }

    fn all(&self, portion: Portion<'_>) {
        let workers = self.workers();
        match &self.pool {
            Some(pool) => pool.install(|| halves(portion, workers, false, workers)),
            None => halves(portion, workers, false, workers),
        }
    }

    /// Of whatever rayon pool the thread is: a task may wait for that one as well.
    fn is_worker(&self) -> bool {
        rayon::current_thread_index().is_some()
    }

    fn help(&self) -> bool {
        rayon::yield_now() == Some(rayon::Yield::Executed)
    }

    fn install(&self, job: &mut (dyn FnMut() + Send)) {
        match &self.pool {
            Some(pool) => pool.install(job),
            None => job(),
        }
    }

    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        match &self.pool {
            Some(pool) => pool.spawn(job),
            None => rayon::spawn(job),
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
