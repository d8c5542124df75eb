//! What runs tasks on the CPU: the trait that a program's own pool fits into.

use super::engine::Leaf;
use super::portion::Portion;

/// Workers of the CPU. [`RayonCpu`](super::RayonCpu) is the built-in one.
pub trait CpuExecutor: Send + Sync {
    /// Workers that run at once.
    fn workers(&self) -> usize;

    /// Runs all of a batch on the workers, split as they like, and returns when
    /// it is done.
    fn all(&self, portion: Portion<'_>);

    /// Most tasks of a span that a worker takes, from 1 on. With 1 no task waits behind
    /// another that takes long; each task then costs a turn at the schedule.
    fn most_tasks(&self) -> usize {
        usize::MAX
    }

    /// Runs `body`, for a batch of that many tasks, on the calling thread. Whenever the
    /// function that `body` gets is called, from any thread, every worker (no more than there
    /// are tasks) calls `leaf` again and again until that returns [`Leaf::Idle`]. Returns when
    /// `body` has and all workers are idle.
    ///
    /// A call of `leaf` does one span. Between two calls a worker may do other
    /// work of its pool, so a task may itself wait for the pool.
    fn run(
        &self,
        tasks: usize,
        leaf: &(dyn Fn() -> Leaf + Sync),
        body: &mut dyn FnMut(&(dyn Fn() + Sync)),
    );

    /// True where the calling thread is a worker of a pool: while it waits for a device, it
    /// is to [`help`](CpuExecutor::help) there.
    fn is_worker(&self) -> bool {
        false
    }

    /// Does a piece of other work of the pool that the calling thread is a worker of;
    /// false where there is nothing to do.
    fn help(&self) -> bool {
        false
    }

    /// Runs `job`, which is shared out inside, on the calling thread or on a worker, and
    /// returns when it is done.
    fn install(&self, job: &mut (dyn FnMut() + Send)) {
        job();
    }

    /// Runs `job` on some worker, some time.
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        rayon::spawn(job);
    }
}
