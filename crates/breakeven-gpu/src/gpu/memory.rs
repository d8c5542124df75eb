//! A device's memory: what is in use, how often calls find what they need among what was
//! freed before, and a limit.
//!
//! CubeCL keeps freed buffers of each of its streams for reuse. This counts what is asked
//! of it, asks it after each call what it holds, and gives back what it need not hold.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};
use cubecl::stream_id::StreamId;
use serde::Serialize;

use super::faults::OnDevice as _;
use super::{Gpu, caught, never_fits, with_client};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::locked;

/// What is kept of a device's memory.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    in_use: AtomicU64,
    peak: AtomicU64,
    active: AtomicU64,
    allocations: AtomicU64,
    calls: AtomicU64,
    hits: AtomicU64,
    /// 0 for none.
    limit: AtomicU64,
    /// Bytes that each of CubeCL's streams held when last checked.
    reserved: Mutex<BTreeMap<u64, Reserved>>,
}

/// What a stream holds.
#[derive(Debug, Clone, Copy)]
struct Reserved {
    stream: StreamId,
    bytes: u64,
}

/// A buffer's entry, struck out when its last clone is dropped.
#[derive(Debug)]
pub(super) struct Allocation {
    bytes: u64,
    ledger: Arc<Ledger>,
}

impl Ledger {
    pub(super) fn enter(self: &Arc<Self>, bytes: u64) -> Arc<Allocation> {
        self.allocations.fetch_add(1, Ordering::Relaxed);
        self.active.fetch_add(1, Ordering::Relaxed);
        let in_use = bytes + self.in_use.fetch_add(bytes, Ordering::Relaxed);
        self.peak.fetch_max(in_use, Ordering::Relaxed);
        Arc::new(Allocation {
            bytes,
            ledger: Arc::clone(self),
        })
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.ledger.in_use.fetch_sub(self.bytes, Ordering::Relaxed);
        self.ledger.active.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counters of a device's memory: requests, and what is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Bytes of the buffers that there are: tensors on the device, parameters, scratch,
    /// outputs.
    pub bytes_in_use: u64,
    /// Most bytes that were in use at once.
    pub peak_bytes: u64,
    /// Bytes that are held of the device's memory: those in use, their padding, and what is
    /// kept for reuse.
    pub bytes_reserved: u64,
    /// Buffers that there are.
    pub active_allocations: u64,
    /// Buffers requested since the device was opened.
    pub allocations: u64,
    /// Calls of operators that have ended.
    pub calls: u64,
    /// Those of them during which no memory had to be asked of the device: all that they
    /// needed was there for reuse.
    pub hits: u64,
}

impl MemoryStats {
    /// Returns the fraction of the calls that were hits, 0 to 1; none before the first call.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.calls > 0).then(|| self.hits as f64 / self.calls as f64)
    }

    /// What was counted since `earlier`; what is held at a moment stays as it is now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            allocations: self.allocations.saturating_sub(earlier.allocations),
            calls: self.calls.saturating_sub(earlier.calls),
            hits: self.hits.saturating_sub(earlier.hits),
            ..*self
        }
    }
}

/// The memory of an open device: see [`Gpu::memory`].
#[derive(Debug, Clone, Copy)]
pub struct Memory<'g> {
    gpu: &'g Gpu,
}

impl Gpu {
    /// Its memory, as this opening of it uses it.
    pub fn memory(&self) -> Memory<'_> {
        Memory { gpu: self }
    }

    /// Records a call whose stream is the current thread's: what the stream holds now shows whether
    /// memory had to be requested from the device.
    pub(super) fn call_has_ended(&self) {
        *locked(&self.shared.answered) = Some(Instant::now());
        let ledger = self.ledger();
        let before = locked(&ledger.reserved).get(&key()).map(|seen| seen.bytes);
        let now = self.look();
        ledger.calls.fetch_add(1, Ordering::Relaxed);
        if now.is_some_and(|now| before.is_some_and(|before| now <= before)) {
            ledger.hits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records what the current thread's stream holds.
    fn look(&self) -> Option<u64> {
        let usage = caught(|| with_client!(self, client => client.memory_usage()).on_device());
        let bytes = usage.ok()?.bytes_reserved;
        let stream = StreamId::current();
        let seen = Reserved { stream, bytes };
        locked(&self.ledger().reserved).insert(key(), seen);
        Some(bytes)
    }

    /// Fails if that much more would exceed the limit, after the memory kept for reuse was
    /// released.
    pub(super) fn check_limit(&self, more: u64) -> Result<(), DeviceError> {
        let ledger = self.ledger();
        let limit = match ledger.limit.load(Ordering::Relaxed) {
            0 => return Ok(()),
            limit => limit,
        };
        let id = self.id();
        if more > limit {
            return Err(never_fits(format!(
                "{more} bytes in all, {id} is limited to {limit}"
            )));
        }
        let in_use = ledger.in_use.load(Ordering::Relaxed);
        if in_use.saturating_add(more) > limit {
            return Err(DeviceError::new(
                DeviceErrorKind::OutOfMemory,
                format!("{more} bytes more than the {in_use} in use: {id} is limited to {limit}"),
            ));
        }
        let reserved = self.memory().get_stats().bytes_reserved;
        if reserved.saturating_add(more) > limit {
            self.memory().trim();
        }
        Ok(())
    }

    pub(super) fn ledger(&self) -> &Arc<Ledger> {
        &self.shared.ledger
    }
}

/// The number of CubeCL's streams, which threads beyond it share.
fn key() -> u64 {
    let streams = CubeClRuntimeConfig::get().streaming.max_streams;
    StreamId::current().value % u64::from(streams.max(1))
}

impl Memory<'_> {
    /// What was counted so far. What CubeCL holds is as of the last call of each thread and
    /// of each batch in flight.
    pub fn get_stats(&self) -> MemoryStats {
        let ledger = self.gpu.ledger();
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        MemoryStats {
            bytes_in_use: count(&ledger.in_use),
            peak_bytes: count(&ledger.peak),
            bytes_reserved: locked(&ledger.reserved)
                .values()
                .map(|seen| seen.bytes)
                .sum(),
            active_allocations: count(&ledger.active),
            allocations: count(&ledger.allocations),
            calls: count(&ledger.calls),
            hits: count(&ledger.hits),
        }
    }

    /// Limits the memory in use at once, bytes; none for all of the device's. A call that needs
    /// more fails with [`DeviceErrorKind::OutOfMemory`], after which an executor makes smaller
    /// launches, or with [`DeviceErrorKind::NeverFits`] if it alone exceeds the limit. Memory kept
    /// for reuse is released before that.
    pub fn set_limit(&self, bytes: Option<u64>) {
        let limit = bytes.map_or(0, |bytes| bytes.max(1));
        self.gpu.ledger().limit.store(limit, Ordering::Relaxed);
    }

    /// The limit that was set.
    pub fn limit(&self) -> Option<u64> {
        let limit = self.gpu.ledger().limit.load(Ordering::Relaxed);
        (limit > 0).then_some(limit)
    }

    /// Gives memory that is kept for reuse back to the device, as far as CubeCL can; what is
    /// in use stays.
    pub fn trim(&self) {
        let gpu = self.gpu;
        gpu.trim_blocks();
        let mut streams = vec![StreamId::current()];
        streams.extend(
            locked(&gpu.ledger().reserved)
                .values()
                .map(|seen| seen.stream),
        );
        for stream in streams {
            stream.executes(|| {
                let _ = gpu.guarded(|| {
                    with_client!(gpu, client => client.memory_cleanup());
                    Ok(())
                });
                gpu.look();
            });
        }
    }
}
