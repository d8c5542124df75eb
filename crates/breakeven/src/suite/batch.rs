//! The kernels as batches of tasks: what an executor splits over the devices.
//!
//! A [`TaskKernel`] is one kind of task: a pair of vectors, a pair of matrices,
//! an image. [`BatchWorkload`] says how many of which size make the default
//! batch of a kernel, and what that takes, before anything is allocated.

#[cfg(feature = "gpu")]
use std::sync::Arc;

use super::inputs::{images, uniform};
use super::workload::{CONV_IMAGE, ENTROPY_IMAGE, ENTROPY_WINDOW, MATRIX, VECTOR, VECTORS, known};
use crate::error::Error;
#[cfg(feature = "gpu")]
use crate::gpu::{Gpu, KernelExecutor};
use crate::kernels::{
    Conv2d, GreyImage, Kernel, Matrix, MatrixMultiply, PixelEntropy, SOBEL_X, VectorAdd,
};
use crate::workload::WorkloadProfile;

/// Elements of one task of `vector_add`: its default vector in a hundred pieces.
const PIECE: usize = VECTOR / 100;

/// Tasks of a default batch whose default workload is a single task.
const TASKS: usize = 64;

/// A kernel whose work comes in tasks: each task's form on the CPU, and the
/// executor of many of them on a GPU.
pub trait TaskKernel {
    /// One task's input.
    type Task: Send + Sync;

    /// So many tasks of that size, elements along one side; the same on every machine.
    fn tasks(count: usize, size: usize) -> Vec<Self::Task>;

    /// Does one task on the current rayon pool.
    ///
    /// # Errors
    ///
    /// What the kernel says of the shape.
    fn on_cpu(task: &Self::Task) -> Result<Vec<f32>, Error>;

    /// The executor of the same tasks on a GPU.
    ///
    /// # Errors
    ///
    /// What the kernel says of the shape.
    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<Self::Task, Vec<f32>>, Error>;
}

/// What is done with the tasks of a [`BatchWorkload`], whatever their kind.
pub trait WithTasks {
    /// What comes of it.
    type Output;

    /// Takes the tasks.
    fn with<K: TaskKernel>(self, tasks: Vec<K::Task>) -> Self::Output;
}

/// Sums of pairs of vectors: `vector_add` and `vector_add_batch`.
#[derive(Debug, Clone, Copy)]
struct Sums;

/// Products of pairs of square matrices: `matrix_multiply`.
#[derive(Debug, Clone, Copy)]
struct Products;

/// Horizontal Sobel edges of images: `conv2d`.
#[derive(Debug, Clone, Copy)]
struct Edges;

/// Entropies of images in windows of 16 × 16: `pixel_entropy`.
#[derive(Debug, Clone, Copy)]
struct Entropies;

impl TaskKernel for Sums {
    type Task = (Vec<f32>, Vec<f32>);

    fn tasks(count: usize, size: usize) -> Vec<Self::Task> {
        pairs(count, size, [1, 2], |values| values)
    }

