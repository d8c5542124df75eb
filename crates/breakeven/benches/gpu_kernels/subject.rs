//! The kernels on inputs of their default sizes, whatever their output is made of.

use std::any::TypeId;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use breakeven::gpu::Gpu;
use breakeven::kernels::{
    ArForecast, Connectivity, Conv2d, DendriticIntegration, DotProduct, ImageSegmentation,
    LstmCell, MatrixMultiply, Nonlinearity, PixelEntropy, SOBEL_X, TensorCoreMatmul, VectorAdd,
};
use breakeven::tune::{Tuned, TunedKernel, Tuner};
use breakeven::{Operator, Tensor, View, Work};
use breakeven_profile::profile::DeviceWork;
use bytemuck::Zeroable;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// A kernel on its inputs.
pub(crate) trait Subject {
    fn work(&self) -> Work;

    /// The counted work of the kernel on the device, if it is counted.
    fn counts(&self, gpu: &Gpu) -> Option<DeviceWork>;

    /// Elements of the first input and the output, whichever has more.
    fn size(&self) -> u64;

    /// The shapes of the inputs in words.
    fn text(&self) -> String;

    /// The largest difference of the outputs on CPU and GPU, as a fraction of the largest value;
    /// of labels the fraction that differ.
    fn difference(&mut self, gpu: &Gpu) -> Outcome<f64>;

    /// One call of the CPU form.
    fn on_cpu(&mut self) -> Outcome<Duration>;

    /// One call from host memory to host memory.
    fn on_gpu(&self, gpu: &Gpu) -> Outcome<Duration>;

    /// The kernel alone.
    fn kernel_alone(&self, gpu: &Gpu) -> Outcome<Duration>;

    /// The fastest configuration, found anew.
    fn tune(&self, gpu: &Gpu, budget: Duration) -> Outcome<TunedKernel>;
}

struct Case<O: Operator> {
    operator: O,
    inputs: Vec<Tensor<'static, O::In>>,
    out: Vec<O::Out>,
}

impl<O: Operator> Case<O> {
    fn shapes(&self) -> Vec<&[usize]> {
        self.inputs.iter().map(Tensor::shape).collect()
    }
}

impl<O: Operator> Subject for Case<O> {
    fn work(&self) -> Work {
        self.operator.work(&self.shapes())
    }

    fn counts(&self, gpu: &Gpu) -> Option<DeviceWork> {
        let call = gpu.prepare(&self.operator, &self.inputs).ok()?;
        let form = self.operator.device()?;
        form.counts(&gpu.properties(), &self.shapes(), call.configuration())
    }

    fn size(&self) -> u64 {
        self.work().elements.max(self.inputs[0].len() as u64)
    }

    fn text(&self) -> String {
        format!("inputs of {:?}", self.shapes())
    }

    fn difference(&mut self, gpu: &Gpu) -> Outcome<f64> {
        self.on_cpu()?;
        let found = gpu.run(&self.operator, &self.inputs)?;
        let bits = |values: &[O::Out]| bytemuck::cast_slice::<_, u32>(values).to_vec();
        let pairs = bits(found.host()?).into_iter().zip(bits(&self.out));
        if TypeId::of::<O::Out>() != TypeId::of::<f32>() {
            let all = self.out.len().max(1) as f64;
            return Ok(pairs.filter(|(a, b)| a != b).count() as f64 / all);
        }
        let (difference, largest) =
            pairs.fold((0.0_f32, 0.0_f32), |(difference, largest), (a, b)| {
                let [a, b] = [a, b].map(f32::from_bits);
                // Not a number is no small difference.
                let off = if (a - b).is_nan() {
                    f32::INFINITY
                } else {
                    (a - b).abs()
                };
                (difference.max(off), largest.max(b.abs()))
            });
        Ok(f64::from(difference) / f64::from(largest).max(f64::MIN_POSITIVE))
    }

    fn on_cpu(&mut self) -> Outcome<Duration> {
        let view = |input| -> Outcome<View<'_, O::In>> {
            let input: &Tensor<'_, O::In> = input;
            Ok(View {
                shape: input.shape(),
                values: input.host()?,
            })
        };
        let views = self.inputs.iter().map(view).collect::<Outcome<Vec<_>>>()?;
        let start = Instant::now();
        self.operator.cpu(&views, black_box(&mut self.out))?;
        Ok(start.elapsed())
    }

    fn on_gpu(&self, gpu: &Gpu) -> Outcome<Duration> {
        let start = Instant::now();
        black_box(gpu.run(&self.operator, &self.inputs)?);
        Ok(start.elapsed())
    }

    fn kernel_alone(&self, gpu: &Gpu) -> Outcome<Duration> {
        Ok(gpu.prepare(&self.operator, &self.inputs)?.kernel_time()?)
    }

    fn tune(&self, gpu: &Gpu, budget: Duration) -> Outcome<TunedKernel> {
        let tuner = Tuner::new(&Tuned::default()).budget(budget);
        Ok(tuner.tune(gpu, &self.operator, &self.inputs)?)
    }
}

