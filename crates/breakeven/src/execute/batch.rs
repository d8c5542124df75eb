//! A batch before it runs: its options other than its tasks.

use std::borrow::Cow;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use super::check::Check;
use super::control::{CancelToken, FallbackPolicy, Unchecked};
use super::engine::Watch;
use super::executor::CpuExecutor;
use super::manager::StrategyManager;
use super::operator::ordered_strategy;
use super::result::{ExecuteError, ExecutionResult};
use super::run::Request;
use super::slots::Slots;
use super::start::Question;
use super::tasks::{FailFast, GpuLane, Keep, Tasks};
use super::work::{Lane, Work};
use crate::WorkloadProfile;
use crate::device::GpuExecutor;
use crate::error::Error;
use crate::plan::{Basis, Decision, ExecutionStrategy, Objective};
use crate::schedule::MOST_TASKS;

/// Options of a batch that do not depend on its tasks.
#[derive(Clone, Copy, Default)]
pub(super) struct Options {
    pub(super) workload: Option<WorkloadProfile>,
    pub(super) strategy: Option<ExecutionStrategy>,
    pub(super) policy: Option<FallbackPolicy>,
    pub(super) timeout: Option<Option<Duration>>,
    pub(super) deadline: Option<Duration>,
    pub(super) objective: Option<Objective>,
    pub(super) items: Option<usize>,
}

/// A batch of an operation, from [`StrategyManager::operation`].
#[must_use = "a batch runs when it is executed"]
pub struct Batch<'m, C, G, V = Unchecked> {
    pub(super) manager: &'m StrategyManager<C, G>,
    pub(super) operation: Option<&'m str>,
    pub(super) options: Options,
    /// Either cancels: the caller's, and that of a future that may be dropped.
    pub(super) cancel: [Option<&'m CancelToken>; 2],
    pub(super) progress: Option<&'m (dyn Fn(usize, usize) + Sync)>,
    pub(super) verify: V,
}

impl<C: CpuExecutor, G> StrategyManager<C, G> {
    /// Decides for a batch of this workload, of an unnamed operation without measurements. A GPU
    /// that no batch has queried yet counts as an unknown discrete one, unless
    /// [`with_device`](Self::with_device) describes it. [`Batch::decide`] and [`Batch::decide_run`]
    /// query the GPU, and decide for given tasks.
    ///
    /// # Errors
    ///
    /// As [`Batch::decide`].
    pub fn detect_strategy(&self, workload: &WorkloadProfile) -> Result<Box<Decision>, Error> {
        Batch::new(self, None).decide_for(workload)
    }

    /// Starts a batch of the operation of that name: what one batch teaches helps the next one of
    /// the same name.
    pub fn operation<'m>(&'m self, name: &'m str) -> Batch<'m, C, G, Unchecked> {
        Batch::new(self, Some(name))
    }

    /// Runs `process_fn` for every task, with the function's type name as the operation's name: see
    /// [`Batch::execute`].
    ///
    /// # Errors
    ///
    /// As [`Batch::execute`].
    pub fn execute<I, T, E, F>(
        &self,
        tasks: impl AsRef<[I]>,
        process_fn: F,
    ) -> Result<ExecutionResult<T>, ExecuteError<E>>
    where
        I: Sync,
        T: Send,
        E: Send,
        F: Fn(&I) -> Result<T, E> + Sync,
        G: GpuExecutor<I, T>,
    {
        Batch::new(self, None).execute(tasks, process_fn)
    }
}

impl<'m, C, G> Batch<'m, C, G, Unchecked> {
    pub(super) fn new(manager: &'m StrategyManager<C, G>, operation: Option<&'m str>) -> Self {
        Self {
            manager,
            operation,
            options: Options::default(),
            cancel: [None; 2],
            progress: None,
            verify: Unchecked,
        }
    }

    /// Compares outputs of GPUs with the CPU's function: by a [`CrossCheck`](super::CrossCheck), or
    /// by a program's own [`Verify`](super::Verify).
    pub fn verify<W>(self, check: W) -> Batch<'m, C, G, W> {
        Batch {
            manager: self.manager,
            operation: self.operation,
            options: self.options,
            cancel: self.cancel,
            progress: self.progress,
            verify: check,
        }
    }
}

impl<'m, C: CpuExecutor, G, V> Batch<'m, C, G, V> {
    /// Describes the tasks: complexity, memory, how parallel. Its count of tasks is replaced by
    /// that of the batch. Without a description a task has complexity 100, and the memory that
    /// [`WorkloadProfile::from_task_size`] estimates from the size of its type.
    pub fn workload(mut self, workload: WorkloadProfile) -> Self {
        self.options.workload = Some(workload);
        self
    }

    /// States the batch's items, if a task has several: a profile has the batch under their number.
    pub fn items(mut self, items: usize) -> Self {
        self.options.items = Some(items);
        self
    }

    /// Runs by this strategy instead of the manager's.
    pub fn strategy(mut self, strategy: ExecutionStrategy) -> Self {
        self.options.strategy = Some(strategy);
        self
    }

    /// Decides by this objective instead of the manager's.
    pub fn objective(mut self, objective: Objective) -> Self {
        self.options.objective = Some(objective);
        self
    }

    /// Treats tasks that fail on a GPU by this policy instead of the manager's.
    pub fn fallback(mut self, policy: FallbackPolicy) -> Self {
        self.options.policy = Some(policy);
        self
    }

    /// Limits the time of a launch, none for no limit, instead of the manager's limit.
    pub fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Stops when the token is used: within a millisecond, or two tasks if they take longer. A
    /// running task is not interrupted.
    pub fn cancel(mut self, token: &'m CancelToken) -> Self {
        self.cancel[0] = Some(token);
        self
    }

