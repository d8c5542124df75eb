//! What goes wrong on a device, from wherever it surfaces: errors that CubeCL
//! returns, errors that wgpu reports on the side, and panics of either.

use std::any::Any;
use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use cubecl::server::{IoError, LaunchError, ProfileError, ServerError};

use crate::error::{DeviceError, DeviceErrorKind};

/// What a device reported on the side.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The first report that was not delivered yet.
    first: Option<DeviceError>,
    /// Set once the device is gone, which it stays.
    lost: Option<DeviceError>,
    reports: u64,
    /// The last report that was no echo of one before it.
    latest: Option<DeviceError>,
}

/// A moment in a device's reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(u64);

impl State {
    /// Keeps the report unless there is one already: what follows a fault is its echo.
    fn add(&mut self, error: DeviceError) {
        self.reports += 1;
        if self.first.is_none() {
            self.latest = Some(error.clone());
            self.first = Some(error);
        }
    }
}

impl Faults {
    fn report_lost(&self, reason: &str) {
        let mut state = self.state();
        let kind = match kind_of_text(reason) {
            DeviceErrorKind::Other => DeviceErrorKind::DeviceLost,
            kind => kind,
        };
        state.add(DeviceError::new(kind, reason));
        let lost = DeviceError::new(DeviceErrorKind::DeviceLost, reason);
        state.lost.get_or_insert(lost);
    }

    /// Returns the report, each one once; the loss of a device every time.
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        let mut state = self.state();
        let report = state.first.take().or_else(|| state.lost.clone());
        report.map_or(Ok(()), Err)
    }

    /// Returns the report without marking it as delivered: it ends a wait, and the caller of the
    /// failed call still gets it.
    pub(super) fn pending(&self) -> Result<(), DeviceError> {
        let state = self.state();
        let report = state.first.clone().or_else(|| state.lost.clone());
        report.map_or(Ok(()), Err)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.state().reports)
    }

    /// Returns a report since `mark`, to every caller: several batches may be on the device, and
    /// none of their outputs can be trusted.
    pub(super) fn since(&self, mark: Mark) -> Result<(), DeviceError> {
        let mut state = self.state();
        if state.reports <= mark.0 {
            return state.lost.clone().map_or(Ok(()), Err);
        }
        let report = state.first.take().or_else(|| state.latest.clone());
        report.map_or(Ok(()), Err)
    }

    /// Fails once the device is gone.
    pub(super) fn lost(&self) -> Result<(), DeviceError> {
        self.state().lost.clone().map_or(Ok(()), Err)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has wgpu report here instead of panicking.
    pub(super) fn watch(&self, device: &wgpu::Device) {
        let reports = self.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let kind = match &error {
                wgpu::Error::OutOfMemory { .. } => DeviceErrorKind::OutOfMemory,
                wgpu::Error::Validation { .. } => DeviceErrorKind::Launch,
                wgpu::Error::Internal { .. } => DeviceErrorKind::Other,
            };
            // The first line says no more than the kind.
            let text = error.to_string();
            let lines = text.lines().map(str::trim);
            let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
            reports.state().add(DeviceError::new(kind, lines.join(" ")));
        }));
        let reports = self.clone();
        device.set_device_lost_callback(move |reason, message| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                reports.report_lost(&message);
            }
        });
    }
}

/// An error of a GPU library, as what the device could not do.
pub(super) trait Failure {
    fn of_device(self) -> DeviceError;
}

/// What a GPU library returned, as what the device could or could not do.
pub(super) trait OnDevice<T> {
    fn on_device(self) -> Result<T, DeviceError>;
}

impl<T, E: Failure> OnDevice<T> for Result<T, E> {
    fn on_device(self) -> Result<T, DeviceError> {
        self.map_err(Failure::of_device)
    }
}

impl Failure for DeviceError {
    fn of_device(self) -> DeviceError {
        self
    }
}

impl Failure for ServerError {
    fn of_device(self) -> DeviceError {
        match self {
            ServerError::ServerUnhealthy { mut errors, .. } if !errors.is_empty() => {
                errors.swap_remove(0).of_device()
            }
            ServerError::Launch(error) => error.of_device(),
            ServerError::Io(error) => error.of_device(),
            ServerError::Profile(error) => error.of_device(),
            ServerError::Generic { reason, .. } => of_text(&reason),
            other => DeviceError::new(DeviceErrorKind::Other, other.to_string()),
        }
    }
}

impl Failure for LaunchError {
    fn of_device(self) -> DeviceError {
        let (kind, message) = match self {
            LaunchError::CompilationError(error) => (DeviceErrorKind::Compile, error.to_string()),
            LaunchError::OutOfMemory { reason, .. } => (DeviceErrorKind::OutOfMemory, reason),
            LaunchError::TooManyResources(error) => (DeviceErrorKind::Launch, error.to_string()),
            LaunchError::IoError(error) => return error.of_device(),
            LaunchError::Unknown { reason, .. } => (DeviceErrorKind::Launch, reason),
        };
        DeviceError::new(kind, message)
    }
}

impl Failure for IoError {
    fn of_device(self) -> DeviceError {
        match self {
            IoError::BufferTooBig { size, .. } => {
                let message = format!("a buffer of {size} bytes could not be allocated");
                DeviceError::new(DeviceErrorKind::OutOfMemory, message)
            }
            IoError::Unknown { description, .. } => of_text(&description),
            other => DeviceError::new(DeviceErrorKind::Other, other.to_string()),
        }
    }
}

