//! The suite as a table: a row per kernel, made of what its [`SuiteKernel`] says.

use super::batch::{TaskKernel, WithTasks};
use super::images::{Edges, Entropies, Segments};
use super::matrices::Products;
use super::measure::Problem;
use super::models::{CellSteps, Forecasts, Somas};
use super::sweep::Over;
use super::vectors::{Dots, LongSums, Sums};
use crate::error::{Error, ErrorKind};
use crate::kernels::GreyImage;
use crate::workload::WorkloadProfile;

/// The dimensions of a workload; the batch is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub batch: usize,
    /// Of one item, as the columns are: 1 of a vector.
    pub rows: usize,
    pub columns: usize,
    /// Of a kernel that looks at a window around each pixel, else 0.
    pub window: usize,
}

impl Shape {
    /// Elements of the whole batch; saturates.
    pub(super) fn elements(self) -> u64 {
        [self.batch, self.rows, self.columns]
            .into_iter()
            .fold(1_u64, |all, dim| all.saturating_mul(dim as u64))
    }

    pub(super) fn dims(self) -> [usize; 3] {
        [self.batch, self.rows, self.columns]
    }
}

/// What a scale multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scales {
    Batch,
    /// The columns: one vector that is longer.
    Length,
}

/// What a workload is run on.
#[derive(Debug, Clone)]
pub(super) enum Input {
    /// What the suite makes from its seed.
    Generated,
    /// An image of the user's.
    Image(GreyImage),
    /// A series of the user's.
    Series(Vec<f32>),
}

/// What a kernel can be given by the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Image,
    Series,
}

/// A kernel of the suite: its default workload, as one problem and as tasks.
pub(super) trait SuiteKernel {
    /// Its tasks: items that stand alone.
    type Tasks: TaskKernel;

    /// As in [`NAMES`](crate::kernels::NAMES).
    const NAME: &'static str;
    /// The workload at scale 1.
    const WORKLOAD: Shape;
    const SCALES: Scales = Scales::Batch;
    /// The batch of tasks at scale 1, a task being an item.
    const TASKS: Shape;
    /// On a discrete GPU, µs per call of the workload at scale 1.
    const BUDGET_US: Option<u64> = None;
    /// Sizes of an item that a sweep goes over unless others are asked for.
    const SIZES: [u64; 2] = [16, 2_048];
    /// What a sweep can change, the default first.
    const SWEEPS: &'static [Over] = &[Over::Size, Over::Batch];
    const TAKES: Takes = Takes::Nothing;

    /// One item in words.
    fn item(shape: Shape) -> String;

    /// The workload in words.
    fn text(shape: Shape) -> String {
        format!("{} × {}", shape.batch, Self::item(shape))
    }

    /// Inputs and output, in values of 32 bits.
    fn values(shape: Shape) -> u64;

    /// Of them, those that all items share: weights.
    fn shared_values(_: Shape) -> u64 {
        0
    }

    /// What the CPU form takes beside them, bytes.
    fn scratch_bytes(_: Shape) -> u64 {
        0
    }

    /// The workload's problem.
    ///
    /// # Errors
    ///
    /// What the kernel says of the shape.
    fn problem(shape: Shape, input: &Input) -> Result<Box<dyn Problem>, Error>;

    /// As many tasks as the shape has items; the same on every machine.
    fn tasks(shape: Shape) -> Vec<<Self::Tasks as TaskKernel>::Task>;
}

/// Makes a workload's problem.
type Make = fn(Shape, &Input) -> Result<Box<dyn Problem>, Error>;

/// What the suite knows of a kernel.
#[derive(Debug)]
pub(super) struct Row {
    pub kind: Kind,
    pub name: &'static str,
    pub workload: Shape,
    pub scales: Scales,
    pub tasks: Shape,
    pub budget_us: Option<u64>,
    pub sizes: [u64; 2],
    pub sweeps: &'static [Over],
    pub takes: Takes,
    pub item: fn(Shape) -> String,
    pub text: fn(Shape) -> String,
    pub values: fn(Shape) -> u64,
    pub shared_values: fn(Shape) -> u64,
    pub scratch_bytes: fn(Shape) -> u64,
    pub problem: Make,
}

impl Row {
    const fn of<K: SuiteKernel>(kind: Kind) -> Self {
        Self {
            kind,
            name: K::NAME,
            workload: K::WORKLOAD,
            scales: K::SCALES,
            tasks: K::TASKS,
            budget_us: K::BUDGET_US,
            sizes: K::SIZES,
            sweeps: K::SWEEPS,
            takes: K::TAKES,
            item: K::item,
            text: K::text,
            values: K::values,
            shared_values: K::shared_values,
            scratch_bytes: K::scratch_bytes,
            problem: K::problem,
        }
    }

    /// Memory of one item, bytes: its own inputs and its output.
    pub(super) fn item_bytes(&self, shape: Shape) -> u64 {
        let all = (self.values)(Shape { batch: 1, ..shape });
        all.saturating_sub((self.shared_values)(shape))
            .saturating_mul(4)
    }

    /// What an executor and the cost model are told of a batch whose tasks are items.
    pub(super) fn profile(&self, shape: Shape) -> WorkloadProfile {
        let bytes = usize::try_from(self.item_bytes(shape)).unwrap_or(usize::MAX);
        WorkloadProfile::from_task_count(shape.batch).with_memory_per_task(bytes)
    }
}

/// Rows of the table, and the way from a row to the type of its tasks.
macro_rules! suite {
    ($($kernel:ident),* $(,)?) => {
        /// A kernel of the suite.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Kind { $($kernel),* }

        /// In the order in which kernels are measured and printed.
        pub(super) static ROWS: &[Row] = &[$(Row::of::<$kernel>(Kind::$kernel)),*];

        /// Makes a kernel's tasks and hands them over.
        pub(super) fn with_tasks<W: WithTasks>(kind: Kind, shape: Shape, with: W) -> W::Output {
            match kind {
                $(Kind::$kernel => {
                    with.with::<<$kernel as SuiteKernel>::Tasks>($kernel::tasks(shape))
                })*
            }
        }
    };
}

suite![
    Sums, LongSums, Dots, Products, Edges, Entropies, Segments, Forecasts, CellSteps, Somas,
];

/// A kernel's row, for a scale that leaves something to do.
pub(super) fn row(kernel: &str, scale: usize) -> Result<&'static Row, Error> {
    if scale == 0 {
        return Err(Error::shape(
            "a scale of zero leaves nothing to measure; give 1 or more",
        ));
    }
    let row = ROWS.iter().find(|row| row.name == kernel);
    row.ok_or_else(|| {
        Error::new(
            ErrorKind::UnknownName,
            format!("there is no kernel {kernel:?}"),
        )
    })
}

/// Budgets of the suite on a discrete GPU at the default workload, µs per call.
pub fn default_budgets_us() -> impl Iterator<Item = (&'static str, u64)> {
    let rows = ROWS.iter();
    rows.filter_map(|row| Some((row.name, row.budget_us?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::NAMES;

    #[test]
    fn the_suite_has_every_kernel_once_and_in_order() {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names, NAMES);
    }
}
