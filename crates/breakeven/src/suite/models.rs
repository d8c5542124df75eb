//! `ar_forecast`, `lstm_cell_forward` and `dendritic_integration`.

use std::sync::{Arc, LazyLock};

use super::batch::TaskKernel;
use super::inputs::{series, uniform};
use super::measure::Problem;
use super::sweep::Over;
use super::table::{Input, Shape, SuiteKernel, Takes};
use crate::error::Error;
#[cfg(feature = "gpu")]
use crate::gpu::{Gpu, KernelExecutor};
use crate::kernels::{
    ArForecast, DendriticIntegration, Kernel, LstmCell, LstmStep, LstmWeights, Nonlinearity,
};

/// Tasks of a default batch: each takes some microseconds.
const TASKS: usize = 1024;

/// Of `ar_forecast`.
const LAGS: usize = 5;
const STEPS: usize = 10;

/// Of `lstm_cell_forward`.
const INPUTS: usize = 64;
const HIDDEN: usize = 128;

/// Of `dendritic_integration`: neurons, dendrites of each, inputs of each dendrite.
const NEURONS: [usize; 3] = [10, 8, 16];
const SYNAPSES: usize = NEURONS[0] * NEURONS[1] * NEURONS[2];
const DENDRITES: usize = NEURONS[0] * NEURONS[1];

/// A dendrite's threshold is well inside of what its inputs come to.
const NONLINEARITY: Nonlinearity = Nonlinearity::Sigmoid { k: 2.0, theta: 0.5 };

/// `ar_forecast`: forecasts of series.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forecasts;

/// `lstm_cell_forward`: steps of cells that share their weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellSteps;

/// `dendritic_integration`: inputs to one set of neurons.
#[derive(Debug, Clone, Copy)]
pub(super) struct Somas;

const ONE_SERIES: Shape = Shape {
    batch: 1,
    rows: 1,
    columns: 1_000,
    window: 0,
};

impl SuiteKernel for Forecasts {
    type Tasks = Self;
    const NAME: &'static str = "ar_forecast";
    const WORKLOAD: Shape = ONE_SERIES;
    const TASKS: Shape = Shape {
        batch: TASKS,
        ..ONE_SERIES
    };
    const BUDGET_US: Option<u64> = Some(500);
    const SIZES: [u64; 2] = [64, 1 << 16];
    const TAKES: Takes = Takes::Series;

    fn item(shape: Shape) -> String {
        format!("{} points, AR({LAGS}), {STEPS} steps", shape.columns)
    }

    fn values(shape: Shape) -> u64 {
        let outputs = (shape.batch as u64).saturating_mul(STEPS as u64);
        shape.elements().saturating_add(outputs)
    }

    fn scratch_bytes(shape: Shape) -> u64 {
        // Each thread has a series and its forecast in float64.
        let threads = rayon::current_num_threads().min(shape.batch) as u64;
        let each = (shape.columns as u64).saturating_add(STEPS as u64);
        each.saturating_mul(8 * threads)
    }

    fn problem(shape: Shape, input: &Input) -> Result<Box<dyn Problem>, Error> {
        let points = match input {
            Input::Series(points) => points.clone(),
            Input::Generated | Input::Image(_) => series(shape),
        };
        let forecast = ArForecast::new(points, [shape.batch, shape.columns], LAGS, STEPS)?;
        Ok(Box::new(forecast))
    }

    fn tasks(shape: Shape) -> Vec<Vec<f32>> {
        let points = series(shape);
        points
            .chunks_exact(shape.columns)
            .map(<[f32]>::to_vec)
            .collect()
    }
}

/// What the suite's model (AR(5), 10 steps) expects after a series.
///
/// # Errors
///
/// As [`ArForecast::new`] and [`ArForecast::checked`].
pub fn forecast(series: &[f32]) -> Result<Vec<f32>, Error> {
    let problem = ArForecast::new(series, [1, series.len()], LAGS, STEPS)?;
    problem.checked(problem.cpu())
}

impl TaskKernel for Forecasts {
    type Task = Vec<f32>;
    type Element = f32;

