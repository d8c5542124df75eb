//! The recording of one operation on one call path of one thread.
//!
//! The thread that owns a node writes it with plain moves (relaxed loads and stores); an export may
//! read it at any time. An odd version means that a call is being added, and the reader must try
//! again (a sequence lock: Boehm 2012, "Can seqlocks get along with programming language memory
//! models?").

use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};

use super::field::{Attributes, Field};
use super::lock;
use super::memory::Memory;
use super::reservoir::{Draw, Slots, Writer};
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
    /// By [`Figure`].
    figures: [Measure; 4],
    samples: Slots,
    polled: Slots,
    attributes: Mutex<Attributes>,
    /// Of a batch that an executor ran, the last execution.
    executions: Mutex<Option<Box<Executions>>>,
    within_execution: AtomicBool,
    /// Its index in the tree of its thread.
    pub(super) id: u32,
}

/// The recording of one operation on one call path, as an export sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reading {
    pub(super) count: u64,
    pub(super) sum: u64,
    pub(super) squares: u128,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) children: u64,
    pub(super) folded: u64,
    pub(super) nested: u64,
    pub(super) apart: u64,
    pub(super) cancelled: u64,
    pub(super) memory: u64,
    /// Sum of the values and number of calls that set one, by [`Figure`].
    pub(super) figures: [(u128, u64); 4],
    /// Kept calls: the total time, and the polled time in it.
    pub(super) kept: Vec<(u64, u64)>,
    pub(super) attributes: Attributes,
    pub(super) executions: Option<Box<Executions>>,
    pub(super) within_execution: bool,
}

impl Reading {
    /// Time that threads spent in calls of this node.
    pub(super) fn busy(&self) -> u64 {
        self.sum.wrapping_add(self.apart)
    }
}

/// A figure that calls may set: the sum of its values, and their number.
#[derive(Debug)]
struct Measure {
    sum: AtomicU64,
    /// Carry of the sum beyond 64 bits: flops exceed them within hours.
    carried: AtomicU64,
    calls: AtomicU64,
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
            figures: [const { Measure::new() }; 4],
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

    /// Adds a field of a call; the last value of an attribute counts.
    #[inline]
    pub(super) fn set_field(&self, field: Field<'_>) {
        match field {
            Field::Figure(figure, value) => {
                let measure = &self.figures[figure as usize];
                self.change(|| {
                    if add(&measure.sum, value).checked_add(value).is_none() {
                        add(&measure.carried, 1);
                    }
                    add(&measure.calls, 1);
                });
            }
            Field::MemoryBytes(bytes) => self.memory.note(bytes),
            Field::Attribute(name, value) => lock(&self.attributes).set(name, value),
        }
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
            let measures = self.figures.iter();
            let measures = measures.flat_map(|each| [&each.sum, &each.carried, &each.calls]);
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
                figures: self.figures.each_ref().map(Measure::read),
                ..Reading::default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_never_sees_halves_of_two_kept_calls() {
        for _ in 0..200 {
            let node = Node::new(1);
            std::thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    let own = Writer::new();
                    for polled in 1..20_000 {
                        node.record_whole(3 * polled, polled, false, &own);
                    }
                });
                while !writer.is_finished() {
                    for (ticks, polled) in node.read().kept {
                        assert_eq!(ticks, 3 * polled);
                    }
                }
            });
        }
    }
}
