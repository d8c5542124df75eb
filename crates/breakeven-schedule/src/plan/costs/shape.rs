//! Where the work lies in the batches of an operation, as far as that repeats, and how far their
//! tasks differ.

use std::sync::Arc;

use crate::plan::Tuning;

/// Places in a batch.
pub(crate) const PLACES: usize = 32;

/// Where the work of a batch is expected, and how far its tasks differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// The work of a task at each place, relative to the batch's mean.
    pub(crate) places: [f32; PLACES],
    /// Mean deviation of a batch from this at a place.
    pub(crate) spread: f32,
    /// The most expensive of n tasks has n to this power times the mean work: 0 if they are alike,
    /// 1/a for a Pareto tail of index a.
    pub(crate) tail: f32,
}

impl Shape {
    /// Returns true if batches follow it, so that the work of the next one is predictable.
    pub(crate) fn repeats(&self, tuning: &Tuning) -> bool {
        self.spread <= tuning.most_spread
    }

    /// Returns true if all places are known to have about the same work.
    pub(crate) fn is_even(&self, tuning: &Tuning) -> bool {
        let least = self.places.iter().copied().fold(f32::INFINITY, f32::min);
        let most = self.places.iter().copied().fold(0.0, f32::max);
        self.repeats(tuning) && f64::from(most) <= tuning.alike * f64::from(least)
    }

    /// Returns how far tasks differ ([`Shape::tail`]), if a batch has shown it.
    pub(crate) fn tail_of(shape: Option<&Arc<Self>>) -> f64 {
        shape.map_or(0.0, |shape| shape.tail.into())
    }
}

/// The observed work at a place of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlaceWork {
    /// The work of a task, relative to the batch's mean.
    pub(crate) work: f32,
    /// GPUs ran most of its tasks.
    pub(crate) is_gpus: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            places: [1.0; PLACES],
            spread: f32::INFINITY,
            tail: 0.0,
        }
    }
}

/// The shape of an operation's batches, and how well it predicts the next one.
#[derive(Debug, Clone, Default)]
pub(super) struct Remembered {
    shape: Shape,
    /// The prediction for the next batch; none before the first.
    expected: Option<Arc<Shape>>,
    /// Slope of the regression of a batch's shape on the shape remembered before it: 1 if batches
    /// repeat, 0 if the order of their tasks changes each time.
    agreement: f32,
    batches: u32,
}

impl Remembered {
    /// Returns the prediction for the next batch.
    pub(super) fn expected(&self) -> Option<Arc<Shape>> {
        self.expected.clone()
    }

    /// Records the observed places of a batch. Places without an observation are none, and so is
    /// the tail if workers ran too few tasks.
    pub(super) fn note(
        &mut self,
        seen: &[Option<PlaceWork>; PLACES],
        tail: Option<f32>,
        tuning: &Tuning,
    ) {
        if let Some(tail) = tail {
            let is_first = self.shape.tail == 0.0;
            let part = if is_first { 1.0 } else { tuning.shape_step };
            self.shape.tail += part * (tail - self.shape.tail);
        }
        if seen.iter().all(Option::is_none) {
            return;
        }
        let mut values = seen.map(|seen| seen.map(|seen| seen.work));
        let part = |first: u32| {
            if self.batches > first {
                tuning.shape_step
            } else {
                1.0
            }
        };
        if let Some(expected) = &self.expected {
            let off = pairs(&values, expected).map(|(new, old)| (new - old).abs());
            let spread = off.sum::<f32>() / pairs(&values, expected).count() as f32;
            let old = match self.batches > 1 {
                true => self.shape.spread,
                false => spread,
            };
            self.shape.spread = old + tuning.shape_step * (spread - old);
            let sums = pairs(&values, &self.shape).fold((0.0, 0.0), |(both, sum), (new, old)| {
                let (new, old) = (new - 1.0, old - 1.0);
                (both + new * old, sum + old * old)
            });
            let slope = match sums.1 > 0.0 {
                true => (sums.0 / sums.1).clamp(0.0, 1.0),
                false => 0.0,
            };
            self.agreement += part(1) * (slope - self.agreement);
            if self.shape.repeats(tuning) {
                self.keep_levels(seen, &mut values);
            }
        }
        for (value, new) in self.shape.places.iter_mut().zip(values) {
            *value += part(0) * (new.unwrap_or(1.0) - *value);
        }
        self.batches = self.batches.saturating_add(1);
        let pulled = |value| 1.0 + self.agreement * (value - 1.0);
        self.expected = Some(Arc::new(Shape {
            places: self.shape.places.map(pulled),
            ..self.shape
        }));
    }

    /// Keeps the ratio between the work at places of workers and at places of GPUs. If tasks always
    /// run on the same device, nothing shows whether they are expensive or the device is slow, and
    /// the ratio would drift.
    fn keep_levels(&self, seen: &[Option<PlaceWork>; PLACES], values: &mut [Option<f32>; PLACES]) {
        for of_gpus in [false, true] {
            let is_one =
                |seen: &Option<PlaceWork>| seen.is_some_and(|seen| seen.is_gpus == of_gpus);
            let of_group = seen.iter().zip(values.iter().zip(self.shape.places));
            let of_group = of_group.filter(|(seen, _)| is_one(seen));
            let (new, old) = of_group.fold((0.0, 0.0), |(new, old), (_, (value, known))| {
                (new + value.unwrap_or(0.0), old + known)
            });
            if new > 0.0 && old > 0.0 {
                let group = values.iter_mut().zip(seen).filter(|(_, seen)| is_one(seen));
                group.for_each(|(value, _)| *value = value.map(|value| value * old / new));
            }
        }
    }
}

/// Pairs the observed with the remembered value at each observed place.
fn pairs(seen: &[Option<f32>; PLACES], known: &Shape) -> impl Iterator<Item = (f32, f32)> {
    let pairs = seen.iter().zip(known.places);
    pairs.filter_map(|(new, old)| Some(((*new)?, old)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_repeats_is_expected() {
        let half = |front: f32| {
            std::array::from_fn(|place| {
                let is_front = place < PLACES / 2;
                let work = if is_front { front } else { 2.0 - front };
                let is_gpus = false;
                Some(PlaceWork { work, is_gpus })
            })
        };
        let mut same = Remembered::default();
        let mut other = Remembered::default();
        for batch in 0..6 {
            same.note(&half(0.2), None, Tuning::USUAL);
            other.note(
                &half(if batch % 2 == 0 { 0.2 } else { 1.8 }),
                None,
                Tuning::USUAL,
            );
        }
        let front = |remembered: &Remembered| remembered.expected().map(|shape| shape.places[0]);
        assert!(front(&same).is_some_and(|work| (work - 0.2).abs() < 0.01));
        let is_level = front(&other).is_some_and(|work| (work - 1.0).abs() < 0.3);
        assert!(is_level, "{other:?}");
    }

    #[test]
    fn the_tail_is_followed_and_what_shows_nothing_changes_nothing() {
        let mut shape = Remembered::default();
        let seen = [Some(PlaceWork {
            work: 1.0,
            is_gpus: false,
        }); PLACES];
        let mut tail = |tail| {
            shape.note(&seen, tail, Tuning::USUAL);
            shape.expected().expect("a batch showed it").tail
        };
        assert_eq!(tail(None), 0.0);
        assert_eq!([tail(Some(0.5)), tail(None)], [0.5, 0.5]);
        assert!((tail(Some(0.0)) - 0.15).abs() < 1e-6);
    }
}
