//! The kernels as batches of tasks: what an executor splits over the devices.
//!
//! A task is an item of a kernel's inputs: a pair of vectors, an image, a series. [`BatchWorkload`]
//! gives the number and size of the tasks in a kernel's default batch, and the memory they need,
//! before anything is allocated.

use std::sync::Arc;

use breakeven::{Chain, Error, Tensor, WorkloadProfile};

use super::rows::row;
use super::table::{Made, Over, Row, Shape, with_operator};

pub(crate) type Task = Vec<Tensor<'static>>;

/// A kernel's workload as a batch of tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchWorkload {
    row: &'static Row,
    /// Dimensions of the tasks; the batch is their number.
    shape: Shape,
}

impl BatchWorkload {
    /// A kernel's default batch with `scale` times as many tasks.
    pub(crate) fn new(kernel: &str, scale: usize) -> Result<Self, Error> {
        let row = row(kernel, scale)?;
        let Some(tasks) = row.tasks.batch.checked_mul(scale) else {
            let message = format!("{kernel} at scale {scale} has more tasks than can be counted");
            return Err(Error::too_large(message));
        };
        let shape = row.tasks.with_batch(tasks);
        Ok(Self { row, shape })
    }

    /// The items of a sweep's workload as tasks.
    pub(crate) fn at(kernel: &str, over: Over, value: u64) -> Result<Self, Error> {
        let row = row(kernel, 1)?;
        let shape = row.at(over, usize::try_from(value).unwrap_or(usize::MAX))?;
        Ok(Self { row, shape })
    }

    #[must_use]
    pub(crate) fn with_tasks(mut self, tasks: usize) -> Self {
        self.shape.batch = tasks;
        self
    }

    /// The kernel's name, which is the operation's.
    pub(crate) fn name(&self) -> &'static str {
        self.row.name
    }

    pub(crate) fn tasks(&self) -> usize {
        self.shape.batch
    }

    pub(crate) fn text(&self) -> String {
        let tasks = match self.tasks() {
            1 => "1 task".to_owned(),
            tasks => format!("{tasks} tasks"),
        };
        format!("{tasks} of {}", (self.row.item)(self.shape))
    }

    /// The name, with the work in words.
    pub(crate) fn described(&self) -> String {
        format!("{} ({})", self.name(), self.text())
    }

    /// Host memory of an execution, bytes: inputs, outputs, and with a GPU the copies that
    /// transfers need. Computed, not allocated.
    pub(crate) fn memory_bytes(&self, on_gpu: bool) -> u64 {
        let copies = if on_gpu { 4 } else { 1 };
        self.row.memory_bytes(self.shape).saturating_mul(copies)
    }

    /// The workload description for the executor.
    pub(crate) fn profile(&self) -> WorkloadProfile {
        self.row.profile(self.shape)
    }

    /// Creates the operator and the tasks: views of the batch's inputs.
    pub(crate) fn build(&self) -> Result<(Made, Vec<Task>), Error> {
        let inputs = self.row.fill(self.shape)?;
        let item = |at: usize| inputs.iter().map(move |input| input.items(at..at + 1));
        let tasks = (0..self.tasks()).map(|at| item(at).collect());
        let tasks = tasks.collect::<Result<_, _>>()?;
        Ok(((self.row.operator)(self.shape)?, tasks))
    }
}

/// A chain, and its input.
pub(crate) struct Chained {
    pub(crate) made: Made,
    pub(crate) inputs: Vec<Tensor<'static>>,
    /// The input in words.
    pub(crate) text: String,
}