    /// Stops after this time, as exactly as [`cancel`](Self::cancel) does. If the running
    /// tasks are the last ones, the batch is complete and succeeds.
    pub fn deadline(mut self, time: Duration) -> Self {
        self.options.deadline = Some(time);
        self
    }

    /// Calls `report(done, tasks)` from time to time, on the thread that finished the latest tasks.
    pub fn progress(mut self, report: &'m (dyn Fn(usize, usize) + Sync)) -> Self {
        self.progress = Some(report);
        self
    }

    /// Decides as [`execute`](Self::execute) would for these tasks now, with what is known of the
    /// operation, of the devices' memory and of their quarantine.
    ///
    /// # Errors
    ///
    /// As [`decide_for`](crate::plan::decide_for), and for an invalid strategy in
    /// [`STRATEGY_VARIABLE`](super::STRATEGY_VARIABLE).
    pub fn decide<I, T>(&self, tasks: impl AsRef<[I]>) -> Result<Box<Decision>, Error>
    where
        I: Sync,
        T: Send,
        G: GpuExecutor<I, T>,
    {
        let tasks = tasks.as_ref();
        let nothing = |_: &I| -> Result<T, Infallible> { unreachable!("nothing is run") };
        let slots = Slots::new(0).ok_or_else(|| Error::too_large("no memory is left"))?;
        let work = Tasks::<I, T, Infallible, _, FailFast>::new(tasks, &nothing, slots);
        let lanes = self.lanes(&work, &Unchecked);
        let lanes: Vec<&dyn Lane> = lanes.iter().map(|lane| lane as &dyn Lane).collect();
        let usual = WorkloadProfile::from_task_size(tasks.len(), size_of::<I>(), 100.0);
        let operation = self.operation.unwrap_or_default();
        self.answer(self.question(operation, self.profile(usual), &lanes)?)
    }

    /// Decides as [`decide`](Self::decide), without tasks.
    pub(super) fn decide_for(&self, workload: &WorkloadProfile) -> Result<Box<Decision>, Error> {
        let operation = self.operation.unwrap_or_default();
        self.answer(self.question(operation, *workload, &[])?)
    }

    /// Decides without trying a device.
    pub(super) fn answer(&self, question: Question<'_>) -> Result<Box<Decision>, Error> {
        let tries = false;
        Ok(Question { tries, ..question }.answer()?.decision)
    }

    /// Collects the inputs of the decision, on all GPUs.
    pub(super) fn question<'q>(
        &'q self,
        operation: &'q str,
        workload: WorkloadProfile,
        lanes: &'q [&'q dyn Lane],
    ) -> Result<Question<'q>, Error> {
        let manager = self.manager;
        let asked = self.options.strategy.unwrap_or_else(|| manager.strategy());
        // The operator's strategy has priority over Auto.
        let ordered = match asked {
            ExecutionStrategy::Auto => ordered_strategy().transpose()?,
            _ => None,
        };
        let ordered = ordered.map(|ordered| (ordered, Basis::Operator));
        let (strategy, basis) = ordered.unwrap_or((asked, Basis::Program));
        let objective = self.options.objective.unwrap_or(manager.config.objective);
        Ok(Question {
            goal: manager.goal(objective)?,
            config: &manager.config,
            shared: &manager.shared,
            slots: &manager.slots,
            lanes,
            operation,
            workload,
            strategy,
            basis,
            workers: manager.cpu.workers().max(1),
            stated: None,
            known_as: Cow::Borrowed(operation),
            tries: true,
        })
    }

    /// Returns the user's description of the tasks, or the default one.
    pub(super) fn profile(&self, usual: WorkloadProfile) -> WorkloadProfile {
        WorkloadProfile {
            task_count: usual.task_count,
            ..self.options.workload.unwrap_or(usual)
        }
    }

    pub(super) fn lanes<'b, I, T, E, F, K: Keep<T, E>, W>(
        &self,
        work: &'b Tasks<'b, I, T, E, F, K>,
        verify: &'b W,
    ) -> Vec<GpuLane<'b, I, T, E, F, K, G, W>>
    where
        'm: 'b,
    {
        let gpus = self.manager.gpus.iter().map(|gpu| &**gpu);
        gpus.map(|gpu| GpuLane { work, gpu, verify }).collect()
    }

    /// Erases the types of the batch's tasks; `each` if every task has its own result.
    pub(super) fn request<'r>(
        &'r self,
        question: &'r Question<'r>,
        work: &'r dyn Work,
        check: Check,
        each: bool,
    ) -> Result<Request<'r>, Error> {
        let (config, options) = (&self.manager.config, &self.options);
        let tasks = question.workload.task_count;
        let policy = options.policy.unwrap_or(config.policy);
        policy.check()?;
        if tasks > MOST_TASKS {
            return Err(Error::too_large(format!(
                "{tasks} tasks in one batch: {MOST_TASKS} is the most; split it"
            )));
        }
        let deadline = options.deadline.filter(|_| tasks > 0);
        Ok(Request {
            question,
            cpu: &*self.manager.cpu,
            work,
            watch: Watch {
                cancel: self.cancel,
                deadline: deadline.and_then(|time| Instant::now().checked_add(time)),
                progress: self.progress,
            },
            policy,
            timeout: options.timeout.unwrap_or(config.timeout),
            check,
            each,
            items: options.items,
        })
    }
}

impl<C, G, V> std::fmt::Debug for Batch<'_, C, G, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch")
            .field("operation", &self.operation)
            .field("workload", &self.options.workload)
            .field("deadline", &self.options.deadline)
            .finish_non_exhaustive()
    }
}
