//! The suite as a table: a row per kernel.

use breakeven::kernels::{
    ArForecast, Connectivity, Conv2d, DendriticIntegration, DotProduct, ImageSegmentation,
    LstmCell, MatrixMultiply, Nonlinearity, PixelEntropy, SOBEL_X, TensorCoreMatmul, VectorAdd,
};
use breakeven::{Error, ErrorKind, Tensor};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::table::{Made, Over, Row, Scales, Shape};

/// Tasks of a default batch, if the default workload is a single task, and if tasks take a few
/// microseconds each.
const TASKS: usize = 64;
const SMALL_TASKS: usize = 1024;

const VECTOR: usize = 100_000;

const ONE_VECTOR: Shape = Shape::new([1, 1, VECTOR]);

/// Of `pixel_entropy`.
const WINDOWS: Shape = Shape {
    window: 16,
    ..Shape::new([1, 512, 512])
};

/// Of `ar_forecast`.
const LAGS: usize = 5;
const STEPS: usize = 10;

/// Of `lstm_cell_forward`.
const INPUTS: usize = 64;
const HIDDEN: usize = 128;

/// Of `dendritic_integration`: neurons, dendrites per neuron, inputs per dendrite.
const NEURONS: [usize; 3] = [10, 8, 16];
const SYNAPSES: usize = NEURONS[0] * NEURONS[1] * NEURONS[2];
const DENDRITES: usize = NEURONS[0] * NEURONS[1];

/// What most rows have: images.
const IMAGES: Row = Row {
    name: "",
    workload: Shape::new([1, 256, 256]),
    scales: Scales::Batch,
    tasks: Shape::new([TASKS, 256, 256]),
    sizes: [16, 2_048],
    sweeps: &[Over::Size, Over::Batch],
    names_one: false,
    item: |shape| format!("{}×{}", shape.rows, shape.columns),
    // An image in, and a value per pixel out.
    values: |shape| shape.item().saturating_mul(2),
    shared_values: |_| 0,
    scratch_bytes: |_| 0,
    operator: |_| Ok(Made::numbers(VectorAdd)),
    inputs: |shape| tensors([images(shape)], &shape.dims()),
};

/// One long sum, or many short ones.
const VECTORS: Row = Row {
    workload: ONE_VECTOR,
    scales: Scales::Length,
    // The same, in a hundred segments.
    tasks: Shape::new([100, 1, VECTOR / 100]),
    sizes: [1_024, 1 << 22],
    names_one: true,
    item: |shape| format!("{} elements", shape.columns),
    values: |shape| shape.item().saturating_mul(3),
    inputs: |shape| pair(shape, [1, 2]),
    ..IMAGES
};

const PRODUCTS: Row = Row {
    sizes: [16, 1_024],
    item: |Shape { columns: n, .. }| format!("({n}×{n} · {n}×{n})"),
    values: |shape| shape.item().saturating_mul(3),
    operator: |_| Ok(Made::numbers(MatrixMultiply)),
    inputs: |shape| pair(shape, [3, 4]),
    ..IMAGES
};

