//! Whether groups of values differ by more than chance.

use breakeven_profile::stats::{Moments, StatsError, check_finite, finite};

use crate::distribution::f_upper_tail;

/// p-value of "all groups have one mean" by the analysis of variance (Fisher 1925,
/// "Statistical methods for research workers", chapter VII), for independent values, near
/// normal and as widely spread in each group. Of distances from each group's median it is
/// the test of equal spread of Brown and Forsythe (1974, "Robust tests for the equality
/// of variances"). Groups without any spread have 0 where they differ and 1 where not.
///
/// # Errors
/// [`StatsError`] without two groups or a group with two values, for an empty one, for a value
/// that is not finite, and for values so small that the squares of their differences are 0.
pub fn one_way_anova(groups: &[Vec<f64>]) -> Result<f64, StatsError> {
    let (mut all, mut within) = (Moments::new(), 0.0);
    for group in groups {
        check_finite("a group", group, 1)?;
        let moments = Moments::of(group)?;
        within += moments.variance().unwrap_or(0.0) * (group.len() - 1) as f64;
        all.merge(&moments);
    }
    let (values, got) = (groups.iter().map(Vec::len).sum::<usize>(), groups.len());
    if got < 2 || values <= got {
        return Err(StatsError::too_few("values or groups", 2, got));
    }
    let whole = all.variance().unwrap_or(0.0) * (values - 1) as f64;
    let [of_groups, of_values] = [got - 1, values - got].map(|count| count as f64);
    match whole - within > f64::EPSILON * whole {
        true => {
            let ratio = (whole - within) / of_groups / (within / of_values);
            if ratio.is_nan() {
                return finite("the ratio of variances", ratio);
            }
            Ok(f_upper_tail(ratio, of_groups, of_values))
        }
        false => Ok(1.0),
    }
}
