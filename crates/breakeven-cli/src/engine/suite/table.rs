//! The table's row of a kernel.

use std::fmt;
use std::sync::Arc;

use breakeven::hardware::SystemLoad;
use breakeven::{Error, Operator, Tensor, WorkloadProfile};
use breakeven_profile::unit;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Values of a sweep over hidden units.
const HIDDEN_PER_ITEM: usize = 4;

/// Elements at which the default range of a batch ends.
const BATCH_ELEMENTS: u64 = 1 << 22;

/// Most items of that range.
const MOST_ITEMS: u64 = 1 << 14;

/// The quantity that a sweep varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Over {
    /// The size of one item: the length of a vector or series, the side of an image,
    /// the order of a matrix.
    #[default]
    Size,
    /// The items in the batch.
    Batch,
    /// The window of `pixel_entropy`.
    Window,
    /// The hidden units of `lstm_cell_forward`, with a quarter as many items in the
    /// batch: 16/64, 32/128, 64/256.
    Hidden,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Points {
    /// Any value in a range; this is the default range.
    Range([u64; 2]),
    /// Only these values.
    Fixed(Vec<u64>),
}

impl Over {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Batch => "batch",
            Self::Window => "window",
            Self::Hidden => "hidden",
        }
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The dimensions of a workload; the batch is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) batch: usize,
    /// Rows of one item, like `columns`: 1 for a vector.
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Side of the window that a kernel uses around each pixel, else 0.
    pub(super) window: usize,
}

impl Shape {
    pub(super) const fn new([batch, rows, columns]: [usize; 3]) -> Self {
        Self {
            batch,
            rows,
            columns,
            window: 0,
        }
    }

