//! Where in the batches of an operation the work lies, as far as that repeats.

/// Places of a batch.
pub(crate) const PLACES: usize = 32;

/// Part that the newest batch has in what is remembered.
const NEWEST: f32 = 0.5;

/// Where in a batch the work is to be expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// The work of a task at each place, relative to the batch's mean.
    pub(crate) places: [f32; PLACES],
    /// How far a batch is off that at a place, on average.
    pub(crate) spread: f32,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            places: [1.0; PLACES],
            spread: f32::INFINITY,
        }
    }
}

/// The shape that the batches of an operation had, and how well the next one's is told
/// by it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Remembered {
    shape: Shape,
    /// Slope of the regression of a batch's shape on what was remembered before it: 1
    /// where batches repeat, 0 where the order of their tasks is another each time.
    agreement: f32,
    batches: u32,
}

impl Remembered {
    /// What is to be expected of the next batch.
    pub(super) fn expected(&self) -> Shape {
        let places = self
            .shape
            .places
            .map(|value| 1.0 + self.agreement * (value - 1.0));
        Shape {
            places,
            ..self.shape
        }
    }

    /// Takes in what was seen of a batch; places of which nothing was seen are none.
    pub(super) fn note(&mut self, seen: &[Option<f32>; PLACES]) {
        let pairs = |shape: Shape| {
            let pairs = seen.iter().zip(shape.places);
            pairs.filter_map(|(new, old)| Some((new.as_ref()? - 1.0, old - 1.0)))
        };
        let part = |first: u32| if self.batches > first { NEWEST } else { 1.0 };
        if self.batches > 0 {
            let off = pairs(self.expected()).map(|(new, old)| (new - old).abs());
            let spread = off.sum::<f32>() / pairs(self.shape).count().max(1) as f32;
            let old = if self.batches > 1 {
                self.shape.spread
            } else {
                spread
            };
            self.shape.spread = old + NEWEST * (spread - old);
            let sums = pairs(self.shape).fold((0.0, 0.0), |(both, sum), (new, old)| {
                (both + new * old, sum + old * old)
            });
            let slope = if sums.1 > 0.0 {
                (sums.0 / sums.1).clamp(0.0, 1.0)
            } else {
                0.0
            };
            self.agreement += part(1) * (slope - self.agreement);
        }
        for (value, new) in self.shape.places.iter_mut().zip(seen) {
            *value += part(0) * (new.unwrap_or(1.0) - *value);
        }
        self.batches = self.batches.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_repeats_is_expected() {
        let half = |front: f32| {
            std::array::from_fn(|place| {
                Some(if place < PLACES / 2 {
                    front
                } else {
                    2.0 - front
                })
            })
        };
        let mut same = Remembered::default();
        let mut other = Remembered::default();
        for batch in 0..6 {
            same.note(&half(0.2));
            other.note(&half(if batch % 2 == 0 { 0.2 } else { 1.8 }));
        }
        assert!((same.expected().places[0] - 0.2).abs() < 0.01);
        assert!((other.expected().places[0] - 1.0).abs() < 0.3, "{other:?}");
    }
}
