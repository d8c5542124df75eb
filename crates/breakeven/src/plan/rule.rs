//! The rule for when nothing was measured: seven stages, the first whose
//! condition holds decides.
//!
//! 1. No GPU, or none whose free memory takes a task: CPU.
//! 2. Few tasks or a small workload: CPU.
//! 3. Sequential tasks: CPU.
//! 4. The GPU's memory is mostly in use: split 60/40.
//! 5. The batch does not fit the GPU's free memory: split, the GPU's share being
//!    what fits.
//! 6. Many tasks or a large workload, and parallel: GPU.
//! 7. Complex tasks: GPU.
//!
//! Else the last answer of the [`ProfilingHeuristics`]. [`rule`] is pure and
//! allocates nothing: it is on the path of every decision that lacks evidence.

use std::fmt;

use serde::Serialize;

use super::{ExecutionStrategy, GpuSpec, Machine, ProfilingHeuristics};
use crate::workload::WorkloadProfile;

/// A stage of the rule for when nothing was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// 1: there is no GPU.
    NoGpu,
    /// 2: too few tasks, or too small a workload.
    Small,
    /// 3: the tasks are sequential.
    Sequential,
    /// 4: the GPU's memory is mostly in use.
    MemoryPressure,
    /// 5: the batch does not fit the GPU's free memory.
    DoesNotFit,
    /// 6: many tasks or a large workload, and parallel.
    Large,
    /// 7: complex tasks.
    Complex,
    /// No stage decided: the last answer of the heuristics.
    Last,
}

impl Stage {
    /// Its number, 1 to 7; none for the last answer.
    pub fn number(self) -> Option<u8> {
        (self != Self::Last).then_some(self as u8 + 1)
    }
}

/// `stage 4`, and `last answer` when no stage decided.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number() {
            Some(number) => f.pad(&format!("stage {number}")),
            None => f.pad("last answer"),
        }
    }
}

/// A batch is sequential where less than this part of the work can be done at once (stage 3):
/// endless workers could not make it faster by more (Amdahl's law).
pub const SEQUENTIAL_BELOW: f64 = 0.01;

/// More tasks than this are many (stage 6).
pub const MANY_TASKS: usize = 100;

/// From this part of the work on a batch is parallel (stage 6). Half: below it
/// even endless workers could not make it twice as fast (Amdahl's law).
pub const PARALLEL_FROM: f64 = 0.5;

/// The split under memory pressure (stage 4).
const UNDER_PRESSURE: ExecutionStrategy = ExecutionStrategy::split(60);

/// The stages with a condition, in their order.
const STAGES: [Stage; 7] = [
    Stage::NoGpu,
    Stage::Small,
    Stage::Sequential,
    Stage::MemoryPressure,
    Stage::DoesNotFit,
    Stage::Large,
    Stage::Complex,
];

/// What the rule decided, with all that it looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ruling {
    /// What to run; never Auto.
    pub strategy: ExecutionStrategy,
    /// The stage that decided.
    pub stage: Stage,
    /// What the stages looked at.
    pub facts: RuleFacts,
}

/// What the stages of the rule look at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RuleFacts {
    /// The batch.
    pub workload: WorkloadProfile,
    /// Its [`WorkloadProfile::workload_size`].
    pub workload_size: u64,
    /// Its [`WorkloadProfile::estimated_memory_bytes`].
    pub needed_bytes: u64,
    /// Whether there is a GPU that can be used: its free memory takes a task.
    pub has_gpu: bool,
    /// GPUs that cannot be used now.
    pub gpus_left_out: usize,
    /// Part of the GPU's memory that is in use, 0 to 1; of several GPUs the least. None
    /// where it is unknown, which counts as no pressure.
    pub memory_use: Option<f64>,
    /// The free memory of all GPUs, bytes, all of it where the use is unknown; none
    /// where the memory of one is unknown, which counts as enough.
    pub free_bytes: Option<u64>,
    /// The thresholds.
    pub heuristics: ProfilingHeuristics,
}

