//! `dendritic_integration` against its formulas in float64.

use breakeven::Tensor;
use breakeven::kernels::{DendriticIntegration, Nonlinearity};
use breakeven::{Error, ErrorKind};
use proptest::prelude::*;
use serde::Deserialize;

use super::agree::{cases, check, values};
use super::float64;
use super::problem::{Problem, dendritic_integration};
use super::shapes::refused;

#[derive(Deserialize)]
struct Vectors {
    dendritic_integration: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    dims: [usize; 4],
    rule: String,
    parameters: Vec<f32>,
    unit: f32,
    inputs: Vec<i32>,
    weights: Vec<i32>,
    conductances: Vec<i32>,
    previous_soma: Vec<i32>,
    expected: Vec<f64>,
}

fn rule(name: &str, parameters: &[f32]) -> Nonlinearity {
    match (name, parameters) {
        ("Sigmoid", &[k, theta]) => Nonlinearity::Sigmoid { k, theta },
        ("Nmda", &[mg, v_rest]) => Nonlinearity::Nmda { mg, v_rest },
        ("BackpropagatingActionPotential", &[beta]) => {
            Nonlinearity::BackpropagatingActionPotential { beta }
        }
        ("Multiplicative", []) => Nonlinearity::Multiplicative,
        _ => panic!("no nonlinearity {name} of {parameters:?}"),
    }
}

fn problem<'a>(
    inputs: &'a [f32],
    weights: &[f32],
    conductances: &[f32],
    previous: &'a [f32],
    dims: [usize; 4],
    rule: Nonlinearity,
) -> Problem<'a, DendriticIntegration> {
    let problem = dendritic_integration(inputs, weights, conductances, dims, rule).unwrap();
    match rule {
        Nonlinearity::BackpropagatingActionPotential { .. } => {
            after(problem, previous, &[dims[0], dims[1]]).unwrap()
        }
        _ => problem,
    }
}

/// The same with the somas' potentials one step before.
fn after<'a>(
    problem: Problem<'a, DendriticIntegration>,
    previous: &'a [f32],
    shape: &[usize],
) -> Result<Problem<'a, DendriticIntegration>, Error> {
    let mut inputs = problem.inputs;
    inputs.push(Tensor::new(previous, shape)?);
    Problem::new(problem.operator, inputs)
}

#[test]
fn it_is_that_of_the_formulas() {
    let vectors: Vectors = serde_json::from_str(include_str!("../data/kernels.json")).unwrap();
    for name in [
        "Sigmoid",
        "Nmda",
        "BackpropagatingActionPotential",
        "Multiplicative",
    ] {
        assert!(
            vectors
                .dendritic_integration
                .iter()
                .any(|case| case.rule == name)
        );
    }
    for case in &vectors.dendritic_integration {
        let values = |numbers: &[i32]| -> Vec<f32> {
            numbers
                .iter()
                .map(|number| *number as f32 * case.unit)
                .collect()
        };
        let [inputs, weights, conductances, previous] = [
            &case.inputs,
            &case.weights,
            &case.conductances,
            &case.previous_soma,
        ]
        .map(|numbers| values(numbers));
        let rule = rule(&case.rule, &case.parameters);
        let problem = problem(&inputs, &weights, &conductances, &previous, case.dims, rule);
        let scale: Vec<f64> = case
            .expected
            .iter()
            .map(|value| value.abs().max(1.0))
            .collect();
        check(&problem, &case.expected, Some(&scale), 1e-4);
    }
}

fn rules() -> impl Strategy<Value = Nonlinearity> {
    prop_oneof![
        (-3.0_f32..3.0, -5.0_f32..5.0).prop_map(|(k, theta)| Nonlinearity::Sigmoid { k, theta }),
        (prop_oneof![Just(0.0), 0.0_f32..4.0], -90.0_f32..30.0)
            .prop_map(|(mg, v_rest)| Nonlinearity::Nmda { mg, v_rest }),
        (-1.0_f32..1.0).prop_map(|beta| Nonlinearity::BackpropagatingActionPotential { beta }),
        Just(Nonlinearity::Multiplicative),
    ]
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn it_agrees(
        (dims, rule, inputs, weights, conductances, previous) in (
            0_usize..5,
            1_usize..12,
            prop_oneof![4 => 1_usize..12, 1 => 250_usize..300],
            1_usize..20,
        )
            .prop_flat_map(|(batch, neurons, dendrites, synapses)| (
                Just([batch, neurons, dendrites, synapses]),
                rules(),
                values(batch * neurons * dendrites * synapses, 2.0),
                values(neurons * dendrites * synapses, 0.5),
                values(neurons * dendrites, 1.0),
                values(batch * neurons, 10.0),
            ))
    ) {
        let (expected, scale) =
            float64::dendritic_integration(&inputs, &weights, &conductances, &previous, dims, rule);
        let problem = problem(&inputs, &weights, &conductances, &previous, dims, rule);
        check(&problem, &expected, Some(&scale), 1e-4);
    }
}

