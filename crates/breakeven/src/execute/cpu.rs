//! The built-in workers: a rayon pool.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::ThreadPool;
use rayon::iter::ParallelIterator;

use super::bridge::{ExecuteBatch, PoolOf};
use super::engine::Leaf;
use super::executor::CpuExecutor;
use super::portion::Portion;

/// The CPU as a rayon pool: the one the caller is in (the global one outside of
/// pools), or one it was given. A child of a fork has none of the pool's threads: there a
/// batch is the calling thread's, unless the child makes a pool of its own.
#[derive(Debug, Clone, Default)]
pub struct RayonCpu {
    /// The pool, and the process that its threads are in.
    pool: Option<(Arc<ThreadPool>, u32)>,
}

impl RayonCpu {
    /// The pool that each caller is in.
    pub fn current() -> Self {
        Self::default()
    }

    /// That pool.
    pub fn with_pool(pool: Arc<ThreadPool>) -> Self {
        let pool = Some((pool, std::process::id()));
        Self { pool }
    }

    /// False in a child of a fork.
    fn has_threads(&self) -> bool {
        static GLOBAL: OnceLock<u32> = OnceLock::new();
        let process = std::process::id();
        match &self.pool {
            Some((_, made_in)) => *made_in == process,
            None if self.is_worker() => true,
            None => *GLOBAL.get_or_init(|| process) == process,
        }
    }

    /// Runs `body` with a scope of the pool, on the calling thread.
    fn scope<'s>(&self, body: impl FnOnce(&rayon::Scope<'s>)) {
        match &self.pool {
            Some((pool, _)) => pool.in_place_scope(body),
            None => rayon::in_place_scope(body),
        }
    }
}

/// The calling thread as a pool.
struct Caller;

impl ExecuteBatch for Caller {
    fn workers(&self) -> usize {
        1
    }

    fn execute_batch<I: Sync, F: Fn(&I) + Sync>(&self, tasks: &[I], process_fn: &F) {
        tasks.iter().for_each(process_fn);
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
    /// Sets the workers to work, each once: a turn that finds nothing to do ends at once,
    /// perhaps before the next begins.
    fn wake<'s>(&'s self, scope: &rayon::Scope<'s>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        for _ in 0..self.most {
            if !self.begins() {
                return;
            }
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
            _ if !self.has_threads() => 1,
            Some((pool, _)) => pool.current_num_threads(),
            None => rayon::current_num_threads(),
        }
    }

    fn run(
        &self,
        tasks: usize,
        leaf: &(dyn Fn() -> Leaf + Sync),
        body: &mut dyn FnMut(&(dyn Fn() + Sync)),
    ) {
        if !self.has_threads() {
            return PoolOf(Caller).run(tasks, leaf, body);
        }
        let turns = Turns {
            leaf,
            most: self.workers().min(tasks),
            live: AtomicUsize::new(0),
            wakes: AtomicUsize::new(0),
        };
        let turns = &turns;
        self.scope(|scope| body(&|| turns.wake(scope)));
    }

    /// Split as rayon's parallel iterators are: into about as many portions as there are
    /// workers, and again whenever one was stolen.
    fn all(&self, portion: Portion<'_>) {
        if !self.has_threads() {
            return portion.run();
        }
        let run = || rayon::iter::split(portion, Portion::halve).for_each(Portion::run);
        match &self.pool {
            Some((pool, _)) => pool.install(run),
            None => run(),
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
            Some((pool, _)) if self.has_threads() => pool.install(job),
            _ => job(),
        }
    }

    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        match &self.pool {
            _ if !self.has_threads() => _ = std::thread::spawn(job),
            Some((pool, _)) => pool.spawn(job),
            None => rayon::spawn(job),
        }
    }
}
