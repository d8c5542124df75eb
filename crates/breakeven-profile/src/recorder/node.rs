//! The recording of one operation on one call path of one thread.
//!
//! The thread that owns a node writes it with plain moves (relaxed loads and stores); an export may
//! read it at any time. An odd version means that a call is being added, and the reader must try
//! again (a sequence lock: Boehm 2012, "Can seqlocks get along with programming language memory
//! models?").

use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};

use super::field::{Attributes, Value};
use super::lock::lock;
use super::memory::Memory;
use super::reading::Reading;
use super::reservoir::{Draw, Slots};
use super::writer::Writer;
use crate::profile::Executions;

/// The node outside all operations. Nothing is ever recorded in it.
pub(super) static ROOT: Node = Node::new(u32::MAX);

/// One operation on one call path of one thread. Times are in ticks of the clock.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Node {
    version: AtomicU64,
    count: AtomicU64,
    sum: AtomicU64,
    squares_low: AtomicU64,
    squares_high: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    draw: Draw,
    /// Serial number of the outermost open call of this name on this path; 0 for none.
    pub(super) open: AtomicU64,
    /// Time of calls inside a call of the same operation.
    folded: AtomicU64,
    /// Time of the recorded calls inside.
    children: AtomicU64,
    /// Recorded calls inside, at any depth.
    nested: AtomicU64,
    /// Added to `sum` to get the threads' real time: a future is polled for less than its duration.
    apart: AtomicU64,
    cancelled: AtomicU64,
    pub(super) memory: Memory,
    bytes: Measure,
    items: Measure,
    flops: Measure,
    /// Sum of f64 bits.
    gpu_use: Measure,
    samples: Slots,
    polled: Slots,
    attributes: Mutex<Attributes>,
    /// Of a batch that an executor ran, the last execution.
    executions: Mutex<Option<Box<Executions>>>,
    within_execution: AtomicBool,
    /// Its index in the tree of its thread.
    pub(super) id: u32,
}

/// A figure that calls may set: the sum of its values, and their number.
#[derive(Debug)]
struct Measure {
    sum: AtomicU64,
    /// Carry of the sum beyond 64 bits: flops exceed them within hours.
    carried: AtomicU64,
    calls: AtomicU64,
}

/// A figure of each call, and where it is in a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    Bytes,
    Items,
    Flops,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Call {
    /// Time from its beginning to its end.
    pub(super) ticks: u64,
    /// Time of the recorded calls inside it.
    pub(super) children: u64,
    /// Recorded calls inside, at any depth.
    pub(super) nested: u64,
    /// Inside a call of the same operation.
    pub(super) folded: bool,
}

/// Adds to a word that only this thread writes; returns the value before.
#[inline]
fn add(word: &AtomicU64, more: u64) -> u64 {
    let before = word.load(Relaxed);
    word.store(before.wrapping_add(more), Relaxed);
    before
}

impl Measure {
    const fn new() -> Self {
        Self {
            sum: AtomicU64::new(0),
            carried: AtomicU64::new(0),
            calls: AtomicU64::new(0),
        }
    }

    fn read(&self) -> (u128, u64) {
        let carried = u128::from(self.carried.load(Relaxed)) << 64;
        let sum = carried | u128::from(self.sum.load(Relaxed));
        (sum, self.calls.load(Relaxed))
    }
}

impl Node {
    pub(super) const fn new(id: u32) -> Self {
        const fn zero() -> AtomicU64 {
            AtomicU64::new(0)
        }
        Self {
            version: zero(),
            count: zero(),
            sum: zero(),
            squares_low: zero(),
            squares_high: zero(),
            min: AtomicU64::new(u64::MAX),
            max: zero(),
            draw: Draw::new(),
            open: zero(),
            folded: zero(),
            children: zero(),
            nested: zero(),
            apart: zero(),
            cancelled: zero(),
            memory: Memory::new(),
            bytes: Measure::new(),
            items: Measure::new(),
            flops: Measure::new(),
            gpu_use: Measure::new(),
            samples: Slots::new(),
            polled: Slots::new(),
            attributes: Mutex::new(Attributes::new()),
            executions: Mutex::new(None),
            within_execution: AtomicBool::new(false),
            id,
        }
    }

