//! The rule for batches without measurements: of seven stages, the first whose condition holds
//! decides.
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
//! Else the last answer of the [`ProfilingHeuristics`]. [`rule`] is pure and allocates nothing:
//! every decision without evidence calls it. Its sentences are made on request.

use std::fmt;

use breakeven_profile::unit;
use serde::{Deserialize, Serialize};

use super::{ExecutionStrategy, GpuSpec, Machine, toml_file};
use crate::WorkloadProfile;
use crate::error::Error;

/// Methods that return the same thresholds with one of them set.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($field:ident: $type:ty))*) => {$(
        $(#[$doc])*
        #[must_use]
        pub const fn $name(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
    )*};
}

/// The thresholds of the [`rule`](super::rule), and the sizes of batches.
///
/// ```
/// use breakeven_schedule::plan::{ExecutionStrategy, ProfilingHeuristics};
///
/// let heuristics = ProfilingHeuristics::default()
///     .with_small_threshold(50_000)
///     .with_memory_threshold(0.9);
/// heuristics.check()?;
/// let read = ProfilingHeuristics::from_toml(
///     "small_workload_threshold = 50_000\ngpu_memory_pressure_threshold = 0.9",
/// )?;
/// assert_eq!(read, heuristics);
/// assert_eq!(read.last_answer, ExecutionStrategy::CpuOnly);
/// # Ok::<(), breakeven_types::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfilingHeuristics {
    /// Workload size below which the CPU is used (stage 2); 100 000.
    pub small_workload_threshold: u64,
    /// Workload size above which the GPU is used (stage 6); 10 000 000.
    pub large_workload_threshold: u64,
    /// Fraction of the GPU's memory that may be in use, 0 to 1; above it the work is split (stage
    /// 4). 0.8.
    pub gpu_memory_pressure_threshold: f64,
    /// Fewest tasks for a GPU (stage 2); 10.
    pub min_tasks_for_gpu: usize,
    /// Tasks per batch on the CPU, 1 or more; 32.
    pub optimal_cpu_batch_size: usize,
    /// Tasks per batch on the GPU, 1 or more; 256.
    pub optimal_gpu_batch_size: usize,
    /// Complexity above which the GPU is used (stage 7); 50. Infinity disables stage 7.
    pub complexity_threshold_for_gpu: f64,
    /// The strategy when no stage decides; never Auto. CpuOnly.
    pub last_answer: ExecutionStrategy,
}

impl Default for ProfilingHeuristics {
    fn default() -> Self {
        Self {
            small_workload_threshold: 100_000,
            large_workload_threshold: 10_000_000,
            gpu_memory_pressure_threshold: 0.8,
            min_tasks_for_gpu: 10,
            optimal_cpu_batch_size: 32,
            optimal_gpu_batch_size: 256,
            complexity_threshold_for_gpu: 50.0,
            last_answer: ExecutionStrategy::CpuOnly,
        }
    }
}

impl ProfilingHeuristics {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The preset that splits 70/30 when no stage decides, and has no stage 7.
    pub fn hybrid_first() -> Self {
        Self::default()
            .with_complexity_threshold(f64::INFINITY)
            .with_last_answer(ExecutionStrategy::split(70))
    }

    setters! {
        /// Sets the workload size below which the CPU is used.
        with_small_threshold(small_workload_threshold: u64)
        /// Sets the workload size above which the GPU is used.
        with_large_threshold(large_workload_threshold: u64)
        /// Sets the fraction of the GPU's memory that may be in use, 0 to 1.
        with_memory_threshold(gpu_memory_pressure_threshold: f64)
        /// Sets the fewest tasks for which a GPU is considered.
        with_min_tasks(min_tasks_for_gpu: usize)
        /// Sets the tasks per batch on the CPU.
        with_cpu_batch_size(optimal_cpu_batch_size: usize)
        /// Sets the tasks per batch on the GPU.
        with_gpu_batch_size(optimal_gpu_batch_size: usize)
        /// Sets the complexity above which the GPU is used; infinity disables stage 7.
        with_complexity_threshold(complexity_threshold_for_gpu: f64)
        /// Sets the strategy if no stage decides.
        with_last_answer(last_answer: ExecutionStrategy)
    }

    /// Checks that a decision can be made with these thresholds.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](breakeven_types::ErrorKind::Invalid), with the threshold's name and
    /// its valid range.
    pub fn check(&self) -> Result<(), Error> {
        self.wrong()
            .map_or(Ok(()), |(_, message)| Err(Error::invalid(message)))
    }

