//! How far pieces of a batch overlapped on a GPU, and what each of them costs there.
//!
//! A further piece with work `w` adds `launch + bottleneck·w`, so what it adds to a unit of its
//! work is `launch/w + bottleneck`: of pieces of two sizes a line tells both, and what a launch
//! costs far better than whole launches do, whose times vary by more than that.

use crate::plan::Tuning;

/// Batches in pieces that are remembered.
const MOST: usize = 3;

/// What each further piece of a batch added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Added {
    /// As a part of what its work takes alone.
    pub part: f64,
    /// One over what its work takes alone, 1/ns.
    pub per_ns: f64,
}

impl Added {
    /// As much as alone: nothing overlapped, whatever a launch costs.
    pub(crate) const ALL: Self = Self {
        part: 1.0,
        per_ns: 0.0,
    };

    /// Part of a piece's work that a further piece added, where a launch costs that; with the
    /// launch as long as that is not known.
    pub(crate) fn bottleneck(self, launch_ns: Option<f64>) -> f64 {
        (self.part - launch_ns.unwrap_or(0.0) * self.per_ns).clamp(0.0, 1.0)
    }
}

/// What the last batches in pieces told.
#[derive(Debug, Clone, Default)]
pub(super) struct Overlap {
    /// Newest first.
    seen: Vec<Added>,
    /// What a further piece costs, ns, as far as pieces of two sizes told.
    launch_ns: Option<f64>,
    /// Batches in one launch since one in pieces showed that nothing overlaps.
    uncut: u64,
}

impl Overlap {
    /// A batch in pieces told this; none for one that was not cut. A device that did not
    /// overlap is tried again, rarely.
    pub(super) fn note(&mut self, added: Option<Added>, tuning: &Tuning) {
        match added.filter(|added| added.part.is_finite() && added.per_ns.is_finite()) {
            Some(added) => {
                if self.is_old(tuning) {
                    *self = Self::default();
                }
                self.uncut = 0;
                self.seen.insert(0, added);
                self.seen.truncate(MOST);
                self.launch_ns = self.line().or(self.launch_ns);
            }
            None if self.bottleneck(tuning) > Some(1.0 - tuning.least_overlap) => self.uncut += 1,
            // It was too short to be cut, or is to be.
            None => {}
        }
    }

    /// Nothing of this counts until the next batch in pieces. It is not forgotten before: the
    /// file knows it, and would bring it back.
    fn is_old(&self, tuning: &Tuning) -> bool {
        self.uncut >= tuning.runs_before_again
    }

    /// What a further piece costs by the longest and the shortest pieces, ns.
    fn line(&self) -> Option<f64> {
        let pieces = self.seen.iter().filter(|added| added.per_ns > 0.0);
        let by_length = |a: &&Added, b: &&Added| a.per_ns.total_cmp(&b.per_ns);
        let (long, short) = (pieces.clone().min_by(by_length)?, pieces.max_by(by_length)?);
        let is_told = short.per_ns >= 2.0 * long.per_ns;
        let slope = (short.part - long.part) / (short.per_ns - long.per_ns);
        is_told.then(|| slope.clamp(0.0, short.part / short.per_ns))
    }

    /// What a further piece costs, ns, where pieces of two sizes told.
    pub(super) fn launch_ns(&self, tuning: &Tuning) -> Option<f64> {
        self.launch_ns.filter(|_| !self.is_old(tuning))
    }

    /// The middle one of what was seen, the larger of two.
    pub(super) fn bottleneck(&self, tuning: &Tuning) -> Option<f64> {
        let (mut seen, _) = self.record();
        seen.retain(|_| !self.is_old(tuning));
        seen.sort_by(f64::total_cmp);
        seen.get(seen.len() / 2).copied()
    }

    /// The bottlenecks, and what a further piece costs, ns.
    pub(super) fn record(&self) -> (Vec<f64>, Option<f64>) {
        let seen = self
            .seen
            .iter()
            .map(|added| added.bottleneck(self.launch_ns));
        let seen = seen.map(|part| (part * 1e3).round() / 1e3).collect();
        (seen, self.launch_ns.map(f64::round))
    }

    /// The file knows these: they count where this process saw nothing.
    pub(super) fn join(&mut self, filed: Vec<f64>, launch_ns: Option<f64>) {
        if self.seen.is_empty() {
            self.launch_ns = launch_ns.filter(|ns| (0.0..f64::INFINITY).contains(ns));
            let filed = filed.into_iter().filter(|part| (0.0..=1.0).contains(part));
            let filed = filed.map(|part| Added { part, ..Added::ALL });
            self.seen = filed.take(MOST).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In that many pieces, of work that takes 1 ms with launches of 10 us, a third overlaps not.
    fn pieces(count: f64) -> Added {
        let per_ns = count / 1e6;
        Added {
            part: 1e4 * per_ns + 1.0 / 3.0,
            per_ns,
        }
    }

    #[test]
    fn pieces_of_two_sizes_tell_what_a_launch_costs() {
        let mut overlap = Overlap::default();
        assert_eq!(
            (
                overlap.bottleneck(Tuning::USUAL),
                overlap.launch_ns(Tuning::USUAL)
            ),
            (None, None)
        );
        overlap.note(Some(pieces(2.0)), Tuning::USUAL);
        assert_eq!(overlap.launch_ns(Tuning::USUAL), None);
        assert_eq!(overlap.record().0, [0.353]);
        overlap.note(Some(pieces(3.0)), Tuning::USUAL);
        assert_eq!(overlap.launch_ns(Tuning::USUAL), None);
        overlap.note(Some(pieces(50.0)), Tuning::USUAL);
        let launch = overlap.launch_ns(Tuning::USUAL).expect("two sizes told");
        assert!((launch - 1e4).abs() < 1.0, "{launch}");
        assert_eq!(overlap.record().0, [0.333; 3]);
        // It is kept where further batches are in as many pieces.
        (0..5).for_each(|_| overlap.note(Some(pieces(8.0)), Tuning::USUAL));
        assert!(
            overlap
                .launch_ns(Tuning::USUAL)
                .is_some_and(|kept| (kept - 1e4).abs() < 1.0)
        );
        overlap.note(
            Some(Added {
                part: f64::NAN,
                ..pieces(8.0)
            }),
            Tuning::USUAL,
        );
        assert_eq!(overlap.record().0, [0.333; 3]);
    }

    #[test]
    fn a_device_that_did_not_overlap_is_tried_again() {
        let mut overlap = Overlap::default();
        overlap.join(vec![1.0, f64::NAN, -1.0, 1.0, 1.0, 0.5], Some(1e4));
        assert_eq!(overlap.record(), (vec![1.0; 3], Some(1e4)));
        let uncut = Tuning::USUAL.runs_before_again;
        (1..uncut).for_each(|_| overlap.note(None, Tuning::USUAL));
        assert_eq!(overlap.bottleneck(Tuning::USUAL), Some(1.0));
        overlap.note(None, Tuning::USUAL);
        assert_eq!(overlap.bottleneck(Tuning::USUAL), None);
        // What the file still knows does not come back.
        overlap.join(vec![1.0], None);
        assert_eq!(overlap.bottleneck(Tuning::USUAL), None);
        // Batches that are too short to be cut say nothing of one that overlaps.
        overlap.note(Some(pieces(2.0)), Tuning::USUAL);
        (0..=uncut).for_each(|_| overlap.note(None, Tuning::USUAL));
        assert_eq!(overlap.record().0, [0.353]);
    }
}
