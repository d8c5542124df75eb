//! Default budgets for a profile of the suite.

use breakeven_judge::{Budget, Limited, Limits, Scope};
use breakeven_profile::profile::Profile;

/// On a discrete GPU at the default workload: the kernel, its size, µs per call.
pub(crate) const SUITE: [(&str, u64, u64); 7] = [
    ("matrix_multiply", 65_536, 3_000),
    ("conv2d", 65_536, 2_000),
    ("pixel_entropy", 262_144, 8_000),
    ("image_segmentation", 65_536, 1_000),
    ("ar_forecast", 1_000, 500),
    ("lstm_cell_forward", 8_192, 3_000),
    ("dendritic_integration", 10, 300),
];

/// The suite's own budgets: for discrete GPUs, and for the default sizes.
pub(super) fn of_the_suite(profile: &Profile) -> Limits {
    let discrete = profile
        .environment
        .gpus
        .iter()
        .filter(|gpu| gpu.kind.as_deref() == Some("discrete"));
    let budgets = discrete
        .flat_map(|gpu| {
            SUITE.map(|(operation, size, us)| Budget {
                scope: Scope {
                    operation: operation.to_owned(),
                    device: Some(gpu.id.clone()),
                    size: Some(size),
                },
                limited: Limited::Mean,
                max: us as f64 * 1e3,
            })
        })
        .collect();
    Limits {
        budgets,
        ..Limits::default()
    }
}