    /// Returns the first invalid threshold and what is wrong with it.
    fn wrong(&self) -> Option<(&'static str, String)> {
        let wrong = |name, what: String| Some((name, format!("{name} is {what}")));
        let (small, large) = (self.small_workload_threshold, self.large_workload_threshold);
        if small > large {
            let above = format!("{small}, above large_workload_threshold, {large}");
            let both = "a workload between would be both; exchange them";
            return wrong("small_workload_threshold", format!("{above}: {both}"));
        }
        let part = self.gpu_memory_pressure_threshold;
        if !(0.0..=1.0).contains(&part) {
            let range = format!("{part}; give a fraction from 0 to 1");
            return wrong("gpu_memory_pressure_threshold", range);
        }
        for (name, size) in [
            ("optimal_cpu_batch_size", self.optimal_cpu_batch_size),
            ("optimal_gpu_batch_size", self.optimal_gpu_batch_size),
        ] {
            if size == 0 {
                return wrong(name, "0; give 1 task or more".to_owned());
            }
        }
        let complexity = self.complexity_threshold_for_gpu;
        if complexity.is_nan() || complexity < 0.0 {
            let range = "give a number, 0 or more, or infinity for no stage 7";
            return wrong(
                "complexity_threshold_for_gpu",
                format!("{complexity}; {range}"),
            );
        }
        let wrong = match self.last_answer {
            ExecutionStrategy::Auto => {
                "auto is not a decision; give cpu-only, gpu-only or hybrid:GPU/CPU".to_owned()
            }
            strategy => strategy.check().err()?.to_string(),
        };
        Some(("last_answer", format!("last_answer: {wrong}")))
    }

    /// Reads heuristics from TOML. The keys are the fields' names. Each is optional; its default is
    /// as in [`Default`]. `last_answer` is written as a strategy is printed, and `inf` disables
    /// stage 7:
    ///
    /// ```
    /// # use breakeven_schedule::plan::ProfilingHeuristics;
    /// let heuristics = ProfilingHeuristics::from_toml(r#"
    ///     complexity_threshold_for_gpu = inf
    ///     last_answer = "hybrid:70/30"
    /// "#)?;
    /// assert_eq!(heuristics, ProfilingHeuristics::hybrid_first());
    /// # Ok::<(), breakeven_types::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](breakeven_types::ErrorKind::File) with line and column, for invalid
    /// TOML, unknown keys, or values that [`check`](Self::check) refuses.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let heuristics: Self = toml_file::read(text)?;
        match heuristics.wrong() {
            Some((key, message)) => Err(toml_file::error_at_key(
                text,
                &[key, "large_workload_threshold"],
                &message,
            )),
            None => Ok(heuristics),
        }
    }

    /// Returns the tasks per batch: the CPU's or the GPU's size; for a split, the mean of both
    /// weighted by their shares, rounded. Never more than `tasks`, so 0 for none. Auto, which is no
    /// decision yet, uses the CPU's size.
    pub fn batch_size(&self, strategy: ExecutionStrategy, tasks: usize) -> usize {
        let size = match strategy {
            ExecutionStrategy::Auto | ExecutionStrategy::CpuOnly => self.optimal_cpu_batch_size,
            ExecutionStrategy::GpuOnly => self.optimal_gpu_batch_size,
            ExecutionStrategy::Hybrid {
                gpu_allocation,
                cpu_allocation,
            } => {
                let part = |size: usize, percent: u8| size as u128 * u128::from(percent);
                let sum = part(self.optimal_gpu_batch_size, gpu_allocation)
                    + part(self.optimal_cpu_batch_size, cpu_allocation);
                usize::try_from((sum + 50) / 100).unwrap_or(usize::MAX)
            }
        };
        size.min(tasks)
    }
}

/// A stage of the rule for batches without measurements.
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
    /// Returns its number, 1 to 7; none for the last answer.
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

/// Fraction of parallel work below which a batch is sequential (stage 3): infinitely many workers
/// could not speed it up by more (Amdahl's law).
pub const SEQUENTIAL_BELOW: f64 = 0.01;

/// A batch with more tasks than this has many (stage 6).
pub const MANY_TASKS: usize = 100;

/// Fraction of parallel work from which a batch is parallel (stage 6). With less than half, even
/// infinitely many workers could not halve its time (Amdahl's law).
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

/// The rule's answer, with the facts it was based on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ruling {
    /// What to run; never Auto.
    pub strategy: ExecutionStrategy,
    /// The stage that decided.
    pub stage: Stage,
    /// The facts that the stages checked.
    pub facts: RuleFacts,
}

