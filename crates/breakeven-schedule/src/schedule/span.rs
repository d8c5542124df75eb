//! Tasks as ranges that have an owner: a [`Span`] has one owner, [`Free`] has the tasks without an
//! owner.
//!
//! Why a span is unique. A span is made in three places: by [`Free::all`], once a batch; by cutting
//! it out of the free ranges, which removes its tasks from them; and by splitting a span, which
//! consumes it. It can be neither copied nor cloned. So at any time every task is in exactly one
//! place: in a free range, or in one span, which is held or was held and finished. The safety of
//! `execute/slots.rs` depends on this.

use std::ops::Range;

use smallvec::SmallVec;

/// Most tasks of one batch: the ends of a span are 32 bits each.
pub const MOST_TASKS: usize = u32::MAX as usize;

/// Consecutive tasks of a batch that belong to the owner of the span; never empty.
#[derive(Debug, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Creates a span of all tasks of a batch; none if it has no tasks, or more than
    /// [`MOST_TASKS`].
    pub fn all(tasks: usize) -> Option<Self> {
        let end = u32::try_from(tasks).ok().filter(|end| *end > 0)?;
        Some(Self { start: 0, end })
    }

    /// Returns its number of tasks.
    #[expect(clippy::len_without_is_empty, reason = "a span is never empty")]
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns the indices of its tasks.
    pub fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Splits off the first `count` tasks; the second span is none if no tasks remain.
    pub fn split(self, count: usize) -> (Span, Option<Span>) {
        let count = u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        let middle = self.start.saturating_add(count);
        if middle >= self.end {
            return (self, None);
        }
        let (start, end) = (self.start, self.end);
        let rest = Span { start: middle, end };
        (Span { start, end: middle }, Some(rest))
    }
}

/// The tasks of a batch without an owner, as disjoint ranges in order.
#[derive(Debug)]
pub(super) struct Free {
    ranges: SmallVec<[Span; 4]>,
    tasks: usize,
}

impl Free {
    /// Creates it with all tasks of a batch.
    pub(super) fn all(tasks: usize) -> Self {
        Self {
            ranges: Span::all(tasks).into_iter().collect(),
            tasks,
        }
    }

    /// Returns the number of tasks in all ranges.
    pub(super) fn tasks(&self) -> usize {
        self.tasks
    }

    /// Iterates over the ranges, in order.
    pub(super) fn ranges(&self) -> impl DoubleEndedIterator<Item = Range<usize>> {
        self.ranges.iter().map(Span::range)
    }

    /// Cuts the tasks out of the range that contains them; none if no range does.
    pub(super) fn take(&mut self, wanted: Range<usize>) -> Option<Span> {
        let begins = |range: &Span| range.start as usize <= wanted.start;
        let after = self.ranges.partition_point(begins);
        let index = after.checked_sub(1)?;
        let range = self.ranges[index].range();
        if wanted.is_empty() || wanted.end > range.end {
            return None;
        }
        self.tasks -= wanted.len();
        let found = self.ranges.remove(index);
        let mut rest = Some(found);
        if wanted.start > range.start {
            let (before, behind) = rest.take()?.split(wanted.start - range.start);
            self.ranges.insert(index, before);
            rest = behind;
        }
        let (span, behind) = rest?.split(wanted.len());
        if let Some(behind) = behind {
            let index = index + usize::from(wanted.start > range.start);
            self.ranges.insert(index, behind);
        }
        Some(span)
    }

    /// Takes back a span that was not done.
    pub(super) fn give_back(&mut self, mut span: Span) {
        self.tasks += span.len();
        let is_before = |range: &Span| range.start < span.start;
        let index = self.ranges.partition_point(is_before);
        let next = self.ranges.get(index);
        if next.is_some_and(|next| next.start == span.end) {
            span.end = self.ranges.remove(index).end;
        }
        match index.checked_sub(1).map(|before| &mut self.ranges[before]) {
            Some(before) if before.end == span.start => before.end = span.end,
            _ => self.ranges.insert(index, span),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_out_is_gone_until_it_is_given_back() {
        let mut free = Free::all(10);
        let middle = free.take(4..6).expect("it is free");
        let left: Vec<_> = free.ranges().collect();
        assert_eq!((left, free.tasks()), (vec![0..4, 6..10], 8));
        for held in [4..6, 3..5, 5..7, 0..10, 9..11, 2..2] {
            assert_eq!(free.take(held), None);
        }
        let front = free.take(0..4).expect("it is free");
        free.give_back(middle);
        assert!(free.ranges().eq(std::iter::once(4..10)));
        free.give_back(front);
        assert!(free.ranges().eq(std::iter::once(0..10)));
    }

    #[test]
    fn the_largest_batch_is_counted() {
        let all = Span::all(MOST_TASKS).expect("it is countable");
        let (first, rest) = all.split(1);
        let rest = rest.map(|rest| rest.len());
        assert_eq!((first.range(), rest), (0..1, Some(MOST_TASKS - 1)));
        assert_eq!((Span::all(0), Span::all(MOST_TASKS + 1)), (None, None));
    }
}
