//! A value observed batch by batch, such as a device's power during an operation.

use serde::{Deserialize, Serialize};

/// Values kept. Their median counts, so an outlier changes nothing.
const KEPT: usize = 8;

/// Largest plausible watts of a device, or ns of a call: a file may contain anything.
const MOST: f64 = 1e15;

/// The newest values.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Recent {
    /// Newest first.
    seen: Vec<f64>,
    #[serde(skip)]
    middle: Option<f64>,
}

impl Recent {
    pub(super) fn note(&mut self, value: f64) {
        if !is_plausible(value) {
            return;
        }
        self.seen.insert(0, (value * 1e3).round() / 1e3);
        self.seen.truncate(KEPT);
        self.settle();
    }

    /// Returns the median, the lower of two.
    pub(super) fn middle(&self) -> Option<f64> {
        self.middle
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Merges the file's values: they count if this process has none.
    pub(super) fn join(&mut self, filed: Self) {
        if self.seen.is_empty() {
            self.seen = filed.seen;
            self.seen.retain(|value| is_plausible(*value));
            self.seen.truncate(KEPT);
            self.settle();
        }
    }

    fn settle(&mut self) {
        let mut sorted = self.seen.clone();
        sorted.sort_by(f64::total_cmp);
        self.middle = sorted.get(sorted.len().saturating_sub(1) / 2).copied();
    }
}

fn is_plausible(value: f64) -> bool {
    (0.0..MOST).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_moves_nothing() {
        let mut watts = Recent::default();
        assert_eq!(watts.middle(), None);
        for seen in [50.0, 51.0, 900.0, f64::NAN, -1.0, f64::INFINITY] {
            watts.note(seen);
        }
        assert_eq!(watts.middle(), Some(51.0));
        let mut other = Recent::default();
        other.join(watts);
        assert_eq!(other.middle(), Some(51.0));
        let mut another = Recent::default();
        another.note(1.0);
        other.join(another);
        assert_eq!(other.middle(), Some(51.0));
    }
}
