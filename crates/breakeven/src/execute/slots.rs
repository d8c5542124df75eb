//! Where outputs go: one slot per task, or a row of them, written in any order by the owner of the
//! task's span, without a lock.
//!
//! Unsafe code, which rests on three things:
//!
//! 1. A span is unique (`schedule/span.rs`): every access to a slot needs its span, so only the
//!    owner of the span can reach it.
//! 2. A slot counts as written only once its span is in `written`. A span gets there by being
//!    consumed, after all its slots were written. A writer that does not finish drops what it wrote.
//! 3. `into_outputs` returns the outputs only if `written` covers every task exactly once;
//!    otherwise their outputs are dropped with the slots.
//!
//! Outputs are dropped one by one: a panic does not affect the remaining ones, and the first panic
//! is kept.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Mutex;

use bytemuck::Pod;
use smallvec::SmallVec;

use super::result::TaskError;
use super::work::dropped;
use crate::locked;
use crate::schedule::Span;

/// The outputs of a running batch.
pub(super) struct Slots<T> {
    /// Start of an allocation of `tasks · width` slots, made and freed as a `Vec`.
    first: NonNull<MaybeUninit<T>>,
    tasks: usize,
    /// Slots per task.
    width: usize,
    capacity: usize,
    /// Spans whose slots are all written.
    written: Mutex<SmallVec<[Range<usize>; 2]>>,
    /// The first output that panicked when it was dropped, and its message.
    panicked: Mutex<Option<(usize, String)>>,
}

/// All outputs, or the panic of one that was dropped.
type Outputs<T> = Result<Vec<T>, Option<(usize, String)>>;

/// The task that failed with its index, and the outputs.
pub(super) type Parts<T, E> = (Option<(usize, TaskError<E>)>, Outputs<T>);

// SAFETY: the slots own their values; a value moves to another thread only if
// `T: Send`.
unsafe impl<T: Send> Send for Slots<T> {}
// SAFETY: through a shared reference values are only moved in, by the holder of
// a span (see the argument at the top), never looked at: `T: Send` is enough.
unsafe impl<T: Send> Sync for Slots<T> {}

impl<T> Slots<T> {
    /// Allocates room for the outputs of `tasks` tasks; none if memory does not suffice.
    pub(super) fn new(tasks: usize) -> Option<Self> {
        let mut slots: Vec<T> = Vec::new();
        slots.try_reserve_exact(tasks).ok()?;
        Some(Self::of(slots, tasks, 1))
    }

    fn of(slots: Vec<T>, tasks: usize, width: usize) -> Self {
        let mut slots = ManuallyDrop::new(slots);
        let first = NonNull::new(slots.as_mut_ptr()).expect("a vector's pointer is never null");
        Self {
            first: first.cast(),
            tasks,
            width,
            capacity: slots.capacity(),
            written: Mutex::default(),
            panicked: Mutex::default(),
        }
    }

    /// Begins to write the outputs of a span.
    pub(super) fn writer(&self, span: Span) -> Writer<'_, T> {
        let range = span.range();
        assert!(range.end <= self.tasks, "a span of another batch");
        Writer {
            slots: self,
            // SAFETY: the first slot of a span inside the allocation, or its end.
            first: unsafe { self.first.add(range.start * self.width) },
            room: range.len(),
            span: Some(span),
            written: 0,
        }
    }

    /// Returns the outputs in the order of the tasks. If one is missing, all are dropped.
    pub(super) fn into_outputs(mut self) -> Outputs<T> {
        let mut spans = locked(&self.written);
        spans.sort_unstable_by_key(|span| span.start);
        let (mut end, mut each) = (0, spans.iter());
        let whole = each.all(|span| std::mem::replace(&mut end, span.end) == span.start);
        drop(spans);
        if !whole || end != self.tasks {
            self.drop_finished();
            return Err(locked(&self.panicked).take());
        }
        let this = ManuallyDrop::new(self);
        // It has its own memory if a batch had many spans.
        drop(std::mem::take(&mut *locked(&this.written)));
        let first = this.first.as_ptr().cast::<T>();
        // SAFETY: the allocation came from a vector of this capacity whose
        // elements have the same layout; `written` says that the first `tasks`
        // slots are written; `this` is not dropped, so nothing is owned twice.
        Ok(unsafe { Vec::from_raw_parts(first, this.tasks * this.width, this.capacity) })
    }

    fn drop_finished(&mut self) {
        for span in std::mem::take(&mut *locked(&self.written)) {
            // SAFETY: `written` said that they are written, spans in it do not overlap, and
            // now it has none of them.
            unsafe { self.drop_outputs(span) };
        }
    }

    /// Drops the outputs of those tasks.
    ///
    /// # Safety
    ///
    /// They are written, nothing else can reach them, and they are dropped only once.
    unsafe fn drop_outputs(&self, tasks: Range<usize>) {
        for index in tasks.start * self.width..tasks.end * self.width {
            // SAFETY: the slot is inside the allocation and written, by the caller's word.
            let output = unsafe { self.first.add(index).cast::<T>().read() };
            if let Some(said) = dropped(output) {
                locked(&self.panicked).get_or_insert((index, said));
            }
        }
    }
}

