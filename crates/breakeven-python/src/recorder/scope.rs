//! `be.profile(…)`: a recorded block or function.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use breakeven_profile::recorder::{self, Guard, Site};
use pyo3::exceptions::{PyRuntimeError, PyRuntimeWarning, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::coroutine::Coroutine;
use super::fields::{Fields, count, kept, value_of};
use super::open;
use crate::errors::InvalidError;

/// The return value of `be.profile`: a context manager and a decorator.
#[pyclass(frozen, module = "breakeven", freelist = 64)]
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// `None` if only a decorated function can name it.
    site: Option<&'static Site>,
    fields: Fields,
    /// What identifies the operation besides its name, if anything.
    device: Option<String>,
    size: Option<u64>,
    /// Waits for a device: called before the clock is read.
    sync: Option<Py<PyAny>>,
    /// Created while recording was off: its arguments.
    asked: Option<(Py<PyString>, Option<Py<PyDict>>)>,
    /// The thread on which its latest call began ([`open::push`]); 0 for none.
    pub(super) began_on: AtomicUsize,
    /// The threads of calls that ended on another one, and whether there was any.
    pub(super) moved: Mutex<Vec<usize>>,
    pub(super) has_moved: AtomicBool,
}

/// Records the time of a block, or of a function's calls.
///
/// `with profile("decode", bytes=n):` records the block, even if it raises. `@profile` records each
/// call of a function, a coroutine or a generator under its qualified name, `@profile("name",
/// device="cuda:0")` under the given name.
///
/// `bytes`, `items` and `flops` are what a call processes; the profile has the mean. Name, `device`
/// (cpu by default) and `size` (elements) together identify an operation. Any other argument is an
/// attribute: a bool, a number or a text; the last value counts. Names are never freed, at most 65
/// 536 of them.
///
/// A block measures the host's time, whatever `device` is. `sync` is a function that waits for the
/// device, such as `torch.cuda.synchronize`: it is called at the beginning and the end of a block
/// or a function.
///
/// Raises TypeError for an attribute of another type, and InvalidError for a negative count.
// The arguments are parsed by hand: in an extension for every CPython from 3.9 on, the code
// generated from a signature encodes the names of keywords at every call.
#[pyfunction]
#[pyo3(signature = (*args, **keywords))]
#[pyo3(
    text_signature = "(what=None, /, *, bytes=None, items=None, flops=None, device=None, size=None, sync=None, **attributes)"
)]
pub(crate) fn profile<'py>(
    args: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = args.py();
    let what = match args.len() {
        0 => None,
        1 => Some(args.get_item(0)?),
        given => {
            return Err(PyTypeError::new_err(format!(
                "profile() takes one name or function, and {given} were given; give the fields \
                 of the call by name, as in bytes=n"
            )));
        }
    };
    if let Some(name) = what.as_ref().and_then(|what| what.cast::<PyString>().ok()) {
        let scope = match recorder::is_on() {
            true => Scope::made(name, keywords)?,
            false if keywords.is_none() => return Ok(Scope::shared(name)?.into_any()),
            // Its arguments are checked when they are needed.
            false => Scope {
                asked: Some((name.clone().unbind(), keywords.cloned().map(Bound::unbind))),
                ..Scope::default()
            },
        };
        return Ok(Bound::new(py, scope)?.into_any());
    }
    let mut scope = Scope::default();
    if let Some(keywords) = keywords {
        scope.set(keywords)?;
    }
    let Some(what) = what.filter(|what| !what.is_none()) else {
        return Ok(Bound::new(py, scope)?.into_any());
    };
    Scope::__call__(&Bound::new(py, scope)?, &what)
}

/// Names with a cached site.
const MAX_SITES: usize = 1 << 16;

/// The thread number of a block that began while recording was off.
const OFF: usize = 1;

impl Scope {
    fn made(name: &Bound<'_, PyString>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut scope = Self::default();
        if let Some(keywords) = keywords {
            scope.set(keywords)?;
        }
        scope.site = Some(scope.site_of(name)?);
        Ok(scope)
    }

