//! An operator through the manager beside one direct call of it.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::kernels::LstmCell;
use breakeven::profile::recorder::Clock;
use breakeven::{Operator, Tensor};

use crate::samples::{Samples, print_interval, ratio};

/// A deadline that does not come.
const LONG: Duration = Duration::from_secs(1_000);

/// Inputs and hidden units.
const DIMS: [usize; 2] = [128, 128];

/// Turns at LSTM cells of 1 to 1024 items: direct, through `run`, and with a deadline.
pub(crate) fn operators(quick: bool) {
    let clock = Clock::new();
    let numbers = |len: usize| {
        (0..len)
            .map(|at| (at % 17) as f32 / 32.0 - 0.25)
            .collect::<Vec<_>>()
    };
    let [inputs, hidden] = DIMS;
    let weights = [
        4 * hidden * inputs,
        4 * hidden * hidden,
        4 * hidden,
        4 * hidden,
    ]
    .map(numbers);
    let [ih, hh, bias_ih, bias_hh] = &weights;
    let cell = LstmCell::new(ih, hh, bias_ih, bias_hh, DIMS).expect("weights of their shapes");
    let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
    for items in [1, 32, 1_024] {
        let tensor =
            |width: usize| Tensor::new(numbers(items * width), &[items, width]).expect("its shape");
        let tensors = [tensor(inputs), tensor(hidden), tensor(hidden)];
        let [mut direct, mut run, mut watched] = <[Samples; 3]>::default();
        let rounds = if quick { 200 } else { 1_000 };
        for _ in 0..rounds {
            direct.time(&clock, || {
                black_box(cell.on_cpu(&tensors)).expect("their shapes")
            });
            run.time(&clock, || {
                black_box(manager.run(&cell, &tensors)).expect("their shapes")
            });
            watched.time(&clock, || {
                let batch = manager.operation("watched").deadline(LONG);
                black_box(batch.run(&cell, &tensors)).expect("their shapes")
            });
        }
        for (name, run) in [("", &run), ("/deadline", &watched)] {
            let name = format!("operator_over_direct/lstm_{items}{name}");
            print_interval(&name, &ratio(run, &direct), "");
        }
    }
}
