//! One batch, before it runs: what is asked for beside its tasks.

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

/// What is asked for of a batch, whatever its tasks are.
#[derive(Clone, Copy, Default)]
pub(super) struct Options {
    pub(super) workload: Option<WorkloadProfile>,
    pub(super) strategy: Option<ExecutionStrategy>,
    pub(super) policy: Option<FallbackPolicy>,
    pub(super) timeout: Option<Option<Duration>>,
    pub(super) deadline: Option<Duration>,
    pub(super) objective: Option<Objective>,
}

/// A batch of an operation, from [`StrategyManager::operation`].
#[must_use = "a batch runs when it is executed"]
pub struct Batch<'m, C, G, V = Unchecked> {
    pub(super) manager: &'m StrategyManager<C, G>,
    pub(super) operation: Option<&'m str>,
    pub(super) options: Options,
    /// Either cancels: the caller's, and that of a future which may be dropped.
    pub(super) cancel: [Option<&'m CancelToken>; 2],
    pub(super) progress: Option<&'m (dyn Fn(usize, usize) + Sync)>,
    pub(super) verify: V,
}

impl<C: CpuExecutor, G> StrategyManager<C, G> {
    /// What would be done with a batch of that kind now, of an operation without a name
    /// of which nothing was measured. A GPU that no batch has asked yet counts as a discrete one
    /// of which nothing is known, unless [`with_device`](Self::with_device) tells: [`Batch::decide`]
    /// and [`Batch::decide_run`] ask it, and say what would be done with given tasks.
    ///
    /// # Errors
    ///
    /// As [`Batch::decide`].
    pub fn detect_strategy(&self, workload: &WorkloadProfile) -> Result<Box<Decision>, Error> {
        Batch::new(self, None).decide_for(workload)
    }

    /// A batch of the operation of that name: what was learned of one batch helps
    /// the next one of the same name.
    pub fn operation<'m>(&'m self, name: &'m str) -> Batch<'m, C, G, Unchecked> {
        Batch::new(self, Some(name))
    }

    /// Runs `process_fn` for every task; the operation's name is the function's type
    /// name: see [`Batch::execute`].
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

    /// Holds outputs of GPUs against the CPU's function: by a
    /// [`CrossCheck`](super::CrossCheck), or by a program's own [`Verify`](super::Verify).
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
    /// What is known of the tasks: complexity, memory, how parallel. Its count
    /// of tasks is replaced by that of the batch. Without it a task takes the
    /// memory of its type and is of complexity 100.
    pub fn workload(mut self, workload: WorkloadProfile) -> Self {
        self.options.workload = Some(workload);
        self
    }

    /// Runs by that strategy, whichever the manager has.
    pub fn strategy(mut self, strategy: ExecutionStrategy) -> Self {
        self.options.strategy = Some(strategy);
        self
    }

    /// Decides by that objective, whichever the manager has.
    pub fn objective(mut self, objective: Objective) -> Self {
        self.options.objective = Some(objective);
        self
    }

    /// Treats tasks that a GPU fails at by that policy, whichever the manager has.
    pub fn fallback(mut self, policy: FallbackPolicy) -> Self {
        self.options.policy = Some(policy);
        self
    }

    /// Gives a launch that much time, none for no limit, whatever the manager does.
    pub fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Stops when the token is used: within a millisecond, or two tasks where they take
    /// longer. A task that runs is not broken off.
    pub fn cancel(mut self, token: &'m CancelToken) -> Self {
        self.cancel[0] = Some(token);
        self
    }

    /// Stops when that much time has passed, as exactly as [`cancel`](Self::cancel) does.
    pub fn deadline(mut self, time: Duration) -> Self {
        self.options.deadline = Some(time);
        self
    }

    /// Calls `told(done, tasks)` now and then, from the thread that did the last of them.
    pub fn progress(mut self, told: &'m (dyn Fn(usize, usize) + Sync)) -> Self {
        self.progress = Some(told);
        self
    }

    /// What [`execute`](Self::execute) would decide for these tasks now, with what is
    /// known of the operation, of the devices' memory and of their quarantine.
    ///
    /// # Errors
    ///
    /// As [`decide_for`](crate::plan::decide_for), and for a wrong order of the
    /// operator's ([`STRATEGY_VARIABLE`](super::STRATEGY_VARIABLE)).
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

    /// The same without tasks.
    pub(super) fn decide_for(&self, workload: &WorkloadProfile) -> Result<Box<Decision>, Error> {
        let operation = self.operation.unwrap_or_default();
        self.answer(self.question(operation, *workload, &[])?)
    }

    /// A decision for which no device is tried.
    pub(super) fn answer(&self, question: Question<'_>) -> Result<Box<Decision>, Error> {
        let tries = false;
        Ok(Question { tries, ..question }.answer()?.decision)
    }

    /// What the batch is decided by, on all GPUs.
    pub(super) fn question<'q>(
        &'q self,
        operation: &'q str,
        workload: WorkloadProfile,
        lanes: &'q [&'q dyn Lane],
    ) -> Result<Question<'q>, Error> {
        let manager = self.manager;
        let asked = self.options.strategy.unwrap_or_else(|| manager.strategy());
        // The operator's strategy comes before Auto.
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

    /// What was told of the tasks, or what is usual for so many.
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

    /// The batch without the types of its tasks; `each` where every task has a result of its
    /// own.
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
