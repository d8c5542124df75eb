//! The correction of p-values for the number of comparisons.

use breakeven_profile::stats::StatsError;

/// Benjamini and Hochberg (1995, "Controlling the false discovery rate"):
/// adjusted p-values in the order of the input, none for none. Calling those
/// at or below α significant keeps the expected share of false calls among
/// them at α (for independent or positively dependent tests).
///
/// # Errors
/// [`StatsError`] for a value that is no probability.
pub fn benjamini_hochberg(p_values: &[f64]) -> Result<Vec<f64>, StatsError> {
    let order = ascending_order(p_values)?;
    let n = p_values.len() as f64;
    let mut adjusted = vec![0.0; p_values.len()];
    let mut least = 1.0f64;
    // From the largest down: none is above the one that follows it.
    for (before, &i) in order.iter().enumerate().rev() {
        least = least.min(p_values[i] * (n / (before + 1) as f64));
        adjusted[i] = least;
    }
    Ok(adjusted)
}

fn ascending_order(p_values: &[f64]) -> Result<Vec<usize>, StatsError> {
    let bad = |p: &f64| !(0.0..=1.0).contains(p);
    if let Some(index) = p_values.iter().position(bad) {
        return Err(StatsError::new(format!(
            "p_values[{index}] is {}, not a probability between 0 and 1",
            p_values[index]
        )));
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&i, &j| p_values[i].total_cmp(&p_values[j]));
    Ok(order)
}
