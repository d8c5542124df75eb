//! Batches through an exporter of the facade `metrics`.

use std::sync::Arc;
use std::time::Duration;

use breakeven::Costs;
use breakeven::DeviceErrorKind;
use breakeven::execute::{CancelToken, RayonCpu, StrategyManager, describe_metrics};
use breakeven::testing::{Fault, FaultScript, SimulatedGpu, SimulatedSpec};
use metrics_exporter_prometheus::PrometheusBuilder;

type Never = std::convert::Infallible;

#[test]
fn an_exporter_gets_batches_tasks_fallbacks_and_quarantines() {
    let recorder = PrometheusBuilder::new()
        .set_buckets(&[1e-3, 60.0])
        .expect("buckets")
        .build_recorder();
    let exporter = recorder.handle();
    let name = "metrics: simulated";
    let spec = SimulatedSpec {
        name: name.to_owned(),
        ..SimulatedSpec::new(Duration::from_micros(20), Duration::from_micros(1))
    };
    let lost = Fault::PollError(DeviceErrorKind::DeviceLost);
    let gpu =
        SimulatedGpu::new(spec, |task: &u64| task + 1).with_faults(FaultScript::none().at(1, lost));
    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(gpu))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy("hybrid:60/40".parse().expect("a strategy"));
    let tasks: Vec<u64> = (0..1000).collect();
    metrics::with_local_recorder(&recorder, || {
        describe_metrics();
        for _ in 0..2 {
            let batch = manager.operation("reported");
            let result = batch.execute(&tasks, |task| Ok::<_, Never>(task + 1));
            assert_eq!(result.expect("nothing fails").outputs[999], 1000);
        }
        let cancelled = CancelToken::new();
        cancelled.cancel();
        let batch = manager.operation("reported").cancel(&cancelled);
        let result = batch.execute(&tasks, |task| Ok::<_, Never>(task + 1));
        assert!(result.is_err(), "it was cancelled before it began");
    });
    let page = exporter.render();
    let has = |line: &str| {
        let found = page.lines().any(|each| each == line);
        assert!(found, "no {line} in\n{page}");
    };
    // The second batch's launch failed, so that it was the CPU's alone.
    let both = format!("cpu+{name}");
    for device in [&both, "cpu"] {
        let labels = format!(r#"operation="reported",device="{device}""#);
        has(&format!(
            r#"breakeven_batches_total{{{labels},outcome="done"}} 1"#
        ));
        has(&format!(
            "breakeven_batch_duration_seconds_count{{{labels}}} 1"
        ));
        has(&format!(
            r#"breakeven_batch_duration_seconds_bucket{{{labels},le="60"}} 1"#
        ));
    }
    has(r#"breakeven_tasks_total{operation="reported",device="cpu"} 1400"#);
    has(&format!(
        r#"breakeven_tasks_total{{operation="reported",device="{name}"}} 600"#
    ));
    has(r#"breakeven_fallback_tasks_total{operation="reported"} 600"#);
    has(&format!(
        r#"breakeven_quarantines_total{{operation="reported",device="{name}"}} 1"#
    ));
    has("# TYPE breakeven_batch_duration_seconds histogram");
    has("# HELP breakeven_fallback_tasks_total Tasks that fell back from a GPU to the CPU.");
    let incomplete = r#"outcome="incomplete"} 1"#;
    assert!(page.contains(incomplete), "{page}");
}