#[test]
fn many_synapses_and_a_large_batch() {
    let numbers = |len: usize, step: usize| -> Vec<f32> {
        (0..len)
            .map(|i| ((i * step) % 401) as f32 / 401.0)
            .collect()
    };
    for (dims, rule) in [
        (
            [2, 1, 2, 20_003],
            Nonlinearity::Sigmoid {
                k: 0.001,
                theta: 5_000.0,
            },
        ),
        (
            [700, 10, 8, 16],
            Nonlinearity::Nmda {
                mg: 1.0,
                v_rest: -70.0,
            },
        ),
    ] {
        let [batch, neurons, dendrites, synapses] = dims;
        let inputs = numbers(batch * neurons * dendrites * synapses, 7);
        let weights = numbers(neurons * dendrites * synapses, 11);
        let conductances = numbers(neurons * dendrites, 13);
        let (expected, scale) =
            float64::dendritic_integration(&inputs, &weights, &conductances, &[], dims, rule);
        let problem = problem(&inputs, &weights, &conductances, &[], dims, rule);
        check(&problem, &expected, Some(&scale), 1e-4);
    }
}

/// 1 + w·x rounds each term to 6e-8: a product formed that way has no digit left.
#[test]
fn weak_synapses_multiply_without_losing_their_digits() {
    let inputs = [1e-7_f32; 5];
    let problem = dendritic_integration(
        &inputs[..],
        &[1.0; 5],
        &[1.0],
        [1, 1, 1, 5],
        Nonlinearity::Multiplicative,
    )
    .unwrap();
    check(&problem, &[5e-7], Some(&[5e-7]), 1e-5);
}

#[test]
fn without_a_previous_soma_there_is_nothing_to_amplify() {
    let rule = Nonlinearity::BackpropagatingActionPotential { beta: 3.0 };
    let new = |rule| dendritic_integration(&[2.0][..], &[4.0], &[0.5], [1, 1, 1, 1], rule).unwrap();
    check(&new(rule), &[4.0], None, 1e-6);
    let amplified = after(new(rule), &[0.5], &[1, 1]).unwrap();
    check(&amplified, &[10.0], None, 1e-6);
    refused(
        after(new(rule), &[], &[1, 0]),
        ErrorKind::Shape,
        "dendritic_integration: the previous soma is 1×0; it must be 1×1",
    );
    refused(
        after(new(Nonlinearity::Multiplicative), &[0.5], &[1, 1]),
        ErrorKind::Invalid,
        "dendritic_integration: Multiplicative does not look at the previous soma; leave it out",
    );
}

#[test]
fn infinity_and_nan_reach_their_own_soma_only() {
    for bad in [f32::INFINITY, f32::NAN] {
        let inputs = [1.0, bad];
        let problem = dendritic_integration(
            &inputs[..],
            &[1.0; 2],
            &[1.0; 2],
            [1, 2, 1, 1],
            Nonlinearity::Multiplicative,
        )
        .unwrap();
        let output = problem.cpu();
        assert!(output[0] == 1.0 && !output[1].is_finite(), "{output:?}");
    }
}

#[test]
fn wrong_shapes_and_parameters_are_typed_errors() {
    let new = |inputs: usize, dims: [usize; 4], rule| {
        let [_, neurons, dendrites, synapses] = dims;
        dendritic_integration(
            vec![0.0; inputs],
            &vec![0.0; neurons * dendrites * synapses],
            &vec![0.0; neurons * dendrites],
            dims,
            rule,
        )
    };
    refused(
        new(0, [1, 0, 2, 2], Nonlinearity::Multiplicative),
        ErrorKind::Shape,
        "dendritic_integration: 0 neurons × 2 dendrites × 2 inputs; give at least one of each",
    );
    refused(
        new(
            8,
            [1, 2, 2, 2],
            Nonlinearity::Sigmoid {
                k: f32::NAN,
                theta: 0.0,
            },
        ),
        ErrorKind::Invalid,
        "dendritic_integration: k is NaN; give a finite number",
    );
    refused(
        new(
            8,
            [1, 2, 2, 2],
            Nonlinearity::Nmda {
                mg: -1.0,
                v_rest: -70.0,
            },
        ),
        ErrorKind::Invalid,
        "dendritic_integration: a concentration of -1 mM; give 0 or more",
    );
    let none = new(0, [0, 1, 2, 2], Nonlinearity::Multiplicative);
    assert!(none.unwrap().cpu().is_empty());
}
