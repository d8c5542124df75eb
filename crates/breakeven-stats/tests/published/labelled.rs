//! Published series in which people marked the changes, and the scores of the benchmark
//! they come from (van den Burg and Williams 2020, "An evaluation of change point detection
//! algorithms", section 3).

use std::collections::BTreeSet;

use serde::Deserialize;

/// Values that a place may be from the one that was marked.
const MARGIN: usize = 5;

#[derive(Deserialize)]
struct File {
    annotations: Vec<BTreeSet<usize>>,
    values: Vec<f64>,
}

/// A series, and what each person marked in it.
pub(crate) struct Labelled {
    pub(crate) name: &'static str,
    pub(crate) values: Vec<f64>,
    pub(crate) annotations: Vec<BTreeSet<usize>>,
}

macro_rules! read {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../data/change_points/", $name, ".json")))),*]
    };
}

/// All series.
pub(crate) fn all() -> Vec<Labelled> {
    let texts =
        read!("nile" "quality_control_1" "quality_control_2" "quality_control_3" "well_log");
    texts
        .into_iter()
        .map(|(name, text)| {
            let file: File = serde_json::from_str(text).expect("a series of this repository");
            Labelled {
                name,
                values: file.values,
                annotations: file.annotations,
            }
        })
        .collect()
}

impl Labelled {
    /// F1 of the places found: the precision counts what anybody marked, the recall is the
    /// mean over people. Each has the beginning of the series besides.
    pub(crate) fn f1(&self, found: &[usize]) -> f64 {
        let with_begin = |places: &BTreeSet<usize>| places.iter().copied().chain([0]).collect();
        let marked: Vec<BTreeSet<usize>> = self.annotations.iter().map(with_begin).collect();
        let found = with_begin(&found.iter().copied().collect());
        let by_anybody = marked.iter().flatten().copied().collect();
        let precision = matched(&by_anybody, &found) as f64 / found.len() as f64;
        let recalls = marked
            .iter()
            .map(|places| matched(places, &found) as f64 / places.len() as f64);
        let recall = recalls.sum::<f64>() / marked.len() as f64;
        2.0 * precision * recall / (precision + recall)
    }

    /// How well the segments found cover those of each person, on average over people: for
    /// each of their segments the largest Jaccard index, weighted by its length.
    pub(crate) fn covering(&self, found: &[usize]) -> f64 {
        let length = self.values.len();
        let found = segments(&found.iter().copied().collect(), length);
        let covers = self.annotations.iter().map(|marked| {
            let covered = segments(marked, length).into_iter().map(|(from, to)| {
                let overlaps = found.iter().map(|(start, end)| {
                    let both = *end.min(&to) as f64 - *start.max(&from) as f64;
                    let either = *end.max(&to) as f64 - *start.min(&from) as f64;
                    both.max(0.0) / either
                });
                (to - from) as f64 * overlaps.fold(0.0, f64::max)
            });
            covered.sum::<f64>() / length as f64
        });
        covers.sum::<f64>() / self.annotations.len() as f64
    }
}

/// Places of `marked` that have one of `found` beside them, each of which counts once.
fn matched(marked: &BTreeSet<usize>, found: &BTreeSet<usize>) -> usize {
    let mut left = found.clone();
    let is_matched = marked.iter().filter(|place| {
        let near = left
            .iter()
            .copied()
            .filter(|at| at.abs_diff(**place) <= MARGIN);
        match near.min_by_key(|at| at.abs_diff(**place)) {
            Some(nearest) => left.remove(&nearest),
            None => false,
        }
    });
    is_matched.count()
}

fn segments(places: &BTreeSet<usize>, length: usize) -> Vec<(usize, usize)> {
    let starts = places.iter().copied().filter(|place| *place > 0);
    let starts: Vec<usize> = std::iter::once(0).chain(starts).collect();
    let ends = starts.iter().skip(1).copied().chain([length]);
    starts.iter().copied().zip(ends).collect()
}
