//! Choices by the size of a problem: what was chosen, why, and on what it stands.
//!
//! They begin with constants that proved good on discrete GPUs; [`Choice::measured`] replaces them
//! by measurements. A window and half precision change the result, so the caller gets them
//! as part of the choice.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use breakeven_profile::unit;

use super::{LstmCell, MatrixMultiply, PixelEntropy};
use crate::error::Error;
use crate::operator::Operator;
use breakeven_schedule::plan::Evidence;

/// Pixels above which a window is 8 wide, and 16.
const WINDOWS: [(usize, usize); 2] = [(200_000, 8), (50_000, 16)];
const WIDEST_WINDOW: usize = 32;

/// Latency limits with the batch size for each.
const BATCHES: [(Duration, usize); 2] = [
    (Duration::from_millis(5), 8),
    (Duration::from_millis(10), 32),
];
const LARGEST_BATCH: usize = 64;

/// Rows, columns and depth from which on a product goes to tensor cores.
const TENSOR_CORES_FROM: usize = 512;

/// What was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice<T> {
    /// It.
    pub value: T,
    /// What it stands on.
    pub evidence: Evidence,
    /// Why, in words: as `explain()` has them.
    pub reason: String,
}

impl<T> fmt::Display for Choice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.reason, self.evidence)
    }
}

impl<T> Choice<T> {
    fn by_constant(value: T, reason: String) -> Self {
        Self {
            value,
            evidence: Evidence::Heuristic,
            reason,
        }
    }

    /// Returns the first of some values, best first, that was measured to take at most that long;
    /// the fastest if none does.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use breakeven_kernels::LstmCell;
    ///
    /// let latency = Duration::from_millis(4);
    /// let batch = LstmCell::batch_within(latency);
    /// assert_eq!(batch.value, 8);
    /// // Here an item takes 50 µs.
    /// let batch = batch.measured(&[64, 32, 16, 8], latency, |batch| {
    ///     Ok(Duration::from_micros(50) * *batch as u32)
    /// })?;
    /// assert_eq!(batch.value, 64);
    /// # Ok::<(), breakeven_types::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first one of `measure`; no values.
    pub fn measured(
        self,
        values: &[T],
        within: Duration,
        mut measure: impl FnMut(&T) -> Result<Duration, Error>,
    ) -> Result<Self, Error>
    where
        T: Clone + fmt::Debug,
    {
        let mut fastest: Option<(Duration, &T)> = None;
        let limit = unit::time(within.as_nanos() as f64);
        for value in values {
            let took = measure(value)?;
            let time = unit::time(took.as_nanos() as f64);
            if took <= within {
                return Ok(Self {
                    value: value.clone(),
                    evidence: Evidence::Measured,
                    reason: format!("{value:?}: the first that takes {limit} at the most, {time}"),
                });
            }
            if fastest.is_none_or(|(least, _)| took < least) {
                fastest = Some((took, value));
            }
        }
        let (took, value) =
            fastest.ok_or_else(|| Error::invalid("no values to choose from; give one or more"))?;
        let time = unit::time(took.as_nanos() as f64);
        Ok(Self {
            value: value.clone(),
            evidence: Evidence::Measured,
            reason: format!(
                "{value:?}: none takes {limit} or less, and this is the fastest, {time}"
            ),
        })
    }
}

impl PixelEntropy {
    /// Entropies in a window as wide as leaves large images fast: 8 above 200 000 pixels, 16
    /// above 50 000, else 32. The window changes what is computed.
    ///
    /// # Errors
    ///
    /// As [`new`](PixelEntropy::new).
    pub fn for_image(height: usize, width: usize) -> Result<Choice<Self>, Error> {
        let pixels = height.saturating_mul(width);
        let narrower = WINDOWS.into_iter().find(|(above, _)| pixels > *above);
        let (window, why) = match narrower {
            Some((above, window)) => (window, format!("more than {above}")),
            None => (WIDEST_WINDOW, format!("no more than {}", WINDOWS[1].0)),
        };
        let reason = format!("window {window}: {pixels} pixels are {why}");
        Ok(Choice::by_constant(Self::new(window)?, reason))
    }
}

