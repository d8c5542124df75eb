//! The union of intervals that come in any order, in bounded memory.

/// Intervals that wait before they are sorted into the others.
const WAITING: usize = 1 << 10;

/// Intervals that the unions of a device and of its first stream keep apart; the second
/// stream keeps a half, the third a third, and so on.
pub(super) const APART: usize = 1 << 19;

/// A union of intervals. It keeps at most so many apart; of more, those with the smallest
/// gaps between them are joined, and the gaps summed up. What comes later and lies in such a
/// gap is lost, so from then on the length is known within that sum.
#[derive(Debug)]
pub(super) struct Spans {
    /// Beginning and end of each interval; those before `sorted` are in order, and neither
    /// overlap nor touch.
    apart: Vec<Apart>,
    sorted: usize,
    most: usize,
    gaps_ns: u64,
    /// Whether anything may have been in a gap.
    late: bool,
}

/// An interval, and whether it has gaps inside.
#[derive(Debug, Clone, Copy)]
struct Apart {
    start: i64,
    end: i64,
    has_gaps: bool,
}

impl Default for Spans {
    fn default() -> Self {
        Self::new(APART)
    }
}

impl Spans {
    pub(super) fn new(most: usize) -> Self {
        Self {
            apart: Vec::new(),
            sorted: 0,
            most: most.max(8),
            gaps_ns: 0,
            late: false,
        }
    }

    pub(super) fn add(&mut self, start: i64, end: i64) {
        if end <= start {
            return;
        }
        self.apart.push(Apart {
            start,
            end,
            has_gaps: false,
        });
        let waiting = self.apart.len() - self.sorted;
        if waiting >= WAITING.max(self.sorted).min(self.most / 4 + 1) {
            self.sort();
        }
    }

    /// Sorts all, and joins what overlaps.
    fn sort(&mut self) {
        self.apart.sort_by_key(|one| one.start);
        let late = &mut self.late;
        self.apart.dedup_by(|next, one| {
            if next.start > one.end {
                return false;
            }
            *late |= next.start < one.end && (one.has_gaps || next.has_gaps);
            one.end = one.end.max(next.end);
            one.has_gaps |= next.has_gaps;
            true
        });
        if self.apart.len() > self.most {
            self.join();
        }
        self.sorted = self.apart.len();
    }

    /// Joins over the smallest gaps until half as many as may be are apart. Traces are mostly
    /// in order, so the latest quarter stays as it is.
    fn join(&mut self) {
        let gap = |pair: &[Apart]| pair[1].start.abs_diff(pair[0].end);
        let earlier = &self.apart[..self.apart.len() * 3 / 4];
        let mut gaps: Vec<u64> = earlier.windows(2).map(gap).collect();
        let joined = (self.apart.len() - self.most / 2).min(gaps.len());
        if joined == 0 {
            return;
        }
        let (_, widest, _) = gaps.select_nth_unstable(joined - 1);
        let (widest, mut left, sum) = (*widest, joined, &mut self.gaps_ns);
        self.apart.dedup_by(|next, one| {
            let gap = next.start.abs_diff(one.end);
            if gap > widest || left == 0 {
                return false;
            }
            left -= 1;
            *sum = sum.saturating_add(gap);
            (one.end, one.has_gaps) = (next.end, true);
            true
        });
    }

    /// Length of the union, ns: the least that it can be.
    pub(super) fn ns(&mut self) -> u64 {
        self.sort();
        let sum = self.apart.iter().fold(0_u64, |sum, one| {
            sum.saturating_add(one.end.abs_diff(one.start))
        });
        sum.saturating_sub(self.gaps_ns)
    }

    /// How much more the length may be, ns.
    pub(super) fn uncertain_ns(&self) -> u64 {
        if self.late { self.gaps_ns } else { 0 }
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

    /// 10 000 intervals of 4, one every 10.
    fn every_ten(order: impl Fn(i64) -> i64) -> Vec<(i64, i64)> {
        let starts = (0..10_000).map(|n| order(n) * 10);
        starts.map(|start| (start, start + 4)).collect()
    }

    #[test]
    fn memory_is_bounded_and_what_is_sorted_stays_exact() {
        let orders: [fn(i64) -> i64; 3] = [|n| n, |n| 9_999 - n, |n| (n + 5_000) % 10_000];
        for order in orders {
            let mut union = union(64, &every_ten(order));
            assert_eq!((union.ns(), union.uncertain_ns()), (40_000, 0));
            assert!(union.apart.len() <= 64);
        }
    }

    #[test]
    fn what_comes_between_joined_ones_is_known_within_their_gaps() {
        // Scrambled: 7 919 is prime.
        let scrambled = every_ten(|n| (n * 7_919) % 10_000);
        let mut exact = union(20_000, &scrambled);
        assert_eq!((exact.ns(), exact.uncertain_ns()), (40_000, 0));
        let mut bounded = union(64, &scrambled);
        let (least, uncertain) = (bounded.ns(), bounded.uncertain_ns());
        assert!(
            least < 40_000 && least + uncertain >= 40_000,
            "{least} {uncertain}"
        );
        assert!(bounded.apart.len() <= 64);
    }
}
