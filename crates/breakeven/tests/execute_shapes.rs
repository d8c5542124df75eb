//! Operators and devices that keep to no shape.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use breakeven::Costs;
use breakeven::execute::{
    Device, ExecuteError, RayonCpu, StrategyManager, TensorDevice, TensorFlight, TensorFuture,
};
use breakeven::plan::GpuSpec;
use breakeven::{DeviceError, DeviceErrorKind, Element, Error, ErrorKind, Operator, Tensor, View};

use crate::execute_items::{SumAndProduct, cpu_only, items};

/// Three items of two numbers, from nothing.
struct FromNothing(Vec<usize>);

impl Operator for FromNothing {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "from_nothing"
    }

    fn output_shape(&self, _: &[&[usize]]) -> Result<Vec<usize>, Error> {
        Ok(self.0.clone())
    }

    fn cpu(&self, _: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        out.fill(1.0);
        Ok(())
    }
}

#[test]
fn an_operator_without_inputs_is_refused_whatever_it_gives() {
    let none: [Tensor<'static>; 0] = [];
    let said = "from_nothing: no inputs; give at least one";
    for shape in [vec![], vec![3, 2]] {
        let operator = FromNothing(shape);
        match cpu_only().run(&operator, &none) {
            Err(ExecuteError::Invalid(error)) => {
                assert_eq!(
                    (error.kind(), error.to_string()),
                    (ErrorKind::Shape, said.to_owned())
                );
            }
            other => panic!("{other:?}"),
        }
        let manager = cpu_only();
        let decided = manager.operation("x").decide_run(&operator, &none);
        assert_eq!(decided.unwrap_err().kind(), ErrorKind::Shape);
        assert_eq!(operator.on_cpu(&none).unwrap_err().kind(), ErrorKind::Shape);
        let chain = FromNothing(operator.0).then(SumAndProduct);
        assert!(matches!(
            cpu_only().run(&chain, &none),
            Err(ExecuteError::Invalid(_))
        ));
    }
}

/// A device whose outputs have another shape than was asked for.
struct Wrong {
    spec: GpuSpec,
    change: fn(Vec<usize>) -> Vec<usize>,
}

struct Done<E: Element>(Option<Tensor<'static, E>>);

impl<E: Element> Future for Done<E> {
    type Output = Result<Tensor<'static, E>, DeviceError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(self.0.take().expect("it is asked once")))
    }
}

impl<E: Element> Unpin for Done<E> {}

impl<E: Element> TensorFuture<E> for Done<E> {}

impl TensorDevice for Wrong {
    fn device(&self) -> Option<&dyn Device> {
        Some(&self.spec)
    }

    fn start_call<O: Operator + ?Sized>(
        &self,
        operator: &O,
        inputs: &[Tensor<'_, O::In>],
        _: bool,
    ) -> Result<TensorFlight<O::Out>, DeviceError> {
        let output = operator.on_cpu(&inputs)?;
        let shape = (self.change)(output.shape().to_vec());
        let mut values = output.into_vec()?;
        values.resize(shape.iter().product(), bytemuck::Zeroable::zeroed());
        Ok(Box::pin(Done(Some(Tensor::new(values, &shape)?))))
    }
}

#[test]
fn a_devices_output_of_another_shape_is_a_wrong_result_and_the_cpu_does_the_items() {
    let input = items(1_000);
    let expected = SumAndProduct.on_cpu(&input).unwrap();
    type Change = fn(Vec<usize>) -> Vec<usize>;
    let changes: [(&str, Change); 5] = [
        ("too few", |shape| vec![shape[0] - 1, shape[1]]),
        ("too many", |shape| vec![shape[0] + 1, shape[1]]),
        ("none", |shape| vec![0, shape[1]]),
        ("wider", |shape| vec![shape[0], shape[1] + 1]),
        ("turned", |shape| vec![shape[1], shape[0]]),
    ];
    for (what, change) in changes {
        for strategy in ["gpu-only", "hybrid:50/50", "auto"] {
            let name = format!("{what}, {strategy}");
            let device = Wrong {
                spec: GpuSpec::named(&*name),
                change,
            };
            let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(device))
                .with_costs(Arc::new(Costs::new()))
                .with_strategy(strategy.parse().unwrap());
            let result = manager.run(&SumAndProduct, &input);
            let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(result.gpu.tasks, 0, "{name}");
            for error in &result.errors {
                assert_eq!(error.kind, DeviceErrorKind::WrongResult, "{name}");
            }
            assert!(strategy == "auto" || !result.errors.is_empty(), "{name}");
            let output = result.into_output();
            assert_eq!(
                (output.shape(), output.host()),
                (expected.shape(), expected.host())
            );
        }
    }
}