impl Chained {
    /// Builds the chain of these kernels, on `items` items of that size.
    pub(crate) fn new(
        kernels: &[String],
        size: Option<usize>,
        items: usize,
    ) -> Result<Self, Error> {
        let Some((first, next)) = kernels.split_first() else {
            return Err(Error::invalid("a chain of no kernel"));
        };
        let row_of_first = row(first, 1)?;
        let shape = match size {
            Some(size) => row_of_first.at(Over::Size, size)?,
            None => row_of_first.workload,
        };
        let shape = shape.with_batch(items);
        let inputs = row_of_first.fill(shape)?;
        let mut made = (row_of_first.operator)(shape)?;
        for kernel in next {
            let row = row(kernel, 1)?;
            let stage = (row.operator)(Shape {
                window: row.workload.window,
                ..shape
            })?;
            made = after(made, stage, kernel)?;
        }
        let shapes: Vec<&[usize]> = inputs.iter().map(Tensor::shape).collect();
        with_operator!(&made, operator => operator.output_shape(&shapes))?;
        Ok(Self {
            inputs,
            text: row_of_first.text(shape),
            made,
        })
    }
}

fn after(before: Made, stage: Made, kernel: &str) -> Result<Made, Error> {
    let Made::Numbers(before) = before else {
        let message = format!("{kernel} cannot follow a kernel whose output is labels");
        return Err(Error::invalid(message));
    };
    let chain = Chain::one(before);
    Ok(match stage {
        Made::Numbers(stage) => Made::numbers(chain.and(stage)),
        Made::Labels(stage) => Made::Labels(Arc::new(chain.and(stage))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::suite::table::with_operator;
    use breakeven::ErrorKind;
    use breakeven::kernels::NAMES;

    /// Elements of all tasks' outputs on the CPU.
    fn outputs(batch: BatchWorkload) -> Result<Vec<usize>, Error> {
        let (operator, tasks) = batch.build()?;
        with_operator!(&operator, operator => {
            let outputs = tasks.iter().map(|task| operator.on_cpu(task));
            outputs.map(|output| Ok(output?.len())).collect()
        })
    }

    #[test]
    fn every_kernel_has_a_batch_whose_tasks_run() {
        for name in NAMES {
            let batch = BatchWorkload::new(name, 1).expect("a known kernel");
            let three = batch.with_tasks(3);
            let outputs = outputs(three).expect("the shapes fit");
            let each = match name {
                "vector_add" => 1_000,
                "vector_add_batch" => 100_000,
                "dot_product" => 1,
                "ar_forecast" | "dendritic_integration" => 10,
                "lstm_cell_forward" => 256,
                "pixel_entropy" => 512 * 512,
                _ => 256 * 256,
            };
            assert_eq!(outputs, [each; 3], "{name}");
            let twice = BatchWorkload::new(name, 2).expect("a known kernel");
            assert_eq!(twice.tasks(), 2 * batch.tasks(), "{name}");
        }
    }

    #[test]
    fn items_of_a_sweep_are_tasks_of_their_size() {
        let elements = |kernel, over, value| {
            let batch = BatchWorkload::at(kernel, over, value).expect("it is swept over");
            outputs(batch.with_tasks(2)).expect("the shapes fit")
        };
        assert_eq!(elements("conv2d", Over::Size, 17), [17 * 17; 2]);
        assert_eq!(elements("matrix_multiply", Over::Size, 9), [81; 2]);
        assert_eq!(elements("vector_add", Over::Batch, 5), [100_000; 2]);
    }

    #[test]
    fn weights_are_no_memory_of_a_task() {
        let batch = BatchWorkload::new("lstm_cell_forward", 1).expect("a known kernel");
        // 64 inputs, two states before and two after.
        assert_eq!(batch.profile().memory_per_task, 4 * (64 + 4 * 128));
        let weights = 4 * 4 * 128 * (64 + 128 + 1);
        let one = batch.with_tasks(1).memory_bytes(false);
        assert_eq!(one, 4 * (64 + 4 * 128) + weights);
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_is_allocated() {
        let kind = |name, scale| {
            let batch = BatchWorkload::new(name, scale);
            batch.err().map(|error| error.kind())
        };
        assert_eq!(kind("conv3d", 1), Some(ErrorKind::UnknownName));
        assert_eq!(kind("conv2d", 0), Some(ErrorKind::Shape));
        assert_eq!(kind("conv2d", usize::MAX), Some(ErrorKind::TooLarge));
        let one = BatchWorkload::new("conv2d", 1).expect("counted, not allocated");
        assert_eq!(one.with_tasks(usize::MAX).memory_bytes(true), u64::MAX);
    }
}