impl LstmCell {
    /// Returns the batch size for a time limit: 8 under 5 ms, 32 under 10 ms, else 64 items.
    pub fn batch_within(latency: Duration) -> Choice<usize> {
        let smaller = BATCHES.into_iter().find(|(under, _)| latency < *under);
        let text = |time: Duration| unit::time(time.as_nanos() as f64);
        let (batch, why) = match smaller {
            Some((under, batch)) => (batch, format!("under {}", text(under))),
            None => (LARGEST_BATCH, format!("{} or more", text(BATCHES[1].0))),
        };
        let reason = format!("batch {batch}: {} are {why}", text(latency));
        Choice::by_constant(batch, reason)
    }
}

/// An operator for products, whichever it is.
pub type Product = Arc<dyn Operator<In = f32, Out = f32>>;

impl MatrixMultiply {
    /// Multiplies m × k by k × n for a device with or without tensor cores: on tensor cores, from
    /// half-precision inputs, if all three are 512 or more, else in f32. Half precision changes the
    /// result.
    ///
    /// `Gpu::has_tensor_cores` says what a device has.
    pub fn or_tensor_cores([m, k, n]: [usize; 3], has_tensor_cores: bool) -> Choice<Product> {
        let least = m.min(k).min(n);
        let (value, what): (Product, _) = match has_tensor_cores && least >= TENSOR_CORES_FROM {
            true => (
                Arc::new(super::TensorCoreMatmul),
                "tensor cores, half precision",
            ),
            false => (Arc::new(Self), "plain cores, f32"),
        };
        let why = match has_tensor_cores {
            false => "the device has no tensor cores".to_owned(),
            true if least >= TENSOR_CORES_FROM => {
                format!("m, k and n are {TENSOR_CORES_FROM} or more")
            }
            true => format!("the least of m, k and n is {least}, under {TENSOR_CORES_FROM}"),
        };
        Choice::by_constant(value, format!("{what}: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_choose_and_say_why() {
        let window = |side: usize| {
            PixelEntropy::for_image(side, side)
                .expect("a window")
                .to_string()
        };
        assert_eq!(
            window(512),
            "window 8: 262144 pixels are more than 200000 (heuristic)"
        );
        assert!(window(300).starts_with("window 16: "));
        assert!(window(100).starts_with("window 32: 10000 pixels are no more than 50000"));
        let batch = |ms| LstmCell::batch_within(Duration::from_millis(ms)).value;
        assert_eq!([4, 5, 9, 10, 100].map(batch), [8, 32, 32, 64, 64]);
        let product = |dims, has| MatrixMultiply::or_tensor_cores(dims, has);
        assert_eq!(product([512; 3], true).value.name(), "tensor_core_matmul");
        for (dims, has) in [([512, 511, 512], true), ([512; 3], false)] {
            assert_eq!(product(dims, has).value.name(), "matrix_multiply");
        }
        assert_eq!(
            product([600, 40, 512], true).reason,
            "plain cores, f32: the least of m, k and n is 40, under 512"
        );
    }

    #[test]
    fn measurements_replace_them() {
        let start = || LstmCell::batch_within(Duration::from_millis(20));
        let time = |batch: &usize| Ok(Duration::from_millis(1) * *batch as u32);
        let of = |within| start().measured(&[64, 16, 4], Duration::from_millis(within), time);
        let found = of(20).expect("measured");
        assert_eq!((found.value, found.evidence), (16, Evidence::Measured));
        assert_eq!(
            of(1).expect("measured").value,
            4,
            "the fastest where none is fast enough"
        );
        let none = start().measured(&[], Duration::ZERO, time);
        assert!(none.is_err());
    }
}
