//! Waiting for a device with an end: a future is polled until it is ready or
//! the time is over.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::Gpu;
use crate::error::{DeviceError, DeviceErrorKind};

/// How often a wait looks whether the device is still there.
const LOOK: Duration = Duration::from_millis(50);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Gpu {
    pub(super) fn wait<T, E>(
        &self,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T, DeviceError>
    where
        DeviceError: From<E>,
    {
        let deadline = Instant::now() + self.timeout;
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
                return outcome.map_err(DeviceError::from);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(DeviceError::new(
                    DeviceErrorKind::Timeout,
                    format!("{} did not answer within {:?}", self.id, self.timeout),
                ));
            }
            std::thread::park_timeout(left.min(LOOK));
            // A lost device wakes nobody.
            self.faults.check()?;
        }
    }
}