    /// Makes readers wait for [`changed`](Self::changed).
    #[inline(always)]
    fn changing(&self) -> u64 {
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        version
    }

    #[inline(always)]
    fn changed(&self, version: u64) {
        self.version.store(version.wrapping_add(2), Release);
    }

    /// Changes several words atomically for readers.
    #[inline(always)]
    fn change(&self, change: impl FnOnce()) {
        let version = self.changing();
        change();
        self.changed(version);
    }

    #[inline(always)]
    pub(super) fn record(&self, call: Call, writer: &Writer) {
        let version = self.changing();
        self.add_parts(call);
        let index = self.add_sample(call.ticks);
        if self.draw.keeps(index) {
            self.keep(index, call.ticks, None, writer, version);
        } else {
            self.changed(version);
        }
    }

    /// Adds a slice of a call: a future's, each time it is polled.
    pub(super) fn record_part(&self, call: Call) {
        self.change(|| {
            self.add_parts(call);
            add(&self.apart, call.ticks);
        });
    }

    /// Adds a call whose slices were added already.
    pub(super) fn record_whole(&self, ticks: u64, polled: u64, cancelled: bool, writer: &Writer) {
        let version = self.changing();
        add(&self.apart, ticks.wrapping_neg());
        add(&self.cancelled, u64::from(cancelled));
        let index = self.add_sample(ticks);
        if self.draw.keeps(index) {
            self.keep(index, ticks, Some(polled), writer, version);
        } else {
            self.changed(version);
        }
    }

    #[inline(always)]
    fn add_parts(&self, call: Call) {
        if call.nested != 0 {
            add(&self.nested, call.nested);
            add(&self.children, call.children);
        }
        if call.folded {
            add(&self.folded, call.ticks);
        }
    }

    #[inline(always)]
    fn add_sample(&self, ticks: u64) -> u64 {
        let index = add(&self.count, 1);
        add(&self.sum, ticks);
        let square = u128::from(ticks) * u128::from(ticks);
        let low = self.squares_low.load(Relaxed);
        let (low, carry) = low.overflowing_add(square as u64);
        self.squares_low.store(low, Relaxed);
        let high = (square >> 64) as u64 + u64::from(carry);
        if high != 0 {
            add(&self.squares_high, high);
        }
        if ticks < self.min.load(Relaxed) {
            self.min.store(ticks, Relaxed);
        }
        if ticks > self.max.load(Relaxed) {
            self.max.store(ticks, Relaxed);
        }
        index
    }

    /// Keeps a sample, which ends the change. A separate function, so that the usual call has
    /// nothing to do after it.
    #[cold]
    #[inline(never)]
    fn keep(&self, index: u64, ticks: u64, polled: Option<u64>, writer: &Writer, version: u64) {
        let slot = self.draw.slot(index, &writer.random);
        // A reader of the slot's new value also sees that `draw` has moved.
        fence(Release);
        self.samples.set(slot, ticks, writer);
        match polled {
            Some(polled) => self.polled.set(slot, polled, writer),
            None => self.polled.unset(slot),
        }
        self.changed(version);
    }

    /// Adds the call's fields.
    #[inline]
    pub(super) fn tell(&self, figure: Figure, value: u64) {
        let measure = match figure {
            Figure::Bytes => &self.bytes,
            Figure::Items => &self.items,
            Figure::Flops => &self.flops,
        };
        self.change(|| {
            if add(&measure.sum, value).checked_add(value).is_none() {
                add(&measure.carried, 1);
            }
            add(&measure.calls, 1);
        });
    }