/// In the order of measuring and printing.
pub(super) static ROWS: [Row; 11] = [
    Row {
        name: "vector_add",
        ..VECTORS
    },
    Row {
        name: "vector_add_batch",
        workload: ONE_VECTOR.with_batch(32),
        scales: Scales::Batch,
        tasks: ONE_VECTOR.with_batch(32),
        ..VECTORS
    },
    Row {
        name: "dot_product",
        values: |shape| shape.item().saturating_mul(2).saturating_add(1),
        operator: |_| Ok(Made::numbers(DotProduct)),
        inputs: |shape| pair(shape, [5, 6]),
        ..VECTORS
    },
    Row {
        name: "matrix_multiply",
        ..PRODUCTS
    },
    Row {
        name: "tensor_core_matmul",
        // Both inputs in half precision and back.
        scratch_bytes: |shape| (shape.elements().saturating_mul(2)).saturating_mul(6),
        operator: |_| Ok(Made::numbers(TensorCoreMatmul)),
        ..PRODUCTS
    },
    Row {
        name: "conv2d",
        item: |Shape { rows, columns, .. }| {
            format!("{rows}×{columns}, 3×3 Sobel, stride 1, padding 1")
        },
        shared_values: |_| SOBEL_X.len() as u64,
        operator: |_| {
            let filter = Tensor::new(&SOBEL_X, &[3, 3])?;
            Ok(Made::numbers(Conv2d::new(filter, 1, 1)?))
        },
        ..IMAGES
    },
    Row {
        name: "pixel_entropy",
        workload: WINDOWS,
        tasks: WINDOWS.with_batch(TASKS),
        sweeps: &[Over::Size, Over::Batch, Over::Window],
        item: |shape| format!("{}×{}, window {}", shape.rows, shape.columns, shape.window),
        // Bins of a byte, and the table of counts.
        scratch_bytes: |shape| {
            let table = 8 * (shape.window * shape.window + 1) as u64;
            shape.elements().saturating_add(table)
        },
        operator: |shape| Ok(Made::numbers(PixelEntropy::new(shape.window)?)),
        ..IMAGES
    },
    Row {
        name: "image_segmentation",
        item: |Shape { rows, columns, .. }| {
            format!("{rows}×{columns}, threshold 100/256, 4 neighbours")
        },
        scratch_bytes: |shape| shape.elements().saturating_mul(10),
        operator: |_| {
            let segments = ImageSegmentation::new(100.0 / 256.0, Connectivity::Four)?;
            Ok(Made::Labels(std::sync::Arc::new(segments)))
        },
        ..IMAGES
    },
    Row {
        name: "ar_forecast",
        workload: Shape::new([1, 1, 1_000]),
        tasks: Shape::new([SMALL_TASKS, 1, 1_000]),
        sizes: [64, 1 << 16],
        item: |shape| format!("{} points, AR({LAGS}), {STEPS} steps", shape.columns),
        values: |shape| shape.item().saturating_add(STEPS as u64),
        // Each thread has a series and its forecast in float64.
        scratch_bytes: |shape| {
            let threads = breakeven_machine::pool_threads().min(shape.batch) as u64;
            let each = shape.item().saturating_add(STEPS as u64);
            each.saturating_mul(8 * threads)
        },
        operator: |_| Ok(Made::numbers(ArForecast::new(LAGS, STEPS)?)),
        inputs: |shape| tensors([series(shape)], &[shape.batch, shape.columns]),
        ..IMAGES
    },
    Row {
        name: "lstm_cell_forward",
        // The output's rows are h' and c'.
        workload: Shape::new([32, 2, HIDDEN]),
        tasks: Shape::new([SMALL_TASKS, 2, HIDDEN]),
        sweeps: &[Over::Batch, Over::Hidden],
        item: |shape| format!("{INPUTS} inputs, {} hidden units", shape.columns),
        values: |shape| (INPUTS as u64).saturating_add((shape.columns as u64).saturating_mul(4)),
        shared_values: |shape| {
            let (inputs, hidden) = (INPUTS as u64, shape.columns as u64);
            (4 * hidden).saturating_mul(inputs + hidden + 1)
        },
        operator: |shape| Ok(Made::numbers(cell(shape.columns)?)),
        inputs: |shape| {
            let (batch, hidden) = (shape.batch, shape.columns);
            let inputs = [(INPUTS, 11), (hidden, 12), (hidden, 13)].into_iter();
            let tensor = |(len, stream)| Tensor::new(uniform(batch * len, stream), &[batch, len]);
            inputs.map(tensor).collect()
        },
        ..IMAGES
    },
    Row {
        name: "dendritic_integration",
        workload: Shape::new([1, 1, NEURONS[0]]),
        tasks: Shape::new([SMALL_TASKS, 1, NEURONS[0]]),
        sweeps: &[Over::Batch],
        item: |_| {
            let [neurons, dendrites, inputs] = NEURONS;
            format!("{neurons} neurons, {dendrites} dendrites, {inputs} inputs, sigmoid")
        },
        values: |_| (SYNAPSES + NEURONS[0]) as u64,
        shared_values: |_| (SYNAPSES + DENDRITES) as u64,
        operator: |_| {
            let weights = Tensor::new(uniform(SYNAPSES, 14), &NEURONS)?;
            let conductances = Tensor::new(uniform(DENDRITES, 15), &NEURONS[..2])?;
            // The threshold is well within the range of a dendrite's input sums.
            let rule = Nonlinearity::Sigmoid { k: 2.0, theta: 0.5 };
            let neurons = DendriticIntegration::new(weights, conductances, rule)?;
            Ok(Made::numbers(neurons))
        },
        inputs: |shape| {
            let [neurons, dendrites, inputs] = NEURONS;
            let values = uniform(shape.batch * SYNAPSES, 16);
            tensors([values], &[shape.batch, neurons, dendrites, inputs])
        },
        ..IMAGES
    },
];

/// A kernel's row; fails for a scale without work.
pub(super) fn row(kernel: &str, scale: usize) -> Result<&'static Row, Error> {
    if scale == 0 {
        let message = "a scale of zero leaves nothing to measure; give 1 or more";
        return Err(Error::shape(message));
    }
    let row = ROWS.iter().find(|row| row.name == kernel);
    let message = || format!("there is no kernel {kernel:?}");
    row.ok_or_else(|| Error::new(ErrorKind::UnknownName, message()))
}

