//! Waiting for a device with an end: a future is polled until it is ready or
//! there is no point in it any more.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use super::faults::{Failure, OnDevice as _};
use crate::error::DeviceError;

/// How often a wait looks whether the device is still there.
pub(super) const LOOK: Duration = Duration::from_millis(50);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls the future until it is ready. `patience` is asked before each sleep for
/// how long it may be at most, and ends the wait with an error.
pub(super) fn until_ready<T, E: Failure>(
    future: impl Future<Output = Result<T, E>>,
    mut patience: impl FnMut() -> Result<Duration, DeviceError>,
) -> Result<T, DeviceError> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
            return outcome.on_device();
        }
        std::thread::park_timeout(patience()?);
    }
}
