//! What an operation makes a device draw.

/// Measurements that are kept: the middle one of them counts, so that a stray moves nothing.
const KEPT: usize = 8;

/// Watts above what the device draws while it waits, while it works at the operation.
#[derive(Debug, Clone, Default)]
pub(super) struct Watts {
    /// Newest first.
    seen: Vec<f64>,
    above_idle: Option<f64>,
}

impl Watts {
    pub(super) fn note(&mut self, watts: f64) {
        if !is_plausible(watts) {
            return;
        }
        self.seen.insert(0, (watts * 1e3).round() / 1e3);
        self.seen.truncate(KEPT);
        self.settle();
    }

    /// The middle one of what was seen, the lower of two.
    pub(super) fn above_idle(&self) -> Option<f64> {
        self.above_idle
    }

    pub(super) fn record(&self) -> Vec<f64> {
        self.seen.clone()
    }

    /// The file knows these: they count where this process saw nothing.
    pub(super) fn join(&mut self, filed: Vec<f64>) {
        if self.seen.is_empty() {
            self.seen = filed;
            self.seen.retain(|watts| is_plausible(*watts));
            self.seen.truncate(KEPT);
            self.settle();
        }
    }

    fn settle(&mut self) {
        let mut sorted = self.seen.clone();
        sorted.sort_by(f64::total_cmp);
        self.above_idle = sorted.get(sorted.len().saturating_sub(1) / 2).copied();
    }
}

/// No device draws a megawatt.
fn is_plausible(watts: f64) -> bool {
    (0.0..1e6).contains(&watts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_moves_nothing() {
        let mut watts = Watts::default();
        assert_eq!(watts.above_idle(), None);
        for seen in [50.0, 51.0, 900.0, f64::NAN, -1.0] {
            watts.note(seen);
        }
        assert_eq!(watts.above_idle(), Some(51.0));
        let mut other = Watts::default();
        other.join(watts.record());
        assert_eq!(other.above_idle(), Some(51.0));
        other.join(vec![1.0]);
        assert_eq!(other.above_idle(), Some(51.0));
    }
}