    /// The scope, or its checked form if it was created while recording was off.
    fn real<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        match &slf.get().asked {
            Some((name, keywords)) => {
                let keywords = keywords.as_ref().map(|keywords| keywords.bind(py));
                Bound::new(py, Self::made(name.bind(py), keywords)?)
            }
            None => Ok(slf.clone()),
        }
    }

    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        match &self.sync {
            Some(sync) => sync.call0(py).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Sets the fields of the call.
    fn set<'py>(&mut self, keywords: &Bound<'py, PyDict>) -> PyResult<()> {
        let py = keywords.py();
        let mut left = keywords.len();
        let mut take = |name: &Bound<'py, PyString>| -> PyResult<Option<Bound<'py, PyAny>>> {
            if left == 0 {
                return Ok(None);
            }
            let value = keywords.get_item(name)?;
            left -= usize::from(value.is_some());
            Ok(value.filter(|value| !value.is_none()))
        };
        let mut count = |name| take(name)?.map(|value| count(name, &value)).transpose();
        self.fields.bytes = count(intern!(py, "bytes"))?;
        self.fields.items = count(intern!(py, "items"))?;
        self.fields.flops = count(intern!(py, "flops"))?;
        self.size = count(intern!(py, "size"))?;
        if let Some(device) = take(intern!(py, "device"))? {
            let refused = |_| InvalidError::new_err(format!("device: {device:?}; give a text"));
            self.device = Some(device.extract().map_err(refused)?);
        }
        self.sync = take(intern!(py, "sync"))?.map(Bound::unbind);
        if let Some(sync) = &self.sync
            && !sync.bind(py).is_callable()
        {
            return Err(PyTypeError::new_err(
                "sync takes a function that waits for the device, such as torch.cuda.synchronize",
            ));
        }
        if left > 0 {
            self.fields.set_attributes(keywords)?;
        }
        Ok(())
    }

    fn site_named(&self, name: &str) -> &'static Site {
        Site::named(name, self.device.as_deref(), self.size)
    }

    /// The operation of that name.
    fn site_of(&self, name: &Bound<'_, PyString>) -> PyResult<&'static Site> {
        match self.device.is_none() && self.size.is_none() {
            true => Self::shared(name)?.get().site(),
            false => Ok(self.site_named(&name.to_cow()?)),
        }
    }

    /// The block of that name without any fields, found by the text itself, whose hash Python
    /// caches.
    fn shared<'py>(name: &Bound<'py, PyString>) -> PyResult<Bound<'py, Self>> {
        static KNOWN: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
        let py = name.py();
        let known = KNOWN.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
        if let Some(scope) = known.get_item(name)? {
            return Ok(scope.cast_into()?);
        }
        let site = Some(Site::named(&name.to_cow()?, None, None));
        let scope = Bound::new(
            py,
            Self {
                site,
                ..Self::default()
            },
        )?;
        if known.len() < MAX_SITES {
            known.set_item(name, &scope)?;
        }
        Ok(scope)
    }

    fn site(&self) -> PyResult<&'static Site> {
        self.site.ok_or_else(|| {
            PyTypeError::new_err("the block has no name: breakeven.profile(\"name\", …)")
        })
    }

    /// Ends a call that did not begin on this thread.
    #[cold]
    fn exit_elsewhere(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, scope) = (slf.py(), slf.get());
        let began_on = scope.began_on.load(Ordering::Relaxed);
        if began_on == 0 {
            return Err(PyRuntimeError::new_err(
                "the block ends and has not begun: use it in a `with` statement",
            ));
        }
        open::ELSEWHERE.fetch_add(1, Ordering::Relaxed);
        if began_on == open::thread() {
            // Another call that moved was taken for this one, which can happen if threads share a
            // scope.
            return Ok(());
        }
        open::note_moved(scope, began_on);
        PyErr::warn(
            py,
            &py.get_type::<PyRuntimeWarning>(),
            c"a breakeven.profile block ended on another thread than it began on and is not \
              recorded: if a generator or a coroutine moves between threads, decorate its \
              function with @breakeven.profile",
            2,
        )
    }

    fn set_field(scope: &Bound<'_, Self>, set: impl FnOnce(&Guard)) -> PyResult<()> {
        match open::set_field(scope, set) {
            true => Ok(()),
            false if scope.get().began_on.load(Ordering::Relaxed) == OFF => Ok(()),
            false => Err(PyRuntimeError::new_err(
                "the block is not open on this thread: set its fields before it ends",
            )),
        }
    }
}

