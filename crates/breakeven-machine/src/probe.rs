//! Touching a driver library with care: is it there, is it the real one, does
//! it answer, and does it do so in time.

use std::any::Any;
use std::error::Error as _;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use libloading::Library;
use thiserror::Error;

/// Why no shared library of some names could be used.
#[derive(Debug, Error)]
pub(crate) enum LoadError {
    #[error("no library named {} was found", .0.join(" or "))]
    NotFound(Vec<String>),
    #[error("{name} could not be loaded: {cause}")]
    Broken { name: String, cause: String },
    #[error("{name} has no symbol {symbol}: it is another library, or too old or new a version")]
    NoSymbol { name: String, symbol: &'static str },
}

/// Loads the first library of `names` that loads, and requires `symbols` of it, which
/// are parted by blanks.
pub(crate) fn load(
    names: impl IntoIterator<Item = String>,
    symbols: &'static str,
) -> Result<(String, Library), LoadError> {
    let mut missing = Vec::new();
    let mut broken = None;
    for name in names {
        // SAFETY: loading runs the library's initialisers. The names are those of
        // system driver libraries, whose initialisers are safe to run at any time
        // on any thread; a library that an attacker put on the loader's path in
        // their place would be loaded by any user of the driver just the same.
        let error = match unsafe { Library::new(&name) } {
            Ok(library) => return checked(name, library, symbols),
            Err(error) => error,
        };
        // The loader's own words are one level down.
        let cause = error.source().map(ToString::to_string);
        let cause = cause.unwrap_or_else(|| error.to_string());
        if is_missing(&name, &cause) {
            missing.push(name);
        } else {
            broken.get_or_insert((name, cause));
        }
    }
    Err(match broken {
        Some((name, cause)) => LoadError::Broken { name, cause },
        None => LoadError::NotFound(missing),
    })
}

/// Whether the loader means that there is no such library, and not that one that
/// it depends on is missing (glibc and musl name the file that they missed).
fn is_missing(name: &str, cause: &str) -> bool {
    cause.contains("No such file") && cause.contains(name)
        || cfg!(windows) && cause.contains("could not be found")
}

fn checked(
    name: String,
    library: Library,
    symbols: &'static str,
) -> Result<(String, Library), LoadError> {
    let lacks = |symbol: &&str| {
        // SAFETY: the address is only looked up, never called or read through,
        // so that the type given for it does not matter.
        unsafe { library.get::<*const ()>(symbol.as_bytes()) }.is_err()
    };
    match symbols.split_whitespace().find(lacks) {
        Some(symbol) => Err(LoadError::NoSymbol { name, symbol }),
        None => Ok((name, library)),
    }
}

#[derive(Debug, Error)]
pub(crate) enum ProbeError {
    #[error("its driver code panicked: {0}")]
    Panicked(String),
    #[error("its driver did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("no thread could be started to ask its driver: {0}")]
    NoThread(#[from] io::Error),
}

/// A probe under way on a thread of its own.
pub(crate) struct Probe<T> {
    answer: mpsc::Receiver<thread::Result<T>>,
    started: Instant,
}

impl<T: Send + 'static> Probe<T> {
    /// Starts asking. A panic in `ask` is caught; that its message reaches the
    /// process's panic hook is not prevented, since the hook is the program's.
    pub(crate) fn start(ask: impl FnOnce() -> T + Send + 'static) -> Result<Self, ProbeError> {
        let (send, answer) = mpsc::channel();
        thread::Builder::new()
            .name("breakeven-probe".to_owned())
            .spawn(move || {
                // `ask` owns what it uses, so no broken state is visible after a panic.
                let answer = catch_unwind(AssertUnwindSafe(ask));
                // The receiver is gone when the probe was given up.
                let _ = send.send(answer);
            })?;
        Ok(Probe {
            answer,
            started: Instant::now(),
        })
    }

    /// The answer, if it comes within `limit` of the start. A probe that is
    /// given up keeps its thread until the driver returns.
    pub(crate) fn wait(self, limit: Duration) -> Result<T, ProbeError> {
        let left = limit.saturating_sub(self.started.elapsed());
        match self.answer.recv_timeout(left) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(panic)) => Err(ProbeError::Panicked(message(panic.as_ref()))),
            Err(RecvTimeoutError::Timeout) => Err(ProbeError::TimedOut(limit)),
            // The thread sends before it ends, unless it was killed.
            Err(RecvTimeoutError::Disconnected) => {
                Err(ProbeError::Panicked("the thread ended early".to_owned()))
            }
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref().map(String::as_str));
    // Multi-line panics (a C++ compiler's log) would break one-line reports.
    let line = text.and_then(|text| text.lines().next());
    line.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use std::panic::resume_unwind;

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn an_answer_comes_back() {
        let probe = Probe::start(|| 7).expect("a thread");
        assert_eq!(probe.wait(SOON).expect("an answer"), 7);
    }

    #[test]
    fn a_panic_is_an_error_with_its_first_line() {
        // `resume_unwind` is a panic that the hook does not print.
        let probe = Probe::<()>::start(|| resume_unwind(Box::new("a\nb"))).expect("a thread");
        let error = probe.wait(SOON).expect_err("it panicked");
        assert_eq!(error.to_string(), "its driver code panicked: a");
    }

    #[test]
    fn a_driver_that_hangs_is_given_up() {
        let (hold, held) = mpsc::channel::<()>();
        let probe = Probe::start(move || held.recv().is_ok()).expect("a thread");
        let error = probe.wait(Duration::from_millis(1)).expect_err("it hangs");
        assert!(matches!(error, ProbeError::TimedOut(_)));
        drop(hold);
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let error = load(["libno-such-thing.so.1".to_owned()], "").expect_err("not there");
        let said = "no library named libno-such-thing.so.1 was found";
        assert_eq!(error.to_string(), said);
    }

    #[test]
    fn a_missing_dependency_is_not_a_missing_library() {
        let missed = |file: &str| {
            format!("{file}: cannot open shared object file: No such file or directory")
        };
        assert!(is_missing("libcuda.so", &missed("libcuda.so")));
        assert!(!is_missing("libcuda.so", &missed("libdepends.so.2")));
        assert!(!is_missing("libcuda.so", "libcuda.so: file too short"));
    }
}