    fn on_cpu(task: &Self::Task) -> Result<Vec<f32>, Error> {
        Ok(VectorAdd::of(std::slice::from_ref(task))?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<Self::Task, Vec<f32>>, Error> {
        Ok(KernelExecutor::vector_add(gpu))
    }
}

impl TaskKernel for Products {
    type Task = (Matrix, Matrix);

    fn tasks(count: usize, size: usize) -> Vec<Self::Task> {
        pairs(count, size * size, [3, 4], |values| Matrix {
            rows: size,
            columns: size,
            values,
        })
    }

    fn on_cpu(task: &Self::Task) -> Result<Vec<f32>, Error> {
        Ok(MatrixMultiply::of(std::slice::from_ref(task))?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<Self::Task, Vec<f32>>, Error> {
        Ok(KernelExecutor::matrix_multiply(gpu))
    }
}

impl TaskKernel for Edges {
    type Task = GreyImage;

    fn tasks(count: usize, size: usize) -> Vec<GreyImage> {
        grey(count, size)
    }

    fn on_cpu(task: &GreyImage) -> Result<Vec<f32>, Error> {
        let image = std::slice::from_ref(task);
        Ok(Conv2d::of(image, &SOBEL_X[..], [3, 3], 1, 1)?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<GreyImage, Vec<f32>>, Error> {
        KernelExecutor::conv2d(gpu, SOBEL_X.to_vec(), [3, 3], 1, 1)
    }
}

impl TaskKernel for Entropies {
    type Task = GreyImage;

    fn tasks(count: usize, size: usize) -> Vec<GreyImage> {
        grey(count, size)
    }

    fn on_cpu(task: &GreyImage) -> Result<Vec<f32>, Error> {
        Ok(PixelEntropy::of(std::slice::from_ref(task), ENTROPY_WINDOW)?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<GreyImage, Vec<f32>>, Error> {
        KernelExecutor::pixel_entropy(gpu, ENTROPY_WINDOW)
    }
}

/// Pairs of inputs of `len` values each, from two streams.
fn pairs<T>(count: usize, len: usize, [a, b]: [u64; 2], of: impl Fn(Vec<f32>) -> T) -> Vec<(T, T)> {
    let (a, b) = (uniform(count * len, a), uniform(count * len, b));
    let input = |values: &[f32]| of(values.to_vec());
    let pairs = a.chunks_exact(len).zip(b.chunks_exact(len));
    pairs.map(|(a, b)| (input(a), input(b))).collect()
}

fn grey(count: usize, size: usize) -> Vec<GreyImage> {
    let pixels = images(count, size, size);
    let image = |pixels: &[f32]| GreyImage {
        height: size,
        width: size,
        pixels: pixels.to_vec(),
    };
    pixels.chunks_exact(size * size).map(image).collect()
}

/// The kinds of tasks by kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sums,
    Products,
    Edges,
    Entropies,
}

/// A kernel's default workload as a batch of tasks.
///
/// | kernel | a task | tasks |
/// |---|---|---|
/// | `vector_add` | two vectors of 1 000 elements | 100 |
/// | `vector_add_batch` | two vectors of 100 000 elements | 32 |
/// | `matrix_multiply` | two matrices of 256×256 | 64 |
/// | `conv2d` | an image of 256×256 | 64 |
/// | `pixel_entropy` | an image of 512×512 | 64 |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchWorkload {
    kernel: &'static str,
    kind: Kind,
    tasks: usize,
    /// Elements along one side of a task's input.
    size: usize,
}

impl BatchWorkload {
    /// A kernel's default batch with `scale` times as many tasks.
    ///
    /// # Errors
    ///
    /// As [`Workload::new`](super::Workload::new).
    pub fn new(kernel: &str, scale: usize) -> Result<Self, Error> {
        let kernel = known(kernel, scale)?;
        let (kind, tasks, size) = match kernel {
            "vector_add" => (Kind::Sums, VECTOR / PIECE, PIECE),
            "vector_add_batch" => (Kind::Sums, VECTORS, VECTOR),
            "matrix_multiply" => (Kind::Products, TASKS, MATRIX),
            "conv2d" => (Kind::Edges, TASKS, CONV_IMAGE),
            _ => (Kind::Entropies, TASKS, ENTROPY_IMAGE),
        };
        let tasks = tasks.checked_mul(scale).ok_or_else(|| {
            Error::too_large(format!(
                "{kernel} at scale {scale} has more tasks than can be counted"
            ))
        })?;
        Ok(Self {
            kernel,
            kind,
            tasks,
            size,
        })
    }

    /// The same with that many tasks.
    #[must_use]
    pub fn with_tasks(self, tasks: usize) -> Self {
        Self { tasks, ..self }
    }

    /// The kernel's name, which is the operation's.
    pub fn name(&self) -> &'static str {
        self.kernel
    }

    /// Tasks in the batch.
    pub fn tasks(&self) -> usize {
        self.tasks
    }

    /// The batch in words.
    pub fn text(&self) -> String {
        let tasks = match self.tasks {
            1 => "1 task".to_owned(),
            tasks => format!("{tasks} tasks"),
        };
        let n = self.size;
        match self.kind {
            Kind::Sums => format!("{tasks} of {n} elements"),
            Kind::Products => format!("{tasks} of {n}×{n} · {n}×{n}"),
            Kind::Edges => format!("{tasks} of {n}×{n}, 3×3 Sobel, stride 1, padding 1"),
            Kind::Entropies => format!("{tasks} of {n}×{n}, window {ENTROPY_WINDOW}"),
        }
    }

    /// Memory of one task, bytes: its inputs and its output.
    fn task_bytes(&self) -> usize {
        let floats = match self.kind {
            Kind::Sums => 3 * self.size,
            Kind::Products => 3 * self.size * self.size,
            Kind::Edges | Kind::Entropies => 2 * self.size * self.size,
        };
        4 * floats
    }

    /// Host memory that executing takes, bytes: the inputs while they are cut
    /// into tasks, outputs, and with a GPU the copies that a transfer makes on
    /// its way. Computed, not allocated.
    pub fn memory_bytes(&self, on_gpu: bool) -> u64 {
        let copies = if on_gpu { 4 } else { 2 };
        (self.tasks as u64)
            .saturating_mul(self.task_bytes() as u64)
            .saturating_mul(copies)
    }

    /// What an executor is told of the tasks.
    pub fn profile(&self) -> WorkloadProfile {
        WorkloadProfile::from_task_count(self.tasks).with_memory_per_task(self.task_bytes())
    }

    /// Makes the tasks and hands them over.
    pub fn build<W: WithTasks>(&self, with: W) -> W::Output {
        let (tasks, size) = (self.tasks, self.size);
        match self.kind {
            Kind::Sums => with.with::<Sums>(Sums::tasks(tasks, size)),
            Kind::Products => with.with::<Products>(Products::tasks(tasks, size)),
            Kind::Edges => with.with::<Edges>(Edges::tasks(tasks, size)),
            Kind::Entropies => with.with::<Entropies>(Entropies::tasks(tasks, size)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::kernels::NAMES;

    /// Elements of all tasks' outputs on the CPU.
    struct Outputs;

    impl WithTasks for Outputs {
        type Output = Result<Vec<usize>, Error>;

        fn with<K: TaskKernel>(self, tasks: Vec<K::Task>) -> Self::Output {
            let outputs = tasks.iter().map(K::on_cpu);
            outputs.map(|output| Ok(output?.len())).collect()
        }
    }

    #[test]
    fn every_kernel_has_a_batch_whose_tasks_run() {
        for name in NAMES {
            let batch = BatchWorkload::new(name, 1).expect("a known kernel");
            let three = batch.with_tasks(3);
            let outputs = three.build(Outputs).expect("the shapes fit");
            let each = match name {
                "vector_add" => 1_000,
                "vector_add_batch" => 100_000,
                "pixel_entropy" => 512 * 512,
                _ => 256 * 256,
            };
            assert_eq!(outputs, [each; 3], "{name}");
            let twice = BatchWorkload::new(name, 2).expect("a known kernel");
            assert_eq!(twice.tasks(), 2 * batch.tasks(), "{name}");
        }
    }

    #[test]
    fn tasks_are_not_all_the_same() {
        let (first, second) = (&Entropies::tasks(2, 32)[..], &Products::tasks(2, 8)[..]);
        assert_ne!(first[0], first[1]);
        assert_ne!(second[0], second[1]);
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
        let large = BatchWorkload::new("conv2d", 1).map(|batch| batch.with_tasks(usize::MAX));
        assert_eq!(
            large.map(|batch| batch.memory_bytes(true)),
            Ok(u64::MAX),
            "counted, not allocated"
        );
    }
}
