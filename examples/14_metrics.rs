//! Batches as metrics, through the exporter that a program has.
//!
//! Run it with `cargo run --example 14_metrics --features breakeven/metrics`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::convert::Infallible;
use std::sync::Arc;

use breakeven::execute::{RayonCpu, StrategyManager, describe_metrics};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Any exporter of the crate `metrics` will do; this one makes Prometheus's text. Its
    // feature `http-listener` serves it.
    let buckets: Vec<f64> = (0..12).map(|power| 1e-6 * 4_f64.powi(power)).collect();
    let durations = Matcher::Full("breakeven_batch_duration_seconds".to_owned());
    let exporter = PrometheusBuilder::new()
        .set_buckets_for_metric(durations, &buckets)?
        .install_recorder()?;
    describe_metrics();

    let numbers: Vec<u64> = (0..10_000).collect();
    let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
    for _ in 0..3 {
        let roots = manager
            .operation("root")
            .execute(&numbers, |number| Ok::<_, Infallible>(number.isqrt()))?;
        assert_eq!(roots.outputs[9_801], 99);
    }

    let page = exporter.render();
    print!("{page}");
    let batches = r#"breakeven_batches_total{operation="root",device="cpu",outcome="done"} 3"#;
    assert!(page.contains(batches), "three batches were counted");
    Ok(())
}