impl<T: Pod> Slots<T> {
    /// Allocates `tasks` rows of `width` zeros each.
    pub(super) fn rows(tasks: usize, width: usize) -> Option<Self> {
        let zeros = bytemuck::try_zeroed_slice_box(tasks.checked_mul(width)?).ok()?;
        Some(Self::of(zeros.into_vec(), tasks, width))
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        self.drop_finished();
        // SAFETY: the allocation came from a vector of this capacity, and a
        // `MaybeUninit` needs no value: freeing it drops none.
        drop(unsafe { Vec::from_raw_parts(self.first.as_ptr(), 0, self.capacity) });
    }
}

/// Writes the outputs of one span, first task first.
pub(super) struct Writer<'s, T> {
    slots: &'s Slots<T>,
    /// The slot of the span's first task.
    first: NonNull<MaybeUninit<T>>,
    /// Tasks of the span.
    room: usize,
    /// None only once `finish` took it out.
    span: Option<Span>,
    written: usize,
}

impl<T: Pod> Writer<'_, T> {
    /// Returns the rows of all tasks of the span, which count as written from now on.
    pub(super) fn rows(&mut self) -> &mut [T] {
        let (tasks, width) = (self.room, self.slots.width);
        self.written = tasks;
        let first = self.first.as_ptr().cast::<T>();
        // SAFETY: the span is inside the slots (checked in `writer`) and unique, so nobody
        // else touches these; they were made as zeros, and any bits are a `Pod`.
        unsafe { std::slice::from_raw_parts_mut(first, tasks * width) }
    }
}

impl<T> Writer<'_, T> {
    /// Returns the index of the next task.
    #[inline]
    pub(super) fn next(&self) -> usize {
        self.span.as_ref().map_or(0, |span| span.range().start) + self.written
    }

    /// Writes the outputs of the next tasks, until `make` fails or returns none; then returns
    /// false.
    ///
    /// # Panics
    ///
    /// Past the span's last task.
    #[inline]
    pub(super) fn fill<I, E>(
        &mut self,
        inputs: &[I],
        mut make: impl FnMut(&I) -> Result<Option<T>, E>,
    ) -> Result<bool, E> {
        assert!(
            inputs.len() <= self.room - self.written,
            "more outputs than tasks"
        );
        debug_assert_eq!(self.slots.width, 1, "rows are written as rows");
        for input in inputs {
            let Some(output) = make(input)? else {
                return Ok(false);
            };
            // SAFETY: as in `push`, by the check above.
            unsafe { self.first.add(self.written).write(MaybeUninit::new(output)) };
            self.written += 1;
        }
        Ok(true)
    }

    /// Writes the output of the next task.
    ///
    /// # Panics
    ///
    /// Past the span's last task.
    #[inline]
    pub(super) fn push(&mut self, output: T) {
        assert!(self.written < self.room, "more outputs than tasks");
        debug_assert_eq!(self.slots.width, 1, "rows are written as rows");
        // SAFETY: the task is inside the span and the span inside the slots
        // (checked above and in `writer`), so the pointer is in the allocation;
        // the span is unique, so nobody else touches the slot. (Rows, of which this would
        // write the wrong one, are initialised from the start.)
        unsafe { self.first.add(self.written).write(MaybeUninit::new(output)) };
        self.written += 1;
    }

    /// Records that the tasks so far have their outputs; returns the span of the remaining tasks,
    /// if any.
    pub(super) fn finish(mut self) -> Option<Span> {
        let span = self
            .span
            .take()
            .expect("only this takes the span, with the whole value");
        let written = std::mem::take(&mut self.written);
        if written == 0 {
            return Some(span);
        }
        let (span, rest) = span.split(written);
        let done = span.range();
        let mut written = locked(&self.slots.written);
        match written.last_mut() {
            // The usual case: neighbours, one after the other.
            Some(last) if last.end == done.start => last.end = done.end,
            Some(last) if last.start == done.end => last.start = done.start,
            _ => written.push(done),
        }
        rest
    }
}

impl<T> Drop for Writer<'_, T> {
    fn drop(&mut self) {
        let written = std::mem::take(&mut self.written);
        if let Some(span) = &self.span {
            let start = span.range().start;
            // SAFETY: this writer wrote the slots (`push` counts), and counts them
            // no more, so that they are dropped once; nobody else can reach them.
            unsafe { self.slots.drop_outputs(start..start + written) };
        }
    }
}
