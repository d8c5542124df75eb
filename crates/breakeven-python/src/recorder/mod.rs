//! `be.profile` and the recording: the recorder of `breakeven-profile`.
//!
//! A Python block may end on another thread than it began on, while a guard belongs to its thread.
//! So the guards of a thread are on a stack of that thread ([`open`]), and Python has a [`Scope`],
//! which refers to one.

mod coroutine;
mod fields;
mod open;
mod scope;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use breakeven_profile::recorder::{self, ExportError, Losses};
use pyo3::prelude::*;

use crate::errors::{FileError, RecordingError, file_error};
use crate::profile::Profile;

pub(crate) use coroutine::Coroutine;
pub(crate) use scope::{Scope, profile};

/// Switches recording on or off.
#[pyfunction]
pub(crate) fn record(enabled: bool) {
    recorder::get_profiler(enabled);
}

/// True while calls are recorded.
#[pyfunction]
pub(crate) fn is_recording() -> bool {
    recorder::is_on()
}

/// Discards the recording. Calls that are open are not recorded when they end.
#[pyfunction]
pub(crate) fn reset(py: Python<'_>) {
    py.detach(|| profiler().reset());
}

/// Keeps the latest calls of each thread one by one, up to ``capacity`` of them; 0 disables it.
#[pyfunction]
pub(crate) fn timeline(py: Python<'_>, capacity: usize) {
    py.detach(|| profiler().timeline(capacity));
}

/// The recording so far.
#[pyfunction]
pub(crate) fn snapshot(py: Python<'_>) -> Profile {
    Profile::new(py.detach(|| profiler().snapshot()), Vec::new())
}

/// Calls that were lost, and why: more operations than the recorder distinguishes (``overflowed``),
/// blocks that ended before one inside them (``misnested``: they count, but the nesting of their
/// times may be wrong), blocks that ended on another thread than they began on (``elsewhere``), no
/// room in the timeline (``timeline_dropped``).
#[pyfunction]
pub(crate) fn losses(py: Python<'_>) -> BTreeMap<&'static str, u64> {
    let losses: Losses = py.detach(|| profiler().losses());
    BTreeMap::from([
        ("overflowed", losses.overflowed),
        ("misnested", losses.misnested),
        (
            "elsewhere",
            open::ELSEWHERE.load(Ordering::Relaxed) + losses.late,
        ),
        ("timeline_dropped", losses.timeline_dropped),
    ])
}

/// Writes the recording to a profile file, in one step.
///
/// Raises :class:`RecordingError` if nothing was recorded (the file is left unchanged) and
/// :class:`FileError` if it cannot be written.
#[pyfunction]
pub(crate) fn export_json(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    let exported = py.detach(|| profiler().export_json(&path));
    exported.map_err(|error| match error {
        ExportError::Empty => RecordingError::new_err(
            "nothing was recorded: put `with breakeven.profile(\"name\"):` around the code to \
             measure, let it end before the export, and do not call get_profiler(False) \
             before it runs",
        ),
        ExportError::File(error) => file_error(error),
        error => FileError::new_err(error.to_string()),
    })
}

/// The profiler as it is, on or off.
fn profiler() -> recorder::Profiler {
    recorder::get_profiler(recorder::is_on())
}