    /// Adds the fraction of the GPU that a call kept busy, 0 to 1.
    pub(super) fn tell_gpu_use(&self, part: f64) {
        self.change(|| {
            let sum = f64::from_bits(self.gpu_use.sum.load(Relaxed)) + part;
            self.gpu_use.sum.store(sum.to_bits(), Relaxed);
            add(&self.gpu_use.calls, 1);
        });
    }

    /// Sets an attribute; the last value counts.
    pub(super) fn tell_attribute(&self, name: &'static str, value: Value<'_>) {
        lock(&self.attributes).set(name, value);
    }

    /// Records an execution; the last one stays.
    pub(super) fn set_executions(&self, executions: Executions) {
        *lock(&self.executions) = Some(Box::new(executions));
    }

    /// Records that its calls are parts of an execution.
    pub(super) fn set_within_execution(&self) {
        self.within_execution.store(true, Relaxed);
    }

    /// Resets the node; only its owner may call this.
    pub(super) fn clear(&self) {
        self.change(|| {
            let words = [
                &self.count,
                &self.sum,
                &self.squares_low,
                &self.squares_high,
                &self.max,
                &self.open,
                &self.folded,
                &self.children,
                &self.nested,
                &self.apart,
                &self.cancelled,
            ];
            let measures = [&self.bytes, &self.items, &self.flops, &self.gpu_use];
            let measures = measures
                .iter()
                .flat_map(|each| [&each.sum, &each.carried, &each.calls]);
            for word in words.into_iter().chain(measures) {
                word.store(0, Relaxed);
            }
            self.min.store(u64::MAX, Relaxed);
            self.memory.clear();
            self.draw.clear();
            self.samples.clear();
            self.polled.clear();
        });
        *lock(&self.attributes) = Attributes::new();
        *lock(&self.executions) = None;
        self.within_execution.store(false, Relaxed);
    }

    /// Reads the node at one consistent moment.
    pub(super) fn read(&self) -> Reading {
        loop {
            let next = self.draw.next();
            let mut reading = self.read_figures();
            let samples = self.samples.first(reading.count);
            let polled = self.polled.first(reading.count);
            reading.kept = samples
                .zip(polled)
                .filter_map(|(ticks, polled)| Some((ticks?, polled.or(ticks)?)))
                .collect();
            // While a reservoir fills, its slots do not change again; after that, `draw` moves
            // before a slot does.
            fence(Acquire);
            if self.draw.next() == next {
                reading.attributes = lock(&self.attributes).clone();
                reading.executions.clone_from(&lock(&self.executions));
                reading.within_execution = self.within_execution.load(Relaxed);
                return reading;
            }
        }
    }

    fn read_figures(&self) -> Reading {
        let mut tries = 0_u32;
        loop {
            let before = self.version.load(Acquire);
            let of = |word: &AtomicU64| word.load(Relaxed);
            let reading = Reading {
                count: of(&self.count),
                sum: of(&self.sum),
                squares: u128::from(of(&self.squares_high)) << 64
                    | u128::from(of(&self.squares_low)),
                min: of(&self.min),
                max: of(&self.max),
                children: of(&self.children),
                folded: of(&self.folded),
                nested: of(&self.nested),
                apart: of(&self.apart),
                cancelled: of(&self.cancelled),
                memory: self.memory.most(),
                bytes: self.bytes.read(),
                items: self.items.read(),
                flops: self.flops.read(),
                gpu_use: (
                    f64::from_bits(of(&self.gpu_use.sum)),
                    of(&self.gpu_use.calls),
                ),
                kept: Vec::new(),
                attributes: Attributes::new(),
                executions: None,
                within_execution: false,
            };
            fence(Acquire);
            if before.is_multiple_of(2) && self.version.load(Relaxed) == before {
                return reading;
            }
            tries += 1;
            if tries.is_multiple_of(64) {
                // The writer may have been preempted in the middle.
                std::thread::yield_now();
            }
        }
    }
}
