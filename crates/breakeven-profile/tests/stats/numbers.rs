//! Numbers to try statistics with; `breakeven-stats` has them too.

use proptest::{prelude::*, sample::select};

/// Any number at all, and the awkward ones often.
pub(crate) fn awkward() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>(),
        4 => -10.0..10.0,
        4 => select(vec![0.0, 1.0, 1.0, 2.0, 5.0]),
        2 => select(vec![1e140, -1e140, 1e-140, 5e-324, -0.0, 1e139, f64::MIN_POSITIVE]),
        1 => select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN]),
    ]
}

/// Numbers that are taken, from the smallest to the largest.
pub(crate) fn taken() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1e3..1e3,
        3 => select(vec![0.0, 1.0, 1.0, 2.0, 5.0]),
        2 => select(vec![1e140, -1e140, 1e-140, 5e-324, -0.0]),
    ]
}
