//! How far pieces of a batch overlapped on a GPU, and what each of them costs there.
//!
//! A further piece with work `w` adds `launch + bottleneck·w`, so what it adds to a unit of its
//! work is `launch/w + bottleneck`: of pieces of two sizes a line tells both, and what a launch
//! costs far better than whole launches do, whose times vary by more than that.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::plan::Tuning;

/// Batches in pieces that are remembered.
const MOST: usize = 3;

/// What each further piece of a batch added.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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

    fn is_plausible(&self) -> bool {
        is_plausible(self.part) && is_plausible(self.per_ns)
    }

    /// Part of a piece's work that a further piece added, where a launch costs that; with the
    /// launch as long as that is not known.
    pub(crate) fn bottleneck(self, launch_ns: Option<f64>) -> f64 {
        (self.part - launch_ns.unwrap_or(0.0) * self.per_ns).clamp(0.0, 1.0)
    }
}

/// What the last batches in pieces told.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Overlap {
    /// Newest first.
    seen: Vec<Added>,
    /// What a further piece costs, ns, as far as pieces of two sizes told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    launch_ns: Option<f64>,
    /// Batches in one launch since one in pieces showed that nothing overlaps.
    #[serde(skip)]
    uncut: u64,
}

impl Overlap {
    /// A batch in pieces told this; none for one that was not cut. A device that did not
    /// overlap is tried again, rarely.
    pub(super) fn note(&mut self, added: Option<Added>, tuning: &Tuning) {
        match added.filter(Added::is_plausible) {
            Some(added) => {
                if self.is_old(tuning) {
                    *self = Self::default();
                }
                self.uncut = 0;
                self.seen.insert(0, added);
                self.seen.truncate(MOST);
                self.launch_ns = self.line().or(self.launch_ns);
            }
            None if self.bottleneck(tuning) > Some(1.0 - tuning.least_gain) => self.uncut += 1,
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
        let seen = self.seen.iter().filter(|_| !self.is_old(tuning));
        let mut seen: SmallVec<[f64; MOST]> =
            seen.map(|added| added.bottleneck(self.launch_ns)).collect();
        seen.sort_by(f64::total_cmp);
        seen.get(seen.len() / 2).copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The file knows this: it counts where this process saw nothing.
    pub(super) fn join(&mut self, filed: Self) {
        if self.seen.is_empty() {
            self.launch_ns = filed.launch_ns.filter(|ns| is_plausible(*ns));
            self.seen = filed.seen;
            self.seen.retain(Added::is_plausible);
            self.seen.truncate(MOST);
        }
    }
}

/// A file may say anything.
fn is_plausible(value: f64) -> bool {
    (0.0..f64::INFINITY).contains(&value)
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

    fn is(overlap: &Overlap, bottleneck: f64) -> bool {
        let found = overlap.bottleneck(Tuning::USUAL);
        found.is_some_and(|found| (found - bottleneck).abs() < 1e-3)
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
        assert!(is(&overlap, 0.353));
        overlap.note(Some(pieces(3.0)), Tuning::USUAL);
        assert_eq!(overlap.launch_ns(Tuning::USUAL), None);
        overlap.note(Some(pieces(50.0)), Tuning::USUAL);
        let launch = overlap.launch_ns(Tuning::USUAL).expect("two sizes told");
        assert!((launch - 1e4).abs() < 1.0, "{launch}");
        assert!(is(&overlap, 0.333));
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
        assert!(is(&overlap, 0.333));
    }

    #[test]
    fn a_device_that_did_not_overlap_is_tried_again() {
        let mut overlap = Overlap::default();
        let parts = [1.0, f64::NAN, -1.0, 1.0, 1.0, 0.5];
        let filed = Overlap {
            seen: parts.map(|part| Added { part, ..Added::ALL }).to_vec(),
            launch_ns: Some(1e4),
            uncut: 0,
        };
        overlap.join(filed.clone());
        assert_eq!(overlap.seen, [Added::ALL; 3]);
        assert_eq!(overlap.launch_ns, Some(1e4));
        let uncut = Tuning::USUAL.runs_before_again;
        (1..uncut).for_each(|_| overlap.note(None, Tuning::USUAL));
        assert_eq!(overlap.bottleneck(Tuning::USUAL), Some(1.0));
        overlap.note(None, Tuning::USUAL);
        assert_eq!(overlap.bottleneck(Tuning::USUAL), None);
        // What the file still knows does not come back.
        overlap.join(filed);
        assert_eq!(overlap.bottleneck(Tuning::USUAL), None);
        // Batches that are too short to be cut say nothing of one that overlaps.
        overlap.note(Some(pieces(2.0)), Tuning::USUAL);
        (0..=uncut).for_each(|_| overlap.note(None, Tuning::USUAL));
        assert!(is(&overlap, 0.353));
    }
}
