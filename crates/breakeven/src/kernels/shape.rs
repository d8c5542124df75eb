//! Sizes computed without overflow.

use crate::error::Error;

/// The product of the dimensions, or an error that names the shape.
pub(super) fn product(what: &str, dims: &[usize]) -> Result<usize, Error> {
    dims.iter()
        .try_fold(1_usize, |all, &dim| all.checked_mul(dim))
        // Slices and device buffers count bytes in `isize` and `u64`.
        .filter(|&elements| elements <= isize::MAX as usize / 8)
        .ok_or_else(|| {
            Error::too_large(format!(
                "{what} of shape {} has more elements than memory has addresses",
                text(dims)
            ))
        })
}

/// A shape as people write it: `2×256×256`.
pub(super) fn text(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    dims.join("×")
}
