//! How far pieces of a batch overlapped on a GPU, and the launch cost that they show.
//!
//! A further piece with work `w` adds `launch + bottleneck·w`, so relative to its work it adds
//! `launch/w + bottleneck`. A line through pieces of two sizes shows both. Its launch cost is far
//! better than one from complete launches, whose times vary by more than that cost.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::plan::Tuning;

/// Remembered batches in pieces.
const MOST: usize = 3;

/// The time that each further piece of a batch added.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Added {
    /// As a fraction of its work's time alone.
    pub part: f64,
    /// Reciprocal of its work's time alone, 1/ns.
    pub per_ns: f64,
}

impl Added {
    /// The full time: nothing overlapped, whatever the launch cost.
    pub(crate) const ALL: Self = Self {
        part: 1.0,
        per_ns: 0.0,
    };

    fn is_plausible(&self) -> bool {
        is_plausible(self.part) && is_plausible(self.per_ns)
    }

    /// Returns the fraction of its work that a further piece added, without the launch cost;
    /// including it if it is not known.
    pub(crate) fn bottleneck(self, launch_ns: Option<f64>) -> f64 {
        (self.part - launch_ns.unwrap_or(0.0) * self.per_ns).clamp(0.0, 1.0)
    }
}

/// The results of the last batches in pieces.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Overlap {
    /// Newest first.
    seen: Vec<Added>,
    /// Cost of a further piece, ns, if pieces of two sizes showed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    launch_ns: Option<f64>,
    /// Batches in one launch since a batch in pieces showed that nothing overlaps.
    #[serde(skip)]
    uncut: u64,
}

impl Overlap {
    /// Records the result of a batch in pieces; none for a batch that was not cut. A device that
    /// did not overlap is tried again, rarely.
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
            // The batch was too short to be cut, or overlap is still to be tried.
            None => {}
        }
    }

    /// Returns true if the results are ignored until the next batch in pieces. They are not
    /// dropped: the file has them, and would restore them.
    fn is_old(&self, tuning: &Tuning) -> bool {
        self.uncut >= tuning.runs_before_again
    }

    /// Returns the cost of a further piece by the longest and the shortest pieces, ns.
    fn line(&self) -> Option<f64> {
        let pieces = self.seen.iter().filter(|added| added.per_ns > 0.0);
        let by_length = |a: &&Added, b: &&Added| a.per_ns.total_cmp(&b.per_ns);
        let (long, short) = (pieces.clone().min_by(by_length)?, pieces.max_by(by_length)?);
        let is_known = short.per_ns >= 2.0 * long.per_ns;
        let slope = (short.part - long.part) / (short.per_ns - long.per_ns);
        is_known.then(|| slope.clamp(0.0, short.part / short.per_ns))
    }

    /// Returns the cost of a further piece, ns, if pieces of two sizes showed it.
    pub(super) fn launch_ns(&self, tuning: &Tuning) -> Option<f64> {
        self.launch_ns.filter(|_| !self.is_old(tuning))
    }

    /// Returns the median, the larger of two.
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

    /// Merges the file's results: they count if this process has none.
    pub(super) fn join(&mut self, filed: Self) {
        if self.seen.is_empty() {
            self.launch_ns = filed.launch_ns.filter(|ns| is_plausible(*ns));
            self.seen = filed.seen;
            self.seen.retain(Added::is_plausible);
            self.seen.truncate(MOST);
        }
    }
}

/// Checks a value: a file may contain anything.
fn is_plausible(value: f64) -> bool {
    (0.0..f64::INFINITY).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch of 1 ms of work in `count` pieces, with launches of 10 µs, of which a third does not
    /// overlap.
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
    fn pieces_of_two_sizes_show_what_a_launch_costs() {
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
        let launch = overlap.launch_ns(Tuning::USUAL).expect("two sizes show it");
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
        // What the file still has does not come back.
        overlap.join(filed);
        assert_eq!(overlap.bottleneck(Tuning::USUAL), None);
        // Batches that are too short to be cut do not count against a device that overlaps.
        overlap.note(Some(pieces(2.0)), Tuning::USUAL);
        (0..=uncut).for_each(|_| overlap.note(None, Tuning::USUAL));
        assert!(is(&overlap, 0.353));
    }
}