/// The facts that the stages of the rule check.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RuleFacts {
    /// The batch.
    pub workload: WorkloadProfile,
    /// Its [`WorkloadProfile::workload_size`].
    pub workload_size: u64,
    /// Its [`WorkloadProfile::estimated_memory_bytes`].
    pub needed_bytes: u64,
    /// Whether there is a usable GPU: one whose free memory holds a task.
    pub has_gpu: bool,
    /// GPUs that cannot be used now.
    pub gpus_left_out: usize,
    /// Fraction of the GPU's memory that is in use, 0 to 1; the least of several GPUs. None if it
    /// is unknown, which counts as no pressure.
    pub memory_use: Option<f64>,
    /// Free memory of all GPUs, bytes, or all their memory if its use is unknown. None if the
    /// memory of one is unknown, which counts as enough.
    pub free_bytes: Option<u64>,
    /// The thresholds.
    pub heuristics: ProfilingHeuristics,
}

/// Decides by the seven stages. Deterministic. It does not validate its input: call
/// [`WorkloadProfile::check`] and [`ProfilingHeuristics::check`] first.
///
/// ```
/// use breakeven_schedule::WorkloadProfile;
/// use breakeven_schedule::plan::{ExecutionStrategy, Machine, ProfilingHeuristics, Stage, rule};
///
/// let machine = Machine::from_toml("cores = 16\n[[gpu]]\nname = \"V100\"")?;
/// let workload = WorkloadProfile::from_task_count(5);
/// let ruling = rule(&workload, &machine, &ProfilingHeuristics::default());
/// assert_eq!(ruling.strategy, ExecutionStrategy::CpuOnly);
/// assert_eq!(ruling.stage, Stage::Small);
/// assert_eq!(ruling.reasons()[1], "stage 2: 5 tasks are fewer than 10: cpu-only");
/// # Ok::<(), breakeven_types::Error>(())
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
    /// Returns the answer of a stage; none if its condition does not hold.
    pub fn answer(&self, stage: Stage) -> Option<ExecutionStrategy> {
        let (workload, heuristics) = (&self.workload, &self.heuristics);
        let [few, small, many, large] = self.sizes();
        let (holds, strategy) = match stage {
            Stage::NoGpu => (!self.has_gpu, ExecutionStrategy::CpuOnly),
            Stage::Small => (few || small, ExecutionStrategy::CpuOnly),
            Stage::Sequential => {
                let is_sequential = workload.parallelization < SEQUENTIAL_BELOW;
                (is_sequential, ExecutionStrategy::CpuOnly)
            }
            Stage::MemoryPressure => {
                let most = heuristics.gpu_memory_pressure_threshold;
                let is_above = self.memory_use.is_some_and(|part| part > most);
                (is_above, UNDER_PRESSURE)
            }
            Stage::DoesNotFit => {
                let free = self.free_bytes.unwrap_or(u64::MAX);
                let percent = u128::from(free) * 100 / u128::from(self.needed_bytes.max(1));
                let percent = u8::try_from(percent.clamp(1, 99)).unwrap_or(99);
                (free < self.needed_bytes, ExecutionStrategy::split(percent))
            }
            Stage::Large => {
                let is_parallel = workload.parallelization >= PARALLEL_FROM;
                ((many || large) && is_parallel, ExecutionStrategy::GpuOnly)
            }
            Stage::Complex => {
                let is_complex = workload.complexity > heuristics.complexity_threshold_for_gpu;
                (is_complex, ExecutionStrategy::GpuOnly)
            }
            Stage::Last => (true, heuristics.last_answer),
        };
        // Without a GPU no stage can choose one.
        (holds && (self.has_gpu || strategy == ExecutionStrategy::CpuOnly)).then_some(strategy)
    }

    /// Returns whether there are few tasks, a small workload, many tasks, a large workload.
    fn sizes(&self) -> [bool; 4] {
        let (tasks, heuristics) = (self.workload.task_count, &self.heuristics);
        [
            tasks < heuristics.min_tasks_for_gpu,
            self.workload_size < heuristics.small_workload_threshold,
            tasks > MANY_TASKS,
            self.workload_size > heuristics.large_workload_threshold,
        ]
    }

    /// Describes what a stage found, with its numbers.
    fn finding(&self, stage: Stage) -> String {
        let (workload, heuristics) = (&self.workload, &self.heuristics);
        let holds = self.answer(stage).is_some();
        let not = |holds: bool| if holds { "" } else { "not " };
        let part = |part| unit::percent(part).replace(".0 %", " %");
        let grouped = |count: u64| unit::count(count as f64);
        let parallel = part(workload.parallelization);
        let tasks = match workload.task_count {
            1 => "1 task is".to_owned(),
            tasks => format!("{} tasks are", grouped(tasks as u64)),
        };
        let size = grouped(self.workload_size);
        let [few, small, many, large] = self.sizes();
        // The finding that holds, or both.
        let either = |first, one: String, second, other: String| match (first, second) {
            (true, false) => one,
            (false, true) => other,
            _ => format!("{one}, {other}"),
        };
        match stage {
            Stage::NoGpu if self.has_gpu => "there is a GPU".to_owned(),
            Stage::NoGpu if self.free_bytes.is_some() => format!(
                "no GPU has the {} free that a task needs",
                unit::bytes(workload.memory_per_task as u64)
            ),
            Stage::NoGpu if self.gpus_left_out > 0 => "no GPU can be used now".to_owned(),
            Stage::NoGpu => "there is no GPU".to_owned(),
            Stage::Small => {
                let (least, threshold) = (
                    heuristics.min_tasks_for_gpu,
                    grouped(heuristics.small_workload_threshold),
                );
                let tasks = format!("{tasks} {}fewer than {least}", not(few));
                let size = format!("a workload of {size} is {}below {threshold}", not(small));
                either(few, tasks, small, size)
            }
            Stage::Sequential if workload.parallelization == 0.0 => {
                "the tasks are sequential".to_owned()
            }
            Stage::Sequential if holds => {
                let least = part(SEQUENTIAL_BELOW);
                format!("less than {least} of the work is parallel")
            }
            Stage::Sequential => format!("{parallel} of the work is parallel"),
            Stage::MemoryPressure => match self.memory_use.map(part) {
                None => {
                    "how much of the GPU's memory is in use is unknown and counts as no pressure"
                        .to_owned()
                }
                Some(used) => {
                    let (not, most) = (not(holds), part(heuristics.gpu_memory_pressure_threshold));
                    format!("{used} of the GPU's memory is in use, {not}above {most}")
                }
            },
            Stage::DoesNotFit => match self.free_bytes.map(unit::bytes) {
                None => "the GPU's memory is unknown and counts as enough".to_owned(),
                Some(free) => {
                    let needed = unit::bytes(self.needed_bytes);
                    let fit = if holds { "do not fit" } else { "fit" };
                    format!("{needed} {fit} the GPU's free {free}")
                }
            },
            Stage::Large => {
                let threshold = grouped(heuristics.large_workload_threshold);
                let tasks = format!("{tasks} {}more than {MANY_TASKS}", not(many));
                let size = format!("a workload of {size} is {}above {threshold}", not(large));
                let found = either(many, tasks, large, size);
                let from = part(PARALLEL_FROM);
                match many || large {
                    false => found,
                    true if holds => {
                        format!("{found}, and {parallel} of the work is parallel, at least {from}")
                    }
                    true => {
                        format!(
                            "{found}, but only {parallel} of the work is parallel, less than {from}"
                        )
                    }
                }
            }
            Stage::Complex => format!(
                "a complexity of {} is {}above {}",
                workload.complexity,
                not(holds),
                heuristics.complexity_threshold_for_gpu
            ),
            Stage::Last => String::new(),
        }
    }
}