#[pymethods]
impl Scope {
    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        if !recorder::is_on() && (slf.get().site.is_some() || slf.get().asked.is_some()) {
            slf.get().began_on.store(OFF, Ordering::Relaxed);
            return Ok(slf.clone());
        }
        let real = Self::real(slf)?;
        let scope = real.get();
        let site = scope.site()?;
        scope.synchronize(slf.py())?;
        open::push(slf, || scope.fields.enter(site));
        Ok(slf.clone())
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(slf: &Bound<'_, Self>, _raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        let began_on = slf.get().began_on.load(Ordering::Relaxed);
        let waited = match began_on {
            OFF => Ok(()),
            _ => Self::real(slf)?.get().synchronize(slf.py()),
        };
        match open::pop(slf) {
            true => waited,
            false if began_on == OFF => Ok(()),
            false => Self::exit_elsewhere(slf),
        }
    }

    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let module = py.import(intern!(py, "breakeven._record"))?;
        module.call_method1(intern!(py, "decorate"), (slf, function))
    }

    /// The scope of a decorated function: itself if it has a name, else one of that name.
    fn named<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, Self>> {
        let real = Self::real(slf)?;
        let scope = real.get();
        if scope.site.is_some() {
            return Ok(real);
        }
        let named = Self {
            site: Some(scope.site_named(name)),
            fields: scope.fields.clone(),
            sync: scope.sync.as_ref().map(|sync| sync.clone_ref(slf.py())),
            ..Self::default()
        };
        Bound::new(slf.py(), named)
    }

    /// A coroutine or generator whose steps are recorded.
    fn parts(&self, inner: Py<PyAny>) -> PyResult<Coroutine> {
        Ok(Coroutine::new(inner, self.fields.enter_parts(self.site()?)))
    }

    /// Sets how many bytes the call reads and writes.
    fn bytes(slf: &Bound<'_, Self>, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = count("bytes", bytes)?;
        Self::set_field(slf, |guard| guard.bytes(bytes))
    }

    /// Sets how many items (images, records) the call processes.
    fn items(slf: &Bound<'_, Self>, items: &Bound<'_, PyAny>) -> PyResult<()> {
        let items = count("items", items)?;
        Self::set_field(slf, |guard| guard.items(items))
    }

    /// Sets how many floating-point operations the call does.
    fn flops(slf: &Bound<'_, Self>, flops: &Bound<'_, PyAny>) -> PyResult<()> {
        let flops = count("flops", flops)?;
        Self::set_field(slf, |guard| guard.flops(flops))
    }

    /// Sets the peak memory of the call, bytes.
    fn memory_bytes(slf: &Bound<'_, Self>, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = count("memory_bytes", bytes)?;
        Self::set_field(slf, |guard| guard.memory_bytes(bytes))
    }

    /// Sets the fraction of the GPU's units that the call keeps busy, 0 to 1.
    fn gpu_use(slf: &Bound<'_, Self>, fraction: f64) -> PyResult<()> {
        Self::set_field(slf, |guard| guard.gpu_use(fraction))
    }

    /// Sets an attribute: a bool, a number or a text.
    fn attribute(slf: &Bound<'_, Self>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = value_of(name, value)?;
        let Some(name) = kept(name) else {
            return Ok(());
        };
        Self::set_field(slf, |guard| guard.attribute(name, value))
    }
}
