//! The Python package: the library's engine, recorder and judge as `breakeven._breakeven`. The
//! interface for Python users is in `python/breakeven/`.

mod errors;
mod judge;
mod operators;
mod profile;
mod recorder;
mod run;
mod sweep;

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

/// Locks a mutex even if a thread panicked with it: the data is valid at any moment.
fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymodule(gil_used = false)]
mod _breakeven {
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python calls it that")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::judge::{Advice, Comparison, advise, check_threshold, compare};
    #[pymodule_export]
    use crate::operators::{
        PyOperator, ar_forecast, conv2d, dendritic_integration, devices, dot_product,
        fused_conv_entropy_segment, image_segmentation, lstm_cell, matrix_multiply, pixel_entropy,
        tensor_core_matmul, vector_add,
    };
    #[pymodule_export]
    use crate::profile::{Printed, Profile, join, load, parse};
    #[pymodule_export]
    use crate::recorder::{
        Coroutine, Scope, export_json, is_recording, losses, profile, record, reset, snapshot,
        timeline,
    };
    #[pymodule_export]
    use crate::run::{Job, PyExecutionResult, forget, start};
    #[pymodule_export]
    use crate::sweep::{Swept, sweep};
}