    pub(super) const fn with_batch(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    /// Elements of one item; saturates.
    pub(super) fn item(self) -> u64 {
        (self.rows as u64).saturating_mul(self.columns as u64)
    }

    /// Elements of the whole batch; saturates.
    pub(super) fn elements(self) -> u64 {
        self.item().saturating_mul(self.batch as u64)
    }

    pub(super) fn dims(self) -> [usize; 3] {
        [self.batch, self.rows, self.columns]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scales {
    Batch,
    /// One longer vector.
    Length,
}

/// A kernel's operator, whatever its output is made of.
#[derive(Clone)]
pub(crate) enum Made {
    Numbers(Arc<dyn Operator<In = f32, Out = f32>>),
    Labels(Arc<dyn Operator<In = f32, Out = u32>>),
}

/// Runs an expression with `$operator: &Arc<dyn Operator<…>>`.
macro_rules! with_operator {
    ($made:expr, $operator:ident => $body:expr) => {
        match $made {
            $crate::engine::suite::Made::Numbers($operator) => $body,
            $crate::engine::suite::Made::Labels($operator) => $body,
        }
    };
}
pub(crate) use with_operator;

impl Made {
    pub(super) fn numbers(operator: impl Operator<In = f32, Out = f32> + 'static) -> Self {
        Self::Numbers(Arc::new(operator))
    }
}

/// A kernel of the suite: its default workload, as one problem and as tasks.
pub(super) struct Row {
    /// The name, as in [`NAMES`](breakeven::kernels::NAMES).
    pub(super) name: &'static str,
    /// The workload at scale 1.
    pub(super) workload: Shape,
    pub(super) scales: Scales,
    /// The batch of tasks at scale 1; each item is a task.
    pub(super) tasks: Shape,
    /// Default sizes of an item for a sweep.
    pub(super) sizes: [u64; 2],
    /// The quantities that a sweep can vary, the default first.
    pub(super) sweeps: &'static [Over],
    /// Whether a batch of one is named by its item alone.
    pub(super) names_one: bool,
    /// One item in words.
    pub(super) item: fn(Shape) -> String,
    /// Inputs and output of one item, in 32-bit values.
    pub(super) values: fn(Shape) -> u64,
    /// Data that all items share, in 32-bit values: weights.
    pub(super) shared_values: fn(Shape) -> u64,
    /// Scratch memory of the CPU form, bytes.
    pub(super) scratch_bytes: fn(Shape) -> u64,
    /// Fails if the kernel does not accept the shape.
    pub(super) operator: fn(Shape) -> Result<Made, Error>,
    /// Creates the inputs, which are the same on every machine; [`Row::fill`] checks first that
    /// they fit.
    pub(super) inputs: fn(Shape) -> Result<Vec<Tensor<'static>>, Error>,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Row {
    pub(super) fn text(&self, shape: Shape) -> String {
        let item = (self.item)(shape);
        match shape.batch {
            1 if self.names_one => item,
            batch => format!("{batch} × {item}"),
        }
    }

    /// Memory of one item, bytes: its own inputs and its output.
    pub(super) fn item_bytes(&self, shape: Shape) -> u64 {
        (self.values)(shape).saturating_mul(4)
    }

    /// Memory of inputs, output and shared data, bytes.
    pub(super) fn memory_bytes(&self, shape: Shape) -> u64 {
        let items = self.item_bytes(shape).saturating_mul(shape.batch as u64);
        items.saturating_add((self.shared_values)(shape).saturating_mul(4))
    }

    /// Creates the inputs.
    ///
    /// Fails if the workload needs more memory than is available.
    pub(super) fn fill(&self, shape: Shape) -> Result<Vec<Tensor<'static>>, Error> {
        let needed = self
            .memory_bytes(shape)
            .saturating_add((self.scratch_bytes)(shape));
        let load = SystemLoad::sample_without_gpu();
        // Where it is unknown: what fits a computer's addresses.
        let available = load.available_memory_bytes.get().unwrap_or(1 << 47);
        if needed > available {
            let [needed, available] = [needed, available].map(unit::bytes);
            let (name, text) = (self.name, self.text(shape));
            return Err(Error::too_large(format!(
                "{name} ({text}) would take {needed} of memory, and there are {available}"
            )));
        }
        (self.inputs)(shape)
    }

    /// Describes a batch whose tasks are items, for the executor and the cost model.
    pub(super) fn profile(&self, shape: Shape) -> WorkloadProfile {
        let bytes = usize::try_from(self.item_bytes(shape)).unwrap_or(usize::MAX);
        WorkloadProfile::from_task_count(shape.batch).with_memory_per_task(bytes)
    }

    /// The values of a sweep.
    pub(super) fn points(&self, over: Over) -> Result<Points, Error> {
        self.at(over, 1)?;
        Ok(match over {
            Over::Size => Points::Range(self.sizes),
            Over::Batch => {
                let item = self.workload.item().max(1);
                Points::Range([1, (BATCH_ELEMENTS / item).clamp(2, MOST_ITEMS)])
            }
            Over::Window => Points::Fixed(vec![8, 16, 32]),
            Over::Hidden => Points::Fixed(vec![64, 128, 256]),
        })
    }

    /// The workload at a value of a sweep.
    pub(super) fn at(&self, over: Over, value: usize) -> Result<Shape, Error> {
        if value == 0 {
            let message = format!("a {over} of zero leaves nothing to measure; give 1 or more");
            return Err(Error::shape(message));
        }
        if !self.sweeps.contains(&over) {
            let known: Vec<&str> = self.sweeps.iter().map(|over| over.name()).collect();
            let (name, known) = (self.name, known.join(" or "));
            let message = format!("a sweep of {name} is over {known}, not over {over}");
            return Err(Error::invalid(message));
        }
        let shape = self.workload;
        Ok(match over {
            // The length of vectors, the side of squares.
            Over::Size => Shape {
                rows: if shape.rows == 1 { 1 } else { value },
                columns: value,
                ..shape
            },
            Over::Batch => shape.with_batch(value),
            Over::Window => Shape {
                window: value,
                ..shape
            },
            Over::Hidden => Shape {
                batch: value.div_ceil(HIDDEN_PER_ITEM),
                columns: value,
                ..shape
            },
        })
    }
}