/// Decides by the seven stages. Deterministic; what is wrong with a workload or
/// with heuristics is for [`WorkloadProfile::check`] and
/// [`ProfilingHeuristics::check`] to say before.
///
/// ```
/// use breakeven::WorkloadProfile;
/// use breakeven::plan::{ExecutionStrategy, Machine, ProfilingHeuristics, Stage, rule};
///
/// let machine = Machine::from_toml("cores = 16\n[[gpu]]\nname = \"V100\"")?;
/// let workload = WorkloadProfile::from_task_count(5);
/// let ruling = rule(&workload, &machine, &ProfilingHeuristics::default());
/// assert_eq!(ruling.strategy, ExecutionStrategy::CpuOnly);
/// assert_eq!(ruling.stage, Stage::Small);
/// assert_eq!(ruling.reasons()[1], "stage 2: 5 tasks are fewer than 10: cpu-only");
/// # Ok::<(), breakeven::Error>(())
/// ```
pub fn rule(
    workload: &WorkloadProfile,
    machine: &Machine,
    heuristics: &ProfilingHeuristics,
) -> Ruling {
    let memory_use = machine.gpus.iter().filter_map(|gpu| {
        let memory = gpu.memory_bytes.get().filter(|memory| *memory > 0)?;
        Some(gpu.memory_used_bytes.get()? as f64 / memory as f64)
    });
    let free = machine.gpus.iter().map(GpuSpec::free_bytes);
    let sum = |all: Option<u64>, gpu: Option<u64>| Some(all?.saturating_add(gpu?));
    let facts = RuleFacts {
        workload: *workload,
        workload_size: workload.workload_size(),
        needed_bytes: workload.estimated_memory_bytes(),
        has_gpu: (machine.gpus.iter()).any(|gpu| gpu.fits(workload.memory_per_task) > 0),
        gpus_left_out: 0,
        memory_use: memory_use.min_by(f64::total_cmp),
        free_bytes: free.reduce(sum).flatten(),
        heuristics: *heuristics,
    };
    let answer = |stage| Some((stage, facts.answer(stage)?));
    let decided = STAGES.into_iter().find_map(answer);
    let (stage, strategy) = decided.unwrap_or((Stage::Last, heuristics.last_answer));
    Ruling {
        strategy,
        stage,
        facts,
    }
}

impl RuleFacts {
    /// What a stage answers; none where its condition does not hold.
    pub fn answer(&self, stage: Stage) -> Option<ExecutionStrategy> {
        let workload = &self.workload;
        let (holds, strategy) = match stage {
            Stage::NoGpu => (!self.has_gpu, ExecutionStrategy::CpuOnly),
            Stage::Small => (self.is_few() || self.is_small(), ExecutionStrategy::CpuOnly),
            Stage::Sequential => (
                workload.parallelization < SEQUENTIAL_BELOW,
                ExecutionStrategy::CpuOnly,
            ),
            Stage::MemoryPressure => (
                self.memory_use
                    .is_some_and(|part| part > self.heuristics.gpu_memory_pressure_threshold),
                UNDER_PRESSURE,
            ),
            Stage::DoesNotFit => return self.what_fits(),
            Stage::Large => (
                (self.is_many() || self.is_large()) && workload.parallelization >= PARALLEL_FROM,
                ExecutionStrategy::GpuOnly,
            ),
            Stage::Complex => (
                workload.complexity > self.heuristics.complexity_threshold_for_gpu,
                ExecutionStrategy::GpuOnly,
            ),
            Stage::Last => (true, self.heuristics.last_answer),
        };
        // Without a GPU no stage can send it work.
        (holds && (self.has_gpu || strategy == ExecutionStrategy::CpuOnly)).then_some(strategy)
    }

    /// The split that fits the GPU's free memory, where the batch does not:
    /// whole percents, rounded down, at least 1 and at most 99.
    fn what_fits(&self) -> Option<ExecutionStrategy> {
        let free = self.free_bytes.filter(|free| *free < self.needed_bytes)?;
        let percent = u128::from(free) * 100 / u128::from(self.needed_bytes);
        let percent = u8::try_from(percent.clamp(1, 99)).unwrap_or(99);
        Some(ExecutionStrategy::split(percent))
    }

    pub(super) fn is_few(&self) -> bool {
        self.workload.task_count < self.heuristics.min_tasks_for_gpu
    }

    pub(super) fn is_small(&self) -> bool {
        self.workload_size < self.heuristics.small_workload_threshold
    }

    pub(super) fn is_many(&self) -> bool {
        self.workload.task_count > MANY_TASKS
    }

    pub(super) fn is_large(&self) -> bool {
        self.workload_size > self.heuristics.large_workload_threshold
    }

    /// Whether there is such a stage: an infinite threshold switches stage 7 off.
    pub(super) fn has(&self, stage: Stage) -> bool {
        stage != Stage::Complex || self.heuristics.complexity_threshold_for_gpu < f64::INFINITY
    }
}

impl Ruling {
    /// The stages up to the one that decided.
    pub fn looked_at(&self) -> impl Iterator<Item = Stage> + use<> {
        let (last, facts) = (self.stage, self.facts);
        STAGES
            .into_iter()
            .filter(move |stage| *stage <= last && facts.has(*stage))
    }

    /// The later stages that would have sent the work to the same place. Splits
    /// agree with each other whatever their shares.
    pub fn agreeing(&self) -> impl Iterator<Item = Stage> + use<> {
        let (decided, facts) = (self.stage, self.facts);
        let kind = std::mem::discriminant(&self.strategy);
        STAGES.into_iter().filter(move |stage| {
            let answer = facts.answer(*stage);
            *stage > decided && answer.is_some_and(|answer| std::mem::discriminant(&answer) == kind)
        })
    }
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
