//! What the feature `metrics` costs: a batch of one task, by a build with it and one without.

use std::sync::Arc;

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::profile::recorder::Clock;

use crate::samples::Samples;

pub(crate) fn exported(quick: bool) {
    let batches = if quick { 20_000 } else { 200_000 };
    if cfg!(feature = "metrics") {
        one_task(batches).print("batch_of_one/no_exporter", "ns", 1.0);
    } else {
        one_task(batches).print("batch_of_one/without_metrics", "ns", 1.0);
    }
    #[cfg(feature = "metrics")]
    {
        let exporter = metrics_exporter_prometheus::PrometheusBuilder::new()
            .set_buckets(&[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0])
            .expect("there are buckets")
            .build_recorder();
        metrics::with_local_recorder(&exporter, || {
            one_task(batches).print("batch_of_one/exporter", "ns", 1.0);
        });
    }
}

fn one_task(batches: usize) -> Samples {
    let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
    let clock = Clock::new();
    let mut samples = Samples::default();
    for _ in 0..batches {
        let batch = manager.operation("one");
        let result = samples.time(&clock, || {
            batch.execute([1_u64], |task| Ok::<_, std::convert::Infallible>(task + 1))
        });
        assert!(result.is_ok(), "a sum does not fail");
    }
    samples
}
