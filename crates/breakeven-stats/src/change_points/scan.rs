//! Steps tested at every place of intervals of all lengths.

use super::SHORTEST_SEGMENT;
use super::whitened::Whitened;

/// Score from which a step is looked at: what is there by chance is taken out again.
const WORTH_A_LOOK: f64 = 2.8;

/// By how much the intervals of one layer are longer than those of the one before.
const LONGER: f64 = std::f64::consts::SQRT_2;

/// Places where the level may have changed: the shortest of the seeded intervals that show
/// a step count first, then what the segments between them show.
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
        let from = index.checked_sub(1).map_or(0, |before| found[before]);
        let to = found.get(index).copied().unwrap_or(series.len());
        match series.best(from, to).filter(|(_, gain)| *gain >= least) {
            Some((at, _)) => found.insert(index, at),
            None => index += 1,
        }
    }
    settle(series, &mut found);
    found
}

/// Moves each change to where the values of its two segments say.
pub(super) fn settle(series: &Whitened<'_>, found: &mut [usize]) {
    for _ in 0..2 {
        for index in 0..found.len() {
            place(series, found, index);
        }
    }
}

/// Moves one change to where the values of its two segments say.
pub(super) fn place(series: &Whitened<'_>, found: &mut [usize], index: usize) {
    let (from, to) = around(series, found, index);
    if let Some((at, _)) = series.best(from, to) {
        found[index] = at;
    }
}

/// Takes out the change that explains least, and places its neighbours anew. False where
/// there is none left.
pub(super) fn drop_weakest(series: &Whitened<'_>, found: &mut Vec<usize>) -> bool {
    let gains = (0..found.len()).map(|index| {
        let (from, to) = around(series, found, index);
        series.gain(from, found[index], to)
    });
    let weakest = gains
        .enumerate()
        .min_by(|(_, one), (_, other)| one.total_cmp(other));
    let Some((index, _)) = weakest else {
        return false;
    };
    found.remove(index);
    for neighbour in [index.wrapping_sub(1), index] {
        if neighbour < found.len() {
            place(series, found, neighbour);
        }
    }
    true
}

/// The values of the two segments beside a change.
pub(super) fn around(series: &Whitened<'_>, found: &[usize], index: usize) -> (usize, usize) {
    let from = index.checked_sub(1).map_or(0, |before| found[before]);
    let to = found.get(index + 1).copied().unwrap_or(series.len());
    (from, to)
}

/// Seeded intervals of a series, the shortest first: layers of one length, each interval
/// beginning half a length behind the one before, and the whole series last.
fn intervals(length: usize) -> impl Iterator<Item = (usize, usize)> {
    let shortest = (2 * SHORTEST_SEGMENT) as f64;
    let widths = std::iter::successors(Some(shortest), |width| Some(width * LONGER));
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