fn case<O: Operator + 'static>(
    operator: O,
    inputs: Vec<Tensor<'static, O::In>>,
) -> Outcome<Box<dyn Subject>> {
    let shapes: Vec<_> = inputs.iter().map(Tensor::shape).collect();
    let shape = operator.output_shape(&shapes)?;
    let out = vec![O::Out::zeroed(); shape.iter().product()];
    Ok(Box::new(Case {
        operator,
        inputs,
        out,
    }))
}

/// Values in [0, 1) that differ from each other.
pub(crate) fn values(shape: &[usize], seed: usize) -> Outcome<Tensor<'static>> {
    let value = |at: usize| ((at * 37 + at / 251 + seed * 101) % 256) as f32 / 256.0;
    let len = shape.iter().product();
    Ok(Tensor::new(
        (0..len).map(value).collect::<Vec<f32>>(),
        shape,
    )?)
}

/// A kernel at `scale` times its default size.
pub(crate) fn subject(kernel: &str, scale: usize) -> Outcome<Box<dyn Subject>> {
    match kernel {
        "vector_add" | "dot_product" => sized(kernel, 1, 100_000 * scale),
        "vector_add_batch" => sized(kernel, 32 * scale, 100_000),
        "pixel_entropy" => sized(kernel, scale, 512),
        "matrix_multiply" | "tensor_core_matmul" | "conv2d" | "image_segmentation" => {
            sized(kernel, scale, 256)
        }
        "lstm_cell_forward" => sized(kernel, 32 * scale, 128),
        "ar_forecast" => sized(kernel, scale, 1_000),
        _ => sized(kernel, scale, 8),
    }
}

/// So many small problems of a kernel in one call.
pub(crate) fn small(kernel: &str, problems: usize) -> Outcome<Box<dyn Subject>> {
    match kernel {
        "vector_add" | "vector_add_batch" | "dot_product" => sized(kernel, problems, 1_000),
        "ar_forecast" => sized(kernel, problems, 100),
        "dendritic_integration" => sized(kernel, problems, 4),
        _ => sized(kernel, problems, 32),
    }
}

/// A kernel on a batch of items of a size: the length of a vector or a series, the side of an
/// image or a matrix, hidden units, or the dendrites of a neuron.
fn sized(kernel: &str, batch: usize, size: usize) -> Outcome<Box<dyn Subject>> {
    let one = |shape: &[usize]| Ok::<_, Box<dyn Error>>(vec![values(shape, 1)?]);
    let pair =
        |shape: &[usize]| Ok::<_, Box<dyn Error>>(vec![values(shape, 1)?, values(shape, 2)?]);
    match kernel {
        "vector_add" | "vector_add_batch" => case(VectorAdd, pair(&[batch, size])?),
        "dot_product" => case(DotProduct, pair(&[batch, size])?),
        "matrix_multiply" => product(batch, size),
        "tensor_core_matmul" => case(TensorCoreMatmul, pair(&[batch, size, size])?),
        "conv2d" => {
            let filter = Tensor::new(&SOBEL_X, &[3, 3])?;
            case(Conv2d::new(filter, 1, 1)?, one(&[batch, size, size])?)
        }
        "pixel_entropy" => case(PixelEntropy::new(16)?, one(&[batch, size, size])?),
        "image_segmentation" => {
            let segments = ImageSegmentation::new(100.0 / 256.0, Connectivity::Four)?;
            case(segments, one(&[batch, size, size])?)
        }
        "ar_forecast" => case(ArForecast::new(5, 10)?, one(&[batch, size])?),
        "lstm_cell_forward" => {
            let weights = |len| {
                values(&[len], 3)?
                    .into_vec()
                    .map_err(Box::<dyn Error>::from)
            };
            let (input, hidden) = (weights(4 * size * 64)?, weights(4 * size * size)?);
            let bias = weights(4 * size)?;
            let cell = LstmCell::new(&input, &hidden, &bias, &bias, [64, size])?;
            let state = || values(&[batch, size], 4);
            case(cell, vec![values(&[batch, 64], 1)?, state()?, state()?])
        }
        "dendritic_integration" => {
            let (weights, conductances) = (values(&[10, size, 16], 5)?, values(&[10, size], 6)?);
            let rule = Nonlinearity::Sigmoid { k: 2.0, theta: 4.0 };
            let neurons = DendriticIntegration::new(weights, conductances, rule)?;
            case(neurons, one(&[batch, 10, size, 16])?)
        }
        _ => Err(format!("no inputs for {kernel}: give it some here").into()),
    }
}

/// Products of square matrices of that order.
pub(crate) fn product(batch: usize, order: usize) -> Outcome<Box<dyn Subject>> {
    let matrices = |seed| values(&[batch, order, order], seed);
    case(MatrixMultiply, vec![matrices(1)?, matrices(2)?])
}