impl Failure for ProfileError {
    fn of_device(self) -> DeviceError {
        match self {
            ProfileError::Launch(error) => error.of_device(),
            ProfileError::Unknown { reason, .. } => of_text(&reason),
            other => DeviceError::new(DeviceErrorKind::Other, other.to_string()),
        }
    }
}

/// An error of which a library hands on the driver's words alone.
pub(super) fn of_text(text: &str) -> DeviceError {
    DeviceError::new(kind_of_text(text), text)
}

/// The kind that a message in plain words speaks of: drivers return codes that
/// their libraries only hand on as text.
pub(super) fn kind_of_text(text: &str) -> DeviceErrorKind {
    let text = text.to_ascii_lowercase();
    let says = |words: &str| words.split(", ").any(|word| text.contains(word));
    if says("out of memory, outofmemory, out_of_memory, not enough memory") {
        DeviceErrorKind::OutOfMemory
    } else if says("device lost, device is lost, devicelost") {
        DeviceErrorKind::DeviceLost
    } else if says("compil") {
        DeviceErrorKind::Compile
    } else {
        DeviceErrorKind::Other
    }
}

/// A panic of the driver's library, in one line.
pub(super) fn from_panic(panic: &(dyn Any + Send)) -> DeviceError {
    let text = panic.downcast_ref().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("panicked without a message");
    let kind = match kind_of_text(text) {
        DeviceErrorKind::Other => DeviceErrorKind::Panic,
        kind => kind,
    };
    DeviceError::new(kind, text)
}

thread_local! {
    static IN_DEVICE_CALL: Cell<bool> = const { Cell::new(false) };
}

/// Runs `calls` with panic messages kept off the terminal, for they become errors.
pub(super) fn quietly<T>(calls: impl FnOnce() -> T) -> T {
    install_hook();
    let before = IN_DEVICE_CALL.replace(true);
    let outcome = calls();
    IN_DEVICE_CALL.set(before);
    outcome
}

/// A panic is silent if it happens inside a device call of ours or on one of
/// CubeCL's device threads (named `DS…`, see `cubecl-common`'s device channel):
/// there it becomes an error that the caller of the device gets. Every other
/// panic goes to the hook that was installed before.
fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let of_device_thread = std::thread::current().name().is_some_and(is_device_thread);
            if !of_device_thread && !IN_DEVICE_CALL.get() {
                before(info);
            }
        }));
    });
}

/// `DSU0-0-0`-like names: stage, then device type and index.
fn is_device_thread(name: &str) -> bool {
    let rest = name
        .strip_prefix("DS")
        .and_then(|rest| rest.strip_prefix(['U', 'D']));
    let is_index = |c: char| c.is_ascii_digit() || c == '-';
    rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_threads_are_known_by_their_names() {
        assert!(["DSD-5-0", "DSU-0-1"].into_iter().all(is_device_thread));
        assert!(!["DSD", "main", "DSDwarf"].into_iter().any(is_device_thread));
    }

    #[test]
    fn a_lost_device_stays_lost_and_the_first_report_counts() {
        let faults = Faults::default();
        assert_eq!(faults.check(), Ok(()));
        faults
            .state()
            .add(DeviceError::new(DeviceErrorKind::Launch, "bad launch"));
        faults
            .state()
            .add(DeviceError::new(DeviceErrorKind::Other, "echo"));
        let report = faults.check().map_err(|error| error.to_string());
        assert_eq!(report, Err("launch error: bad launch".to_owned()));
        assert_eq!(faults.check(), Ok(()));
        faults.report_lost("Not enough memory left.");
        let kind = |report: Result<(), DeviceError>| report.map_err(|error| error.kind);
        assert_eq!(kind(faults.check()), Err(DeviceErrorKind::OutOfMemory));
        assert_eq!(kind(faults.check()), Err(DeviceErrorKind::DeviceLost));
        assert_eq!(kind(faults.check()), Err(DeviceErrorKind::DeviceLost));
    }

    #[test]
    fn a_fault_is_reported_to_every_batch_that_was_on_the_device() {
        let faults = Faults::default();
        let before = faults.mark();
        faults
            .state()
            .add(DeviceError::new(DeviceErrorKind::Launch, "bad launch"));
        faults
            .state()
            .add(DeviceError::new(DeviceErrorKind::Other, "echo"));
        let after = faults.mark();
        for _ in 0..2 {
            let report = faults.since(before).map_err(|error| error.message);
            assert_eq!(report, Err("bad launch".to_owned()));
        }
        assert_eq!(faults.since(after), Ok(()));
        assert_eq!(faults.check(), Ok(()), "it was reported");
        faults.report_lost("pulled out");
        let lost = Err(DeviceErrorKind::DeviceLost);
        assert_eq!(faults.since(after).map_err(|error| error.kind), lost);
        let (mark, lost) = (faults.mark(), faults.lost());
        assert_eq!(faults.since(mark), lost, "gone for good");
        assert!(lost.is_err());
    }

    #[test]
    fn kinds_are_read_from_driver_texts() {
        for (text, kind) in [
            ("CUDA_ERROR_OUT_OF_MEMORY", DeviceErrorKind::OutOfMemory),
            ("Parent device is lost", DeviceErrorKind::DeviceLost),
            ("something", DeviceErrorKind::Other),
        ] {
            assert_eq!(kind_of_text(text), kind);
        }
    }
}