    fn on_cpu(task: &Vec<f32>) -> Result<Vec<f32>, Error> {
        Ok(ArForecast::of(std::slice::from_ref(task), LAGS, STEPS)?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<Vec<f32>, Vec<f32>>, Error> {
        KernelExecutor::ar_forecast(gpu, LAGS, STEPS)
    }
}

/// Weights of cells with so many hidden units.
fn weights(hidden: usize) -> Result<Arc<LstmWeights>, Error> {
    // PyTorch's own beginning: uniform within 1 / √hidden.
    let bound = (hidden as f32).sqrt().recip();
    let values = |rows: usize, stream: u64| -> Vec<f32> {
        let values = uniform(4 * hidden * rows, stream);
        values.iter().map(|value| value * bound).collect()
    };
    let [of_input, of_hidden] = [values(INPUTS, 7), values(hidden, 8)];
    let [bias, other] = [values(1, 9), values(1, 10)];
    LstmWeights::new(&of_input, &of_hidden, &bias, &other, [INPUTS, hidden]).map(Arc::new)
}

/// Those of every task of the suite.
static WEIGHTS: LazyLock<Result<Arc<LstmWeights>, Error>> = LazyLock::new(|| weights(HIDDEN));

/// Inputs, hidden and cell states of so many steps.
fn states(batch: usize, hidden: usize) -> [Vec<f32>; 3] {
    [
        uniform(batch * INPUTS, 11),
        uniform(batch * hidden, 12),
        uniform(batch * hidden, 13),
    ]
}

/// h' and c' are the output's rows.
const THIRTY_TWO_CELLS: Shape = Shape {
    batch: 32,
    rows: 2,
    columns: HIDDEN,
    window: 0,
};

impl SuiteKernel for CellSteps {
    type Tasks = Self;
    const NAME: &'static str = "lstm_cell_forward";
    const WORKLOAD: Shape = THIRTY_TWO_CELLS;
    const TASKS: Shape = Shape {
        batch: TASKS,
        ..THIRTY_TWO_CELLS
    };
    const BUDGET_US: Option<u64> = Some(3_000);
    const SWEEPS: &'static [Over] = &[Over::Batch, Over::Hidden];

    fn item(shape: Shape) -> String {
        format!("{INPUTS} inputs, {} hidden units", shape.columns)
    }

    fn values(shape: Shape) -> u64 {
        let (inputs, hidden) = (INPUTS as u64, shape.columns as u64);
        (shape.batch as u64)
            .saturating_mul(inputs + 4 * hidden)
            .saturating_add(Self::shared_values(shape))
    }

    fn shared_values(shape: Shape) -> u64 {
        let (inputs, hidden) = (INPUTS as u64, shape.columns as u64);
        (4 * hidden).saturating_mul(inputs + hidden + 1)
    }

    fn problem(shape: Shape, _: &Input) -> Result<Box<dyn Problem>, Error> {
        let [input, hidden, cell] = states(shape.batch, shape.columns);
        let weights = match shape.columns {
            HIDDEN => WEIGHTS.clone()?,
            hidden => weights(hidden)?,
        };
        let step = LstmCell::new(input, hidden, cell, shape.batch, weights)?;
        Ok(Box::new(step))
    }

    fn tasks(shape: Shape) -> Vec<LstmStep> {
        let [input, hidden, cell] = states(shape.batch, HIDDEN);
        let part = |all: &[f32], each: usize, at: usize| all[at * each..][..each].to_vec();
        (0..shape.batch)
            .map(|at| LstmStep {
                input: part(&input, INPUTS, at),
                hidden: part(&hidden, HIDDEN, at),
                cell: part(&cell, HIDDEN, at),
            })
            .collect()
    }
}

impl TaskKernel for CellSteps {
    type Task = LstmStep;
    type Element = f32;

    fn on_cpu(task: &LstmStep) -> Result<Vec<f32>, Error> {
        Ok(LstmCell::of(std::slice::from_ref(task), WEIGHTS.clone()?)?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<LstmStep, Vec<f32>>, Error> {
        Ok(KernelExecutor::lstm_cell(gpu, WEIGHTS.clone()?))
    }
}

const ONE_SET: Shape = Shape {
    batch: 1,
    rows: 1,
    columns: NEURONS[0],
    window: 0,
};

/// Weights of the synapses and conductances of the dendrites.
fn neurons() -> (Vec<f32>, Vec<f32>) {
    (uniform(SYNAPSES, 14), uniform(DENDRITES, 15))
}

impl SuiteKernel for Somas {
    type Tasks = Self;
    const NAME: &'static str = "dendritic_integration";
    const WORKLOAD: Shape = ONE_SET;
    const TASKS: Shape = Shape {
        batch: TASKS,
        ..ONE_SET
    };
    const BUDGET_US: Option<u64> = Some(300);
    const SWEEPS: &'static [Over] = &[Over::Batch];

    fn item(_: Shape) -> String {
        let [neurons, dendrites, inputs] = NEURONS;
        format!("{neurons} neurons, {dendrites} dendrites, {inputs} inputs, sigmoid")
    }

    fn values(shape: Shape) -> u64 {
        let each = SYNAPSES + NEURONS[0];
        (shape.batch as u64)
            .saturating_mul(each as u64)
            .saturating_add(Self::shared_values(shape))
    }

    fn shared_values(_: Shape) -> u64 {
        (SYNAPSES + DENDRITES) as u64
    }

    fn problem(shape: Shape, _: &Input) -> Result<Box<dyn Problem>, Error> {
        let (weights, conductances) = neurons();
        let [neurons, dendrites, inputs] = NEURONS;
        let dims = [shape.batch, neurons, dendrites, inputs];
        let values = uniform(shape.batch * SYNAPSES, 16);
        let somas = DendriticIntegration::new(values, weights, conductances, dims, NONLINEARITY)?;
        Ok(Box::new(somas))
    }

    fn tasks(shape: Shape) -> Vec<Vec<f32>> {
        let values = uniform(shape.batch * SYNAPSES, 16);
        values.chunks_exact(SYNAPSES).map(<[f32]>::to_vec).collect()
    }
}

/// The neurons of every task of the suite.
static SET: LazyLock<(Vec<f32>, Vec<f32>)> = LazyLock::new(neurons);

impl TaskKernel for Somas {
    type Task = Vec<f32>;
    type Element = f32;

    fn on_cpu(task: &Vec<f32>) -> Result<Vec<f32>, Error> {
        let (weights, conductances) = &*SET;
        let task = std::slice::from_ref(task);
        let somas =
            DendriticIntegration::of(task, &weights[..], &conductances[..], NEURONS, NONLINEARITY)?;
        Ok(somas.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<Vec<f32>, Vec<f32>>, Error> {
        let (weights, conductances) = neurons();
        KernelExecutor::dendritic_integration(gpu, weights, conductances, NEURONS, NONLINEARITY)
    }
}
