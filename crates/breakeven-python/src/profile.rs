//! A profile, of this recorder or of another tool.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use breakeven_import::{Format, Imported, Options};
use breakeven_judge::page::Page;
use breakeven_judge::{Limits, Overview, overview};
use breakeven_profile::file;
use breakeven_profile::profile::Profile as Data;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::{FileError, ProfileError, file_error};

/// Columns of a text if Python does not know the terminal.
pub(crate) const WIDTH: usize = 80;

/// A profile. Python users see `breakeven.Profile`.
#[pyclass(frozen, module = "breakeven._breakeven")]
pub(crate) struct Profile {
    pub(crate) data: Arc<Data>,
    /// Warnings about the file.
    #[pyo3(get)]
    notes: Vec<String>,
}

impl Profile {
    pub(crate) fn new(data: Data, notes: Vec<String>) -> Self {
        let data = Arc::new(data);
        Self { data, notes }
    }

    fn overview(&self) -> Overview {
        overview(&self.data, &Limits::default())
    }
}

impl From<Imported> for Profile {
    fn from(imported: Imported) -> Self {
        Self::new(imported.profile, imported.notes)
    }
}

fn options(format: Option<&str>, columns: Option<&str>) -> PyResult<Options> {
    let named = |name: &str| {
        Format::named(name).ok_or_else(|| {
            let known: Vec<&str> = Format::all().map(Format::name).collect();
            let known = known.join(", ");
            PyValueError::new_err(format!("format: {name:?} is unknown; there are {known}"))
        })
    };
    let columns = columns.map(|columns| {
        let columns = columns.parse();
        columns.map_err(|error| PyValueError::new_err(format!("columns: {error}")))
    });
    Ok(Options {
        from: format.map(named).transpose()?,
        columns: columns.transpose()?,
        ..Options::default()
    })
}

/// Reads a profile file, or a file of another tool.
#[pyfunction]
#[pyo3(signature = (path, format=None, columns=None))]
pub(crate) fn load(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    columns: Option<&str>,
) -> PyResult<Profile> {
    let options = options(format, columns)?;
    let read = py.detach(|| breakeven_import::read(&path, &options));
    read.map(Profile::from).map_err(file_error)
}

/// Reads the text of such a file; errors call it `origin`.
#[pyfunction]
pub(crate) fn parse(py: Python<'_>, text: String, origin: &str) -> PyResult<Profile> {
    let reader = Cursor::new(text.into_bytes());
    let read = py.detach(|| breakeven_import::read_from(reader, origin, &Options::default()));
    read.map(Profile::from).map_err(file_error)
}

/// Joins the runs of all profiles.
#[pyfunction]
pub(crate) fn join(profiles: Vec<Py<Profile>>) -> PyResult<Profile> {
    let all = profiles.iter().map(|each| (*each.get().data).clone());
    match Data::join(all) {
        Ok(data) => Ok(Profile::new(data, Vec::new())),
        Err(error) => Err(ProfileError::new_err(error.to_string())),
    }
}

#[pymethods]
impl Profile {
    /// The profile as the text of a profile file.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let mut text = Vec::new();
            file::write_to(&self.data, &mut text).map_err(file_error)?;
            Ok(String::from_utf8(text)?)
        })
    }

    /// Writes a profile file, in one step.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| file::write(&self.data, &path))
            .map_err(file_error)
    }

    /// The operations as in a file, each with its figures: a JSON list of pairs.
    fn operations(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let overview = self.overview();
            let operations = self.data.operations.iter().zip(&overview.rows);
            json(&operations.collect::<Vec<_>>())
        })
    }

    fn page(&self) -> Printed {
        let mut page = Page::default();
        self.overview().add_to(&mut page, &self.data);
        Printed(page)
    }

    fn __len__(&self) -> usize {
        self.data.operations.len()
    }
}

/// A printable page: for a terminal, a notebook, a report.
#[pyclass(frozen, module = "breakeven._breakeven")]
pub(crate) struct Printed(pub(crate) Page);

#[pymethods]
impl Printed {
    /// For a terminal with this many columns.
    #[pyo3(signature = (width=WIDTH, colours=false))]
    fn text(&self, width: usize, colours: bool) -> PyResult<String> {
        written(|out| self.0.text(width, colours, out))
    }

    /// For a notebook.
    fn html(&self) -> PyResult<String> {
        written(|out| self.0.html(out))
    }

    /// For a report.
    fn markdown(&self) -> PyResult<String> {
        written(|out| self.0.markdown(out))
    }
}

/// The text that `write` writes.
pub(crate) fn written(
    write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> PyResult<String> {
    let mut text = Vec::new();
    write(&mut text).map_err(|error| FileError::new_err(error.to_string()))?;
    Ok(String::from_utf8(text)?)
}

/// Data for Python to parse.
pub(crate) fn json(data: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(data).map_err(|error| ProfileError::new_err(error.to_string()))
}
