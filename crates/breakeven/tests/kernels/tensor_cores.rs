//! Products from inputs of half precision.

use breakeven::kernels::TensorCoreMatmul;
use breakeven::{ErrorKind, Operator, Tensor};

/// Values in [−1, 1) that half precision has to round.
fn values(shape: &[usize], seed: usize) -> Tensor<'static> {
    let len: usize = shape.iter().product();
    let value = |at: usize| ((at * 7919 + seed * 104_729) % 65_521) as f32 / 32_760.5 - 1.0;
    Tensor::new((0..len).map(value).collect::<Vec<_>>(), shape).unwrap()
}

/// The product in f64 of the values as they are.
fn exact([m, k, n]: [usize; 3], a: &[f32], b: &[f32]) -> Vec<f64> {
    let at = |row: usize, column: usize| {
        let terms = (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(b[i * n + column]));
        terms.sum()
    };
    (0..m * n).map(|place| at(place / n, place % n)).collect()
}

#[test]
fn half_precision_is_within_a_hundredth() {
    for [m, k, n] in [[1, 1, 1], [17, 33, 5], [64, 128, 96]] {
        let (a, b) = (values(&[1, m, k], 1), values(&[1, k, n], 2));
        let found = TensorCoreMatmul.on_cpu(&[&a, &b]).unwrap();
        let expected = exact([m, k, n], a.host().unwrap(), b.host().unwrap());
        let size = (k as f64).sqrt();
        let mut is_rounded = false;
        for (found, expected) in found.host().unwrap().iter().zip(&expected) {
            let off = (f64::from(*found) - expected).abs() / size;
            assert!(off < 1e-2, "{m} × {k} × {n}: {found} for {expected}");
            is_rounded |= off > 1e-6;
        }
        assert!(is_rounded, "half precision has 11 bits");
    }
    // What half precision has not.
    let large = Tensor::new(vec![1e6], &[1, 1, 1]).unwrap();
    let found = TensorCoreMatmul.on_cpu(&[&large, &large]).unwrap();
    assert_eq!(found.host().unwrap(), [f32::INFINITY]);
}

#[test]
fn shapes_that_do_not_go_together_are_refused_by_its_name() {
    let error = TensorCoreMatmul.on_cpu(&[&values(&[1, 2, 3], 1), &values(&[1, 4, 2], 2)]);
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shape);
    assert!(
        error.to_string().starts_with("tensor_core_matmul: "),
        "{error}"
    );
}

#[cfg(feature = "gpu")]
#[test]
fn a_device_multiplies_or_says_what_it_lacks() {
    use breakeven::DeviceErrorKind;

    let Some(gpu) = crate::device::first_gpu() else {
        return;
    };
    let (a, b) = (values(&[2, 64, 48], 1), values(&[2, 48, 80], 2));
    let found = gpu.run(&TensorCoreMatmul, &[&a, &b]);
    if gpu.has_tensor_cores() {
        let expected = TensorCoreMatmul.on_cpu(&[&a, &b]).unwrap();
        let pairs = found.unwrap();
        let pairs = pairs.host().unwrap().iter().zip(expected.host().unwrap());
        assert!(
            pairs
                .into_iter()
                .all(|(found, expected)| (found - expected).abs() < 1e-2)
        );
    } else {
        let error = found.unwrap_err();
        assert_eq!(error.kind, DeviceErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("tensor cores"), "{error}");
    }
}