impl Ruling {
    /// Returns a sentence for each stage that was checked, with its numbers, ending with the one
    /// that decided; then the later stages that agree.
    pub fn reasons(&self) -> Vec<String> {
        // An infinite threshold disables stage 7.
        let has_complex = self.facts.heuristics.complexity_threshold_for_gpu < f64::INFINITY;
        let (before, after) = STAGES.split_at(STAGES.partition_point(|stage| *stage < self.stage));
        let before = before
            .iter()
            .filter(|stage| **stage != Stage::Complex || has_complex);
        let before = before.map(|stage| format!("{stage}: {}", self.facts.finding(*stage)));
        // Splits agree whatever their shares.
        let kind = std::mem::discriminant(&self.strategy);
        let agrees = |stage: &&Stage| {
            let answer = self.facts.answer(**stage);
            **stage > self.stage
                && answer.is_some_and(|other| std::mem::discriminant(&other) == kind)
        };
        let agreeing = after.iter().filter(agrees);
        let agreeing =
            agreeing.map(|stage| format!("{stage} agrees: {}", self.facts.finding(*stage)));
        before.chain([self.reason()]).chain(agreeing).collect()
    }

    /// Returns the sentence of the stage that decided, or of the last answer.
    pub fn reason(&self) -> String {
        let (stage, strategy) = (self.stage, self.strategy);
        match stage {
            Stage::Last => format!("no stage decided; the last answer is {strategy}"),
            _ => format!("{stage}: {}: {strategy}", self.facts.finding(stage)),
        }
    }
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "heuristics_tests.rs"]
mod heuristics_tests;
