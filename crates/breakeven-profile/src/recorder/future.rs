//! A recorded future: the form that `#[profile]` gives an async function.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::call::Open;
use super::clock;
use super::field::{Count, Value};
use super::local;
use super::node::Figure;
use super::parts::Parts;
use super::site::Site;

/// An async call with its initial fields; the attribute creates it, programs need not. The methods
/// are those of [`Guard`](super::Guard).
#[derive(Debug)]
#[must_use]
pub struct AsyncCall {
    parts: Parts,
}

impl AsyncCall {
    /// A call of the operation `site`.
    pub fn enter(site: &'static Site) -> Self {
        Self::of(Some(site))
    }

    /// A call of the operation `site`, on that device and of that size.
    pub fn enter_on(site: &'static Site, device: Option<&str>, size: Option<u64>) -> Self {
        Self::of(local::site_on(site, device, size))
    }

    /// A call that is not recorded.
    pub fn off() -> Self {
        Self::of(None)
    }

    fn of(site: Option<&'static Site>) -> Self {
        Self {
            parts: Parts::new(site),
        }
    }

    /// As [`Guard::bytes`](super::Guard::bytes).
    pub fn bytes(&mut self, bytes: impl Count) {
        self.parts.tell(Figure::Bytes, bytes);
    }

    /// As [`Guard::items`](super::Guard::items).
    pub fn items(&mut self, items: impl Count) {
        self.parts.tell(Figure::Items, items);
    }

    /// As [`Guard::flops`](super::Guard::flops).
    pub fn flops(&mut self, flops: impl Count) {
        self.parts.tell(Figure::Flops, flops);
    }

    /// As [`Guard::memory_bytes`](super::Guard::memory_bytes).
    pub fn memory_bytes(&mut self, bytes: impl Count) {
        self.parts.tell_memory(bytes);
    }

    /// As [`Guard::gpu_use`](super::Guard::gpu_use).
    pub fn gpu_use(&mut self, part: f64) {
        self.parts.tell_gpu_use(part);
    }

    /// As [`Guard::attribute`](super::Guard::attribute).
    pub fn attribute<'a>(&mut self, name: &'static str, value: impl Into<Value<'a>>) {
        self.parts.tell_attribute(name, value.into());
    }

    /// Runs one slice of a call that is no Rust future, such as a coroutine of another language
    /// until it waits. Slices may run on different threads.
    pub fn part<R>(&mut self, part: impl FnOnce() -> R) -> R {
        let Some(open) = self.parts.begin() else {
            return part();
        };
        let parts = &mut self.parts;
        let _running = Part { open, parts };
        part()
    }

    /// Ends a call of such slices. Without it the call counts as cancelled.
    pub fn finish(mut self) {
        self.parts.finish(None, false);
    }

    /// The future, recorded each time it is polled.
    pub fn record<F: Future>(self, future: F) -> Recorded<F> {
        Recorded { future, call: self }
    }
}

pin_project! {
    /// A future that records its call; see [`AsyncCall`].
    #[derive(Debug)]
    #[must_use = "a future does nothing unless it is polled"]
    pub struct Recorded<F> {
        // Dropped first, so that dropping it is part of the call's time.
        #[pin]
        future: F,
        call: AsyncCall,
    }
}

impl Drop for AsyncCall {
    /// A call that began and did not end was cancelled.
    fn drop(&mut self) {
        if self.parts.is_recorded() {
            self.parts.finish(Some(clock().now()), true);
        }
    }
}

/// A slice that ends when it is dropped, also after a panic.
struct Part<'a> {
    open: Open,
    parts: &'a mut Parts,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        self.parts.end(&self.open);
    }
}

impl<F: Future> Future for Recorded<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let parts = &mut this.call.parts;
        let Some(open) = parts.begin() else {
            return this.future.poll(context);
        };
        let part = Part { open, parts };
        let polled = this.future.poll(context);
        drop(part);
        if polled.is_ready() {
            this.call.parts.finish(None, false);
        }
        polled
    }
}
