//! The trait of what runs tasks on the CPU: a program's own pool can implement it.

use super::engine::Leaf;
use super::portion::Portion;

/// Workers of the CPU. [`RayonCpu`](super::RayonCpu) is the built-in executor.
pub trait CpuExecutor: Send + Sync {
    /// Workers that run at once.
    fn workers(&self) -> usize;

    /// Runs all of a batch on the workers, split in any way, and returns when it is done.
    fn all(&self, portion: Portion<'_>);

    /// Returns the most tasks of a worker's span, at least 1. With 1 no task waits behind a long
    /// one, but each task costs a turn at the schedule.
    fn most_tasks(&self) -> usize {
        usize::MAX
    }

    /// Runs `body`, for a batch of that many tasks, on the calling thread. Whenever the function
    /// that `body` gets is called, from any thread, every worker (at most as many as there are
    /// tasks) calls `leaf` repeatedly until it returns [`Leaf::Idle`]. Returns when `body` has
    /// returned and all workers are idle.
    ///
    /// A call of `leaf` runs one span. Between two calls a worker may run other work of its pool,
    /// so a task may itself wait for the pool.
    fn run(
        &self,
        tasks: usize,
        leaf: &(dyn Fn() -> Leaf + Sync),
        body: &mut dyn FnMut(&(dyn Fn() + Sync)),
    );

    /// Returns true if the calling thread is a worker of a pool: while it waits for a device, it
    /// must [`help`](CpuExecutor::help) there.
    fn is_worker(&self) -> bool {
        false
    }

    /// Runs a piece of other work of the calling thread's pool; returns false if there is none.
    fn help(&self) -> bool {
        false
    }

    /// Runs `job`, which is divided internally, on the calling thread or on a worker, and returns
    /// when it is done.
    fn install(&self, job: &mut (dyn FnMut() + Send)) {
        job();
    }

    /// Runs `job` on a worker at some time.
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        rayon::spawn(job);
    }
}
