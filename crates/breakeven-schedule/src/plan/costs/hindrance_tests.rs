//! What a batch in which the CPU begins alone shows about all devices.

use super::costs_tests::{look, on_cpu, on_gpu, seen};
use super::{Model, Observation};

/// 100 tasks beside other devices, in `ns`.
fn beside(second: u64, ns: u64) -> Observation {
    Observation {
        shared: true,
        ..seen(second, 100, ns)
    }
}

#[test]
fn what_hinders_the_cpu_hinders_a_gpu_as_far_as_anybody_knows() {
    let mut costs = Model::default();
    let is = |costs: &Model, beside: f64, cpu_ns: f64, gpu_ns: f64| {
        let known = look(costs);
        for (cost, ns) in [(known.cpu, cpu_ns), (known.gpu(0).cost, gpu_ns)] {
            let cost = cost.expect("it was observed");
            let times = cost.predict_ns(100) / ns;
            assert!((times - 1.0).abs() < 0.02, "{known:?}");
        }
        let gpu = known.gpu(0).cost.expect("it was observed");
        assert!((gpu.beside - beside).abs() < 1e-9, "{gpu:?}");
    };
    for second in 1..=3 {
        on_cpu(&mut costs, beside(second, 3_000_000));
        on_gpu(&mut costs, beside(second, 1_500_000));
    }
    is(&costs, 1.0, 3e6, 1.5e6);
    costs.note_hindrance("blur", 4096, 10, Some(1.5));
    is(&costs, 1.5, 2e6, 1e6);
    // A batch that shows nothing changes nothing, and the file keeps it.
    costs.note_hindrance("blur", 4096, 10, None);
    let filed = costs.join(vec![], vec![]).operations;
    let mut read = Model::of(9);
    read.join(filed, vec![]);
    is(&read, 1.5, 2e6, 1e6);
    // Alone the GPU takes as long as beside: nothing hinders it.
    for second in 4..=6 {
        on_gpu(&mut costs, seen(second, 100, 1_500_000));
    }
    is(&costs, 1.0, 2e6, 1.5e6);
    costs.note_hindrance("blur", 4096, 10, Some(f64::NAN));
    is(&costs, 1.0, 3e6, 1.5e6);
}
