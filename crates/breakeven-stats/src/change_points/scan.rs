//! Steps tested at every place of intervals of all lengths.

use super::clean::SHORTEST_SEGMENT;
use super::whitened::{Whitened, segment};

/// Score from which a step is considered: chance candidates are removed later.
const WORTH_A_LOOK: f64 = 2.8;

/// By how much the intervals of one layer are longer than those of the one before: of short
/// ones, and of those from [`WIDE`] values on, in which a step is seen off the middle too.
const LONGER: [f64; 2] = [std::f64::consts::SQRT_2, 2.0];

/// Values of a wide interval.
const WIDE: f64 = 64.0;

/// Returns the candidate places of changes: the shortest of the seeded intervals that show a step
/// count first, then what the segments between them show.
pub(super) fn candidates(series: &Whitened<'_>) -> Vec<usize> {
    let least = (WORTH_A_LOOK * series.innovation()).powi(2);
    let mut found: Vec<usize> = Vec::new();
    for (from, to) in intervals(series.len()) {
        let next = found.partition_point(|change| *change <= from);
        if found.get(next).is_some_and(|change| *change < to) {
            continue;
        }
        if let Some((at, _)) = series.best(from, to).filter(|(_, gain)| *gain >= least) {
            found.insert(next, at);
        }
    }
    settle(series, &mut found);
    let mut index = 0;
    while index <= found.len() {
        let (from, to) = segment(series.len(), &found, index);
        match series.best(from, to).filter(|(_, gain)| *gain >= least) {
            Some((at, _)) => found.insert(index, at),
            None => index += 1,
        }
    }
    settle(series, &mut found);
    found
}

/// Moves each change to where the values of its two segments place it.
pub(super) fn settle(series: &Whitened<'_>, found: &mut [usize]) {
    for _ in 0..2 {
        for index in 0..found.len() {
            place(series, found, index);
        }
    }
}

/// Moves one change to where the values of its two segments place it.
pub(super) fn place(series: &Whitened<'_>, found: &mut [usize], index: usize) {
    let (from, to) = around(series, found, index);
    if let Some((at, _)) = series.best(from, to) {
        found[index] = at;
    }
}

/// Changes, and what each explains.
pub(super) struct Explaining {
    pub(super) changes: Vec<usize>,
    gains: Vec<f64>,
}

impl Explaining {
    pub(super) fn new(series: &Whitened<'_>, changes: Vec<usize>) -> Self {
        let mut new = Self {
            gains: vec![0.0; changes.len()],
            changes,
        };
        (0..new.gains.len()).for_each(|index| new.update(series, index));
        new
    }

    /// The change that explains least, and how much that is.
    pub(super) fn weakest(&self) -> Option<(usize, f64)> {
        let gains = self.gains.iter().copied().enumerate();
        gains.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// Takes a change out, and places its neighbours anew.
    pub(super) fn remove(&mut self, series: &Whitened<'_>, index: usize) {
        self.changes.remove(index);
        self.gains.remove(index);
        for neighbour in [index.wrapping_sub(1), index] {
            if neighbour < self.changes.len() {
                place(series, &mut self.changes, neighbour);
            }
        }
        let near = index.saturating_sub(2)..(index + 2).min(self.changes.len());
        near.for_each(|index| self.update(series, index));
    }

    fn update(&mut self, series: &Whitened<'_>, index: usize) {
        let (from, to) = around(series, &self.changes, index);
        self.gains[index] = series.gain(from, self.changes[index], to);
    }
}

/// Returns the values of the two segments next to a change.
pub(super) fn around(series: &Whitened<'_>, found: &[usize], index: usize) -> (usize, usize) {
    let [before, behind] = [index, index + 1].map(|it| segment(series.len(), found, it));
    (before.0, behind.1)
}

/// Returns the seeded intervals of a series, the shortest first: layers of one length, each
/// interval beginning half a length after the previous one, and the complete series last.
fn intervals(length: usize) -> impl Iterator<Item = (usize, usize)> {
    let shortest = (2 * SHORTEST_SEGMENT) as f64;
    let widths = std::iter::successors(Some(shortest), |width| {
        Some(width * LONGER[usize::from(*width >= WIDE)])
    });
    #[expect(clippy::cast_sign_loss, reason = "widths grow from the shortest")]
    let widths = widths.map(|width| width.round() as usize);
    let layers = widths.take_while(move |width| *width < length);
    layers
        .flat_map(move |width| {
            let last = length - width;
            let starts = (0..last).step_by(width / 2).chain([last]);
            starts.map(move |from| (from, from + width))
        })
        .chain([(0, length)])
}