/// Inputs of one shape each.
fn tensors<const N: usize>(
    values: [Vec<f32>; N],
    shape: &[usize],
) -> Result<Vec<Tensor<'static>>, Error> {
    let tensors = values.into_iter().map(|values| Tensor::new(values, shape));
    tensors.collect()
}

/// Two inputs of uniform values, from two streams; vectors where items have one row.
fn pair(shape: Shape, streams: [u64; 2]) -> Result<Vec<Tensor<'static>>, Error> {
    let [batch, rows, columns] = shape.dims();
    let values = streams.map(|stream| uniform(batch * rows * columns, stream));
    match rows {
        1 => tensors(values, &[batch, columns]),
        _ => tensors(values, &[batch, rows, columns]),
    }
}

/// A cell with this number of hidden units.
fn cell(hidden: usize) -> Result<LstmCell, Error> {
    // PyTorch's initialisation: uniform within 1 / √hidden.
    let bound = (hidden as f32).sqrt().recip();
    let values = |rows: usize, stream: u64| -> Vec<f32> {
        let values = uniform(4 * hidden * rows, stream);
        values.iter().map(|value| value * bound).collect()
    };
    let [of_input, of_hidden] = [values(INPUTS, 7), values(hidden, 8)];
    let [bias, other] = [values(1, 9), values(1, 10)];
    LstmCell::new(&of_input, &of_hidden, &bias, &other, [INPUTS, hidden])
}

const SEED: u64 = 0x6272_6561_6b65_7665;

/// Uniform values in [-1, 1); each input of a kernel has its own `stream`.
pub(super) fn uniform(len: usize, stream: u64) -> Vec<f32> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED ^ stream);
    (0..len).map(|_| random.random_range(-1.0..1.0)).collect()
}

/// A batch of images: smooth waves with noise, in 256 grey values, so that entropy and edges vary
/// over the image as in a photograph.
pub(super) fn images(shape: Shape) -> Vec<f32> {
    let [batch, height, width] = shape.dims();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut pixels = Vec::with_capacity(batch * height * width);
    for image in 0..batch {
        let turn = image as f32;
        for y in 0..height {
            let down = (y as f32 / 37.0 + turn).cos();
            for x in 0..width {
                let across = (x as f32 / 23.0 + turn).sin();
                // The noise grows from left to right.
                let noise = random.random_range(-0.2_f32..0.2) * x as f32 / width as f32;
                let value = 0.5 + 0.2 * across + 0.2 * down + noise;
                pixels.push((value.clamp(0.0, 0.999) * 256.0).floor() / 256.0);
            }
        }
    }
    pixels
}

/// A batch of series: each point is computed from the two before it and from noise, around a
/// nonzero level.
pub(super) fn series(shape: Shape) -> Vec<f32> {
    let mut points = uniform(shape.batch * shape.columns, 17);
    for series in points.chunks_mut(shape.columns.max(1)) {
        let (mut last, mut before) = (0.0, 0.0);
        for point in series {
            let next = 0.6 * last - 0.3 * before + *point;
            (before, last) = (last, next);
            *point = 10.0 + next;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use breakeven::kernels::NAMES;

    #[test]
    fn the_suite_has_every_kernel_once_and_in_order() {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names, NAMES);
    }

    #[test]
    fn the_budgets_are_for_the_default_workloads() {
        for (name, size, _) in crate::show::SUITE {
            let row = row(name, 1).expect("a kernel of the suite");
            assert_eq!(size, row.workload.elements(), "{name}");
        }
    }
}

#[cfg(test)]
mod tests_of_inputs {
    use super::*;

    const IMAGE: Shape = Shape::new([1, 64, 64]);

    #[test]
    fn inputs_come_from_the_seed_alone_and_are_not_zeros() {
        let values = uniform(1_000, 1);
        assert_eq!(values, uniform(1_000, 1));
        assert_ne!(values, uniform(1_000, 2));
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(values.iter().filter(|value| **value == 0.0).count() < 2);
    }

    #[test]
    fn images_hold_many_grey_values_in_range() {
        let pixels = images(IMAGE);
        let mut bins: Vec<u32> = pixels.iter().map(|v| (v * 256.0).to_bits()).collect();
        bins.sort_unstable();
        bins.dedup();
        assert!(bins.len() > 50, "{} grey values", bins.len());
        assert!(pixels.iter().all(|v| (0.0..1.0).contains(v)));
    }

    #[test]
    fn items_are_not_all_the_same() {
        let two = IMAGE.with_batch(2);
        let (images, series) = (images(two), series(two));
        assert_ne!(series[..64], series[64..]);
        assert_ne!(images[..4096], images[4096..]);
    }
}
