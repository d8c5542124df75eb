//! Threads of the package: pools of workers, and threads that run a batch while the caller handles
//! signals. They persist, each with a Python thread state, so that taking the GIL is cheap and
//! per-thread data of libraries is kept.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, mpsc};

use breakeven::execute::{CpuExecutor, Leaf, Portion, RayonCpu};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::locked;

/// State of this process: after a fork the child has none of the threads.
#[derive(Default)]
struct Threads {
    process: u32,
    pools: HashMap<usize, Arc<ThreadPool>>,
    /// Idle threads.
    idle: Vec<mpsc::Sender<Job>>,
}

type Job = Box<dyn FnOnce() + Send>;

static THREADS: LazyLock<Mutex<Threads>> = LazyLock::new(Mutex::default);

fn with_threads<R>(work: impl FnOnce(&mut Threads) -> R) -> R {
    let threads = &mut *locked(&THREADS);
    let process = std::process::id();
    if threads.process != process {
        // Dropping the parent's pools would wait for threads that do not exist.
        std::mem::forget(std::mem::take(threads));
        threads.process = process;
    }
    work(threads)
}

/// A thread with one Python thread state for the life of the process.
fn start(name: String, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let attached = move || {
        Python::try_attach(|py| py.detach(body));
    };
    std::thread::Builder::new().name(name).spawn(attached)?;
    Ok(())
}

/// The calling thread as the only worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Here;

impl CpuExecutor for Here {
    fn workers(&self) -> usize {
        1
    }

    fn all(&self, portion: Portion<'_>) {
        portion.run();
    }

    fn run(
        &self,
        _: usize,
        leaf: &(dyn Fn() -> Leaf + Sync),
        body: &mut dyn FnMut(&(dyn Fn() + Sync)),
    ) {
        body(&|| while !matches!(leaf(), Leaf::Idle) {});
    }
}

/// That many workers.
pub(super) fn pool(workers: usize) -> PyResult<RayonCpu> {
    with_threads(|threads| {
        if let Some(pool) = threads.pools.get(&workers) {
            return Ok(RayonCpu::with_pool(Arc::clone(pool)));
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(workers)
            .spawn_handler(|thread| {
                let name = format!("breakeven-worker-{}", thread.index());
                start(name, move || thread.run())
            })
            .build()
            .map_err(|error| PyOSError::new_err(format!("{workers} workers: {error}")))?;
        let pool = Arc::new(pool);
        threads.pools.insert(workers, Arc::clone(&pool));
        Ok(RayonCpu::with_pool(pool))
    })
}

/// True on a pool thread: a task that starts a batch itself.
pub(super) fn is_worker() -> bool {
    rayon::current_thread_index().is_some()
}

/// Runs `job` on a thread other than the caller's.
pub(super) fn run(job: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let mut job: Job = Box::new(job);
    while let Some(idle) = with_threads(|threads| threads.idle.pop()) {
        match idle.send(job) {
            Ok(()) => return Ok(()),
            Err(mpsc::SendError(back)) => job = back,
        }
    }
    start("breakeven-run".to_owned(), move || {
        let mut next = Some(job);
        while let Some(job) = next {
            job();
            let (sender, receiver) = mpsc::channel();
            with_threads(|threads| threads.idle.push(sender));
            next = receiver.recv().ok();
        }
    })
}
