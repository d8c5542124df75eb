//! The built-in workers: a rayon pool.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rayon::ThreadPool;
use rayon::iter::ParallelIterator;

use super::bridge::{ExecuteBatch, PoolOf};
use super::engine::Leaf;
use super::executor::CpuExecutor;
use super::portion::Portion;
use crate::locked;

/// The CPU as a rayon pool: the caller's (the global one outside of pools), or a given one. A
/// forked child has none of the pool's threads: there the calling thread runs the batch, unless the
/// child makes its own pool.
#[derive(Debug, Clone, Default)]
pub struct RayonCpu {
    /// The pool, and the process that owns its threads.
    pool: Option<(Arc<ThreadPool>, u32)>,
}

impl RayonCpu {
    /// Uses the pool that each caller is in.
    pub fn current() -> Self {
        Self::default()
    }

    /// Uses this pool.
    pub fn with_pool(pool: Arc<ThreadPool>) -> Self {
        let pool = Some((pool, std::process::id()));
        Self { pool }
    }

    /// Returns false in a forked child, and where the global pool cannot start its threads.
    fn has_threads(&self) -> bool {
        static GLOBAL: OnceLock<Option<u32>> = OnceLock::new();
        let process = std::process::id();
        match &self.pool {
            Some((_, made_in)) => *made_in == process,
            None if self.is_worker() => true,
            None => {
                *GLOBAL.get_or_init(|| breakeven_machine::has_pool().then_some(process))
                    == Some(process)
            }
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

/// Runs the job on a new thread, or on this one if there can be no other.
fn on_a_thread(job: Box<dyn FnOnce() + Send>) {
    let job = Arc::new(Mutex::new(Some(job)));
    let run = |job: &Mutex<Option<Box<dyn FnOnce() + Send>>>| {
        if let Some(job) = locked(job).take() {
            job();
        }
    };
    let other = Arc::clone(&job);
    if std::thread::Builder::new()
        .spawn(move || run(&other))
        .is_err()
    {
        run(&job);
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
    /// True while a turn runs other work of the pool.
    static IN_BETWEEN: Cell<bool> = const { Cell::new(false) };
}

/// The workers' turns at a batch: at most as many at once as there are workers, or tasks.
struct Turns<'l> {
    leaf: &'l (dyn Fn() -> Leaf + Sync),
    most: usize,
    live: AtomicUsize,
    wakes: AtomicUsize,
}

impl Turns<'_> {
    /// Starts the workers, each once: a turn that finds nothing to do ends at once, perhaps before
    /// the next begins.
    fn wake<'s>(&'s self, scope: &rayon::Scope<'s>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        for _ in 0..self.most {
            if !self.begins() {
                return;
            }
            scope.spawn(move |scope| self.take(scope));
        }
    }

    /// Returns true if another turn may begin, and counts it as begun.
    fn begins(&self) -> bool {
        let more = |live| (live < self.most).then_some(live + 1);
        let order = Ordering::SeqCst;
        self.live.fetch_update(order, order, more).is_ok()
    }

    /// Runs a worker's turns: a span each, and between two of them a piece of the pool's other
    /// work, such as what the driver's thread submits. If that is another batch's turn, it runs one
    /// span, so that batches alternate.
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
            // A waker may have counted this turn as still running.
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

    /// Splits as rayon's parallel iterators do: into about as many portions as there are workers,
    /// and again whenever one was stolen.
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

    /// Any rayon pool counts: a task may wait for that one as well.
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
            _ if !self.has_threads() => on_a_thread(job),
            Some((pool, _)) => pool.spawn(job),
            None => rayon::spawn(job),
        }
    }
}
