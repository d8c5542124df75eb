//! Waiting for futures without a runtime.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::time::{Duration, Instant};

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What a future gives, for which it has so long at most.
pub(crate) fn block_on<F: Future>(future: F, at_most: Duration) -> Option<F::Output> {
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    let begun = Instant::now();
    while begun.elapsed() < at_most {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        std::thread::park_timeout(at_most);
    }
    None
}
