//! `lstm_cell_forward` against PyTorch's formulas in float64.

use breakeven::ErrorKind;
use breakeven::kernels::LstmCell;
use proptest::prelude::*;
use serde::Deserialize;

use super::agree::{cases, check, values};
use super::float64;
use super::problem::lstm_cell;
use super::shapes::refused;

#[derive(Deserialize)]
struct Vectors {
    lstm_cell: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    dims: [usize; 3],
    unit: f32,
    input: Vec<i32>,
    hidden: Vec<i32>,
    cell: Vec<i32>,
    weight_ih: Vec<i32>,
    weight_hh: Vec<i32>,
    bias_ih: Vec<i32>,
    bias_hh: Vec<i32>,
    expected: Vec<f64>,
}

#[test]
fn it_is_that_of_pytorch() {
    let vectors: Vectors = serde_json::from_str(include_str!("../data/kernels.json")).unwrap();
    assert!(!vectors.lstm_cell.is_empty());
    for case in &vectors.lstm_cell {
        let values = |numbers: &[i32]| -> Vec<f32> {
            numbers
                .iter()
                .map(|number| *number as f32 * case.unit)
                .collect()
        };
        let [_, inputs, hidden] = case.dims;
        let weights = LstmCell::new(
            &values(&case.weight_ih),
            &values(&case.weight_hh),
            &values(&case.bias_ih),
            &values(&case.bias_hh),
            [inputs, hidden],
        )
        .unwrap();
        let [input, state, cell] = [&case.input, &case.hidden, &case.cell].map(|n| values(n));
        let problem = lstm_cell(input, state, cell, case.dims, weights).unwrap();
        check(&problem, &case.expected, None, 1e-4);
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn it_agrees(
        (dims, input, hidden, cell, weights) in (0_usize..80, 1_usize..30, 1_usize..40)
            .prop_flat_map(|(batch, inputs, hidden)| (
                Just([batch, inputs, hidden]),
                values(batch * inputs, 2.0),
                values(batch * hidden, 1.0),
                values(batch * hidden, 4.0),
                values(4 * hidden * (inputs + hidden + 2), 1.0),
            ))
    ) {
        let [_, inputs, units] = dims;
        let (weight_ih, rest) = weights.split_at(4 * units * inputs);
        let (weight_hh, rest) = rest.split_at(4 * units * units);
        let (bias_ih, bias_hh) = rest.split_at(4 * units);
        let expected = float64::lstm_cell(
            [&input, &hidden, &cell], [weight_ih, weight_hh, bias_ih, bias_hh], dims,
        );
        let weights = LstmCell::new(weight_ih, weight_hh, bias_ih, bias_hh, [inputs, units]);
        let problem = lstm_cell(&input[..], &hidden[..], &cell[..], dims, weights.unwrap());
        check(&problem.unwrap(), &expected, None, 1e-4);
    }
}

/// More than one piece on the CPU, more than one item per unit on a GPU: in single elements and
/// in vectors of four.
#[test]
fn large_batches() {
    for dims in [[2_100, 5, 131], [2_003, 8, 132]] {
        a_large_batch(dims);
    }
}

fn a_large_batch(dims: [usize; 3]) {
    let [batch, inputs, units] = dims;
    let numbers = |len: usize, step: usize| -> Vec<f32> {
        (0..len)
            .map(|i| ((i * step) % 401) as f32 / 401.0 - 0.5)
            .collect()
    };
    let (input, hidden) = (numbers(batch * inputs, 7), numbers(batch * units, 11));
    let cell = numbers(batch * units, 13);
    let [weight_ih, weight_hh] = [inputs, units].map(|columns| numbers(4 * units * columns, 17));
    let biases = numbers(4 * units, 19);
    let parts = [&weight_ih[..], &weight_hh, &biases, &biases];
    let expected = float64::lstm_cell([&input, &hidden, &cell], parts, dims);
    let weights = LstmCell::new(&weight_ih, &weight_hh, &biases, &biases, [inputs, units]);
    let problem = lstm_cell(input, hidden, cell, dims, weights.unwrap()).unwrap();
    check(&problem, &expected, None, 1e-4);
}

#[test]
fn gates_that_are_shut_or_wide_open_give_their_limits() {
    // One hidden unit; the biases alone decide.
    for (biases, expected) in [
        ([1e6, -1e6, 1e6, 1e6], [1.0_f64.tanh(), 1.0]),
        ([-1e6, 1e6, 1e6, 1e6], [3.0_f64.tanh(), 3.0]),
        ([1e6, 1e6, -1e6, 1e6], [2.0_f64.tanh(), 2.0]),
        ([1e6, 1e6, 1e6, -1e6], [0.0, 4.0]),
    ] {
        let weights = LstmCell::new(&[0.0; 4], &[0.0; 4], &biases, &[0.0; 4], [1, 1]).unwrap();
        let problem = lstm_cell(&[1.0][..], &[1.0][..], &[3.0][..], [1, 1, 1], weights).unwrap();
        check(&problem, &expected, None, 1e-5);
    }
}

#[test]
fn nan_stays_in_its_item_on_the_cpu() {
    let weights = LstmCell::new(&[0.5; 12], &[0.5; 36], &[0.0; 12], &[0.0; 12], [1, 3]);
    let input = [1.0, f32::NAN, 1.0];
    let problem = lstm_cell(
        &input[..],
        &[0.0; 9][..],
        &[0.0; 9][..],
        [3, 1, 3],
        weights.unwrap(),
    );
    let output = problem.unwrap().cpu();
    for (item, output) in output.chunks(6).enumerate() {
        assert!(
            output.iter().all(|value| value.is_nan() == (item == 1)),
            "{item}: {output:?}"
        );
    }
}

#[test]
fn wrong_shapes_are_typed_errors() {
    refused(
        LstmCell::new(&[], &[], &[], &[], [0, 3]),
        ErrorKind::Shape,
        "lstm_cell: 0 inputs and 3 hidden units; give at least one of each",
    );
    refused(
        LstmCell::new(&[0.0; 24], &[0.0; 35], &[0.0; 12], &[0.0; 12], [2, 3]),
        ErrorKind::Shape,
        "lstm_cell: weight_hh has 35 elements, but its shape 4×3×3 holds 36",
    );
    let cell = LstmCell::new(&[0.1; 24], &[0.1; 36], &[0.0; 12], &[0.0; 12], [2, 3]).unwrap();
    refused(
        lstm_cell(&[0.0; 4][..], &[0.0; 4][..], &[0.0; 4][..], [2, 2, 2], cell),
        ErrorKind::Shape,
        "lstm_cell: the hidden state has 2 values an item; the weights are for 3",
    );
    let huge = LstmCell::new(&[], &[], &[], &[], [usize::MAX / 2, 3]);
    assert_eq!(
        huge.err().map(|error| error.kind()),
        Some(ErrorKind::TooLarge)
    );
}
