//! The size from which a program's own GPU function pays: `breakeven_judge::break_even` for Python.

use std::cell::RefCell;
use std::time::Duration;

use breakeven_judge::break_even::{BreakEven, Missed, Sweep, Swept as Data, coarse_sizes};
use breakeven_profile::profile::Failure;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::profile::{Printed, Profile};
use crate::run::device_error;

/// Sizes of a sweep that states none.
const SIZES: [u64; 2] = [1_000, 10_000_000];

/// The result of a sweep. Python users see `breakeven.Swept`.
#[pyclass(frozen, module = "breakeven._breakeven")]
pub(crate) struct Swept(Data);

/// Times both functions on the inputs that `make` makes. Fails with the first exception if nothing
/// was measured, and with one that is no `Exception`, as Ctrl-C.
#[pyfunction]
pub(crate) fn sweep(
    name: &str,
    sizes: Option<Vec<u64>>,
    time_limit: f64,
    make: Bound<'_, PyAny>,
    cpu: Bound<'_, PyAny>,
    gpu: Bound<'_, PyAny>,
) -> PyResult<Swept> {
    let time_limit = Duration::from_secs_f64(time_limit.clamp(0.0, 1e9));
    let [first, last] = SIZES;
    let sizes = sizes.unwrap_or_else(|| coarse_sizes(first, last));
    let py = make.py();
    // The first exception, or what is none and ends the sweep, as Ctrl-C.
    let raised: RefCell<Option<PyErr>> = RefCell::new(None);
    let missed = |error: PyErr| {
        if !error.is_instance_of::<PyException>(py) {
            raised.replace(Some(error));
            return Missed::Ended;
        }
        let failure = device_error(&error);
        raised.borrow_mut().get_or_insert(error);
        Missed::Failed(Failure {
            kind: failure.kind.to_string(),
            message: failure.message,
        })
    };
    let swept = Sweep::new(name, sizes).time_limit(time_limit).try_closures(
        |size| make.call1((size,)).map_err(missed),
        |input: &Bound<'_, PyAny>| cpu.call1((input,)).map_err(missed),
        |input: &Bound<'_, PyAny>| gpu.call1((input,)).map_err(missed),
    );
    let has_times = swept.rivals.iter().any(|rival| !rival.times.is_empty());
    match raised.take() {
        Some(error) if !has_times || !error.is_instance_of::<PyException>(py) => Err(error),
        _ => Ok(Swept(swept)),
    }
}

#[pymethods]
impl Swept {
    fn page(&self) -> Printed {
        Printed(self.0.page(str::to_owned, []))
    }

    fn profile(&self) -> Profile {
        Profile::new(self.0.profile(), Vec::new())
    }

    /// The size and its interval.
    fn found(&self) -> Option<(f64, [f64; 2])> {
        match self.0.break_even()? {
            BreakEven::From { size, interval } => Some((size, interval)),
            _ => None,
        }
    }

    /// Infinity if the GPU never pays.
    fn constant(&self) -> Option<f64> {
        self.0.break_even()?.constant()
    }
}
