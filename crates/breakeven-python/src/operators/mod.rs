//! The library's operators on NumPy arrays.

mod kernels;
mod place;

use std::sync::Arc;

use breakeven::execute::ExecuteError;
use breakeven::{Chain, Element, Error, Operator, Tensor};
use numpy::{
    Element as ArrayElement, PyArray1, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use crate::errors::{InvalidError, raised};
use crate::run::PyExecutionResult;
pub(crate) use kernels::{
    ar_forecast, conv2d, dendritic_integration, dot_product, fused_conv_entropy_segment,
    image_segmentation, lstm_cell, matrix_multiply, pixel_entropy, tensor_core_matmul, vector_add,
};
pub(crate) use place::devices;
use place::{Manager, manager};

/// An operator, by the type of its output.
#[derive(Clone)]
enum Form {
    Numbers(Arc<dyn Operator<In = f32, Out = f32>>),
    Labels(Arc<dyn Operator<In = f32, Out = u32>>),
}

/// Work on a batch of items: parameters, no data. Python users see `breakeven.Operator`.
#[pyclass(frozen, module = "breakeven._breakeven", name = "Operator")]
pub(crate) struct PyOperator {
    form: Form,
    /// True if inputs are images; 8-bit images are read as v / 256.
    #[pyo3(get)]
    takes_images: bool,
}

impl PyOperator {
    fn numbers(operator: impl Operator<In = f32, Out = f32> + 'static) -> Self {
        Self::of(Form::Numbers(Arc::new(operator)))
    }

    fn labels(operator: impl Operator<In = f32, Out = u32> + 'static) -> Self {
        Self::of(Form::Labels(Arc::new(operator)))
    }

    fn of(form: Form) -> Self {
        Self {
            form,
            takes_images: false,
        }
    }

    fn of_images(mut self) -> Self {
        self.takes_images = true;
        self
    }

    fn name(&self) -> &str {
        match &self.form {
            Form::Numbers(operator) => operator.name(),
            Form::Labels(operator) => operator.name(),
        }
    }
}

#[pymethods]
impl PyOperator {
    /// Its name in profiles and in the cost model.
    #[getter(name)]
    fn python_name(&self) -> &str {
        self.name()
    }

    /// The output's shape for inputs of these shapes.
    #[pyo3(signature = (*shapes))]
    fn output_shape(&self, shapes: Vec<Vec<usize>>) -> PyResult<Vec<usize>> {
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        let shape = match &self.form {
            Form::Numbers(operator) => operator.output_shape(&shapes),
            Form::Labels(operator) => operator.output_shape(&shapes),
        };
        shape.map_err(raised)
    }

    /// This operator and then `next` on its output, as one operator.
    fn then(&self, next: &Self) -> PyResult<Self> {
        let Form::Numbers(first) = &self.form else {
            let (first, next) = (self.name(), next.name());
            return Err(InvalidError::new_err(format!(
                "{first} gives labels, which {next} does not take; end the chain there"
            )));
        };
        let chain = Chain::one(Arc::clone(first));
        let form = match &next.form {
            Form::Numbers(next) => Form::Numbers(Arc::new(chain.and(Arc::clone(next)))),
            Form::Labels(next) => Form::Labels(Arc::new(chain.and(Arc::clone(next)))),
        };
        Ok(Self {
            form,
            takes_images: self.takes_images,
        })
    }

    /// Runs it on contiguous arrays of `float32`.
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<PyReadonlyArrayDyn<'py, f32>>,
        operation: Option<&str>,
        strategy: &str,
        device: Option<&str>,
    ) -> PyResult<PyExecutionResult> {
        let mut tensors = Vec::with_capacity(inputs.len());
        for input in &inputs {
            tensors.push(Tensor::new(input.as_slice()?, input.shape()).map_err(raised)?);
        }
        let manager = manager(py, strategy, device)?;
        match &self.form {
            Form::Numbers(operator) => run(py, &manager, &**operator, &tensors, operation),
            Form::Labels(operator) => run(py, &manager, &**operator, &tensors, operation),
        }
    }
}

fn run<O: Element + ArrayElement>(
    py: Python<'_>,
    manager: &Manager,
    operator: &dyn Operator<In = f32, Out = O>,
    inputs: &[Tensor<'_>],
    operation: Option<&str>,
) -> PyResult<PyExecutionResult> {
    let name = operation.unwrap_or_else(|| operator.name());
    let ran = py.detach(|| match manager {
        Manager::Cpu(manager) => manager.operation(name).run(operator, &inputs),
        #[cfg(feature = "gpu")]
        Manager::Gpu(manager) => manager.operation(name).run(operator, &inputs),
    });
    let (outputs, result) = ran.map_err(failed)?.into_outputs();
    let Some(output) = outputs.into_iter().next() else {
        return Err(InvalidError::new_err("the operator gave no output"));
    };
    let shape = output.shape().to_vec();
    let values = output.into_vec().map_err(raised)?;
    let array = PyArray1::from_vec(py, values).reshape(shape)?;
    Ok(PyExecutionResult::of_operator(py, array.into_any(), result))
}

fn failed(error: ExecuteError<Error>) -> PyErr {
    match error {
        ExecuteError::Invalid(error) => raised(error),
        ExecuteError::Device { error, .. } => raised(error),
        other => InvalidError::new_err(other.to_string()),
    }
}
