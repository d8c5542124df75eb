//! How far pieces of a batch overlapped on a GPU.

use crate::plan::Tuning;

/// What the last batches in pieces told.
#[derive(Debug, Clone, Default)]
pub(super) struct Overlap {
    /// Part of a piece's work that each further piece added, newest first.
    seen: Vec<f64>,
    /// Batches in one launch since one of them was forgotten.
    uncut: u32,
}

impl Overlap {
    /// A batch in pieces told this; none for one that was not cut. A device that did not
    /// overlap is tried again, rarely.
    pub(super) fn note(&mut self, bottleneck: Option<f64>, tuning: &Tuning) {
        match bottleneck.filter(|part| (0.0..=1.0).contains(part)) {
            Some(part) => {
                self.uncut = 0;
                self.seen.insert(0, (part * 1e3).round() / 1e3);
                self.seen.truncate(tuning.overlaps);
            }
            None => {
                self.uncut += 1;
                if self.uncut >= tuning.uncut_before_a_try {
                    self.uncut = 0;
                    self.seen.pop();
                }
            }
        }
    }

    /// The middle one of what was seen, the larger of two; none where that says too little:
    /// noise may have hidden that pieces overlap.
    pub(super) fn bottleneck(&self, tuning: &Tuning) -> Option<f64> {
        let mut seen = self.seen.clone();
        seen.sort_by(f64::total_cmp);
        let middle = *seen.get(seen.len() / 2)?;
        let is_sure = seen.len() >= tuning.overlaps || middle <= 1.0 - tuning.least_overlap;
        is_sure.then_some(middle)
    }

    pub(super) fn record(&self) -> Vec<f64> {
        self.seen.clone()
    }

    /// The file knows these: they count where this process saw nothing.
    pub(super) fn join(&mut self, filed: Vec<f64>, tuning: &Tuning) {
        if self.seen.is_empty() {
            self.seen = filed;
            self.seen.retain(|part| (0.0..=1.0).contains(part));
            self.seen.truncate(tuning.overlaps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_batch_says_that_pieces_overlap_and_three_that_they_do_not() {
        let mut overlap = Overlap::default();
        assert_eq!(overlap.bottleneck(Tuning::USUAL), None);
        overlap.note(Some(0.4), Tuning::USUAL);
        assert_eq!(overlap.bottleneck(Tuning::USUAL), Some(0.4));
        // Two that differ: the worse one, and that is not sure yet.
        overlap.note(Some(1.0), Tuning::USUAL);
        assert_eq!(overlap.bottleneck(Tuning::USUAL), None);
        overlap.note(Some(1.0), Tuning::USUAL);
        assert_eq!(overlap.bottleneck(Tuning::USUAL), Some(1.0));
        overlap.note(Some(f64::NAN), Tuning::USUAL);
        assert_eq!(overlap.record(), [1.0, 1.0, 0.4]);
    }

    #[test]
    fn a_device_that_did_not_overlap_is_tried_again() {
        let mut overlap = Overlap::default();
        overlap.join(vec![1.0, f64::NAN, -1.0, 1.0, 1.0, 0.5], Tuning::USUAL);
        assert_eq!(overlap.record(), [1.0; 3]);
        for _ in 1..Tuning::USUAL.uncut_before_a_try {
            overlap.note(None, Tuning::USUAL);
        }
        assert_eq!(overlap.bottleneck(Tuning::USUAL), Some(1.0));
        overlap.note(None, Tuning::USUAL);
        assert_eq!(overlap.bottleneck(Tuning::USUAL), None);
    }
}
