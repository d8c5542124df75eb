//! The union of intervals that come in almost any order, in bounded memory.

use std::collections::BTreeMap;

/// A union of intervals. It keeps at most so many apart; of more, the earliest are added to
/// a sum, and what comes later but begins among those is cut off there and counted.
#[derive(Debug)]
pub(super) struct Spans {
    /// Beginning and end of each interval; they neither overlap nor touch.
    apart: BTreeMap<i64, i64>,
    most: usize,
    settled_ns: u64,
    settled_until: i64,
    late: u64,
}

impl Spans {
    pub(super) fn new(most: usize) -> Self {
        Self {
            apart: BTreeMap::new(),
            most: most.max(2),
            settled_ns: 0,
            settled_until: i64::MIN,
            late: 0,
        }
    }

    pub(super) fn add(&mut self, start: i64, end: i64) {
        if end <= start {
            return;
        }
        if start < self.settled_until {
            self.late += 1;
        }
        let (mut start, mut end) = (start.max(self.settled_until), end);
        if end <= start {
            return;
        }
        if let Some((&before, &until)) = self.apart.range(..=start).next_back()
            && until >= start
        {
            if until >= end {
                return;
            }
            start = before;
        }
        while let Some((&inside, &until)) = self.apart.range(start..).next()
            && inside <= end
        {
            end = end.max(until);
            self.apart.remove(&inside);
        }
        self.apart.insert(start, end);
        if self.apart.len() > self.most {
            self.settle();
        }
    }

    /// Adds the earlier half to the sum.
    fn settle(&mut self) {
        while self.apart.len() > self.most / 2 {
            let Some((start, end)) = self.apart.pop_first() else {
                break;
            };
            self.settled_ns = self.settled_ns.saturating_add(end.abs_diff(start));
            self.settled_until = end;
        }
    }

    /// Length of the union, ns.
    pub(super) fn ns(&self) -> u64 {
        let apart = self.apart.iter();
        apart.fold(self.settled_ns, |sum, (start, end)| {
            sum.saturating_add(end.abs_diff(*start))
        })
    }

    /// Intervals that came too late to count in full.
    pub(super) fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn union(most: usize, spans: &[(i64, i64)]) -> Spans {
        let mut union = Spans::new(most);
        for &(start, end) in spans {
            union.add(start, end);
        }
        union
    }

    #[test]
    fn overlaps_count_once_in_any_order() {
        let spans = [
            (10, 20),
            (0, 5),
            (15, 30),
            (5, 6),
            (40, 40),
            (4, 11),
            (-9, -8),
        ];
        assert_eq!(union(100, &spans).ns(), 31);
        assert_eq!(union(100, &[(0, 9), (2, 3), (9, 12)]).ns(), 12);
        assert_eq!(union(100, &[(2, 3), (5, 6), (0, 9)]).ns(), 9);
    }

    #[test]
    fn memory_is_bounded_and_what_comes_too_late_is_counted() {
        let sorted: Vec<(i64, i64)> = (0..10_000).map(|n| (n * 10, n * 10 + 4)).collect();
        let union = union(64, &sorted);
        assert_eq!((union.ns(), union.late()), (40_000, 0));
        assert!(union.apart.len() <= 64);
        let mut union = union;
        union.add(7, 8);
        assert_eq!((union.ns(), union.late()), (40_000, 1));
    }
}
