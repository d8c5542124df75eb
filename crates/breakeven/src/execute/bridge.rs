//! Adapts a program's own pool, which takes a list and a function.

use std::sync::{Condvar, Mutex, PoisonError};

use super::engine::Leaf;
use super::executor::CpuExecutor;
use super::portion::Portion;
use super::threads::Ends;
use crate::locked;

/// A pool that calls a function for every element of a list, on all its workers, and returns when
/// all calls have ended. Many programs have one already.
pub trait ExecuteBatch: Send + Sync {
    /// Workers that run at once.
    fn workers(&self) -> usize;

    /// Calls `process_fn` for each of `tasks`, each on some worker.
    fn execute_batch<I: Sync, F: Fn(&I) + Sync>(&self, tasks: &[I], process_fn: &F);
}

/// Makes such a pool the CPU of a manager.
///
/// ```
/// use std::sync::Arc;
/// use breakeven::execute::{ExecuteBatch, PoolOf, StrategyManager};
///
/// /// A pool that makes threads for every batch.
/// struct Threads(usize);
///
/// impl ExecuteBatch for Threads {
///     fn workers(&self) -> usize {
///         self.0
///     }
///
///     fn execute_batch<I: Sync, F: Fn(&I) + Sync>(&self, tasks: &[I], process_fn: &F) {
///         std::thread::scope(|scope| {
///             for part in tasks.chunks(tasks.len().div_ceil(self.0).max(1)) {
///                 scope.spawn(move || part.iter().for_each(process_fn));
///             }
///         });
///     }
/// }
///
/// let manager = StrategyManager::cpu_only(Arc::new(PoolOf(Threads(2))));
/// let result = manager.operation("square").map(&[1, 2, 3], |task| task * task)?;
/// assert_eq!(result.outputs, [1, 4, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct PoolOf<P>(pub P);

/// Pieces of a batch per worker, so that fast workers take more.
const PARTS: usize = 4;

impl<P: ExecuteBatch> CpuExecutor for PoolOf<P> {
    fn workers(&self) -> usize {
        self.0.workers().max(1)
    }

    fn all(&self, portion: Portion<'_>) {
        let mut parts = vec![portion];
        let mut before = 0;
        while parts.len() > before && parts.len() / PARTS < self.workers() {
            before = parts.len();
            let halves = parts.into_iter().map(Portion::halve);
            let halves = halves.flat_map(|(first, rest)| [Some(first), rest]);
            parts = halves.flatten().collect();
        }
        let parts = parts.into_iter().map(|part| Mutex::new(Some(part)));
        let parts: Vec<_> = parts.collect();
        let run = |part: &Mutex<Option<Portion<'_>>>| {
            if let Some(part) = locked(part).take() {
                part.run();
            }
        };
        self.0.execute_batch(&parts, &run);
    }

    fn run(
        &self,
        tasks: usize,
        leaf: &(dyn Fn() -> Leaf + Sync),
        body: &mut dyn FnMut(&(dyn Fn() + Sync)),
    ) {
        // How often the workers were woken, and whether the body has ended.
        let (state, changed) = (Mutex::new((0_u64, false)), Condvar::new());
        let wake = || {
            locked(&state).0 += 1;
            changed.notify_all();
        };
        let workers = vec![(); self.workers().min(tasks)];
        let turn = |(): &()| while leaf() != Leaf::Idle {};
        std::thread::scope(|scope| {
            let waking = std::thread::Builder::new().spawn_scoped(scope, || {
                let mut seen = 0;
                loop {
                    let nothing_new =
                        |(wakes, is_over): &mut (u64, bool)| *wakes == seen && !*is_over;
                    let waited = changed.wait_while(locked(&state), nothing_new);
                    let (wakes, _) = *waited.unwrap_or_else(PoisonError::into_inner);
                    if wakes == seen {
                        return;
                    }
                    seen = wakes;
                    self.0.execute_batch(&workers, &turn);
                }
            });
            if waking.is_err() {
                // There can be no further thread: the engine's caller does what no worker did.
                return body(&|| {});
            }
            // Also if the body panics; otherwise this would wait for ever.
            let _ends = Ends(|| {
                locked(&state).1 = true;
                changed.notify_all();
            });
            body(&wake);
        });
    }
}
