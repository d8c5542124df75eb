//! Any bytes as the cost model's file never panic: they are read or left aside
//! with a warning, and what was read can be looked up and written.
#![no_main]

use std::fs;
use std::time::SystemTime;

use breakeven::Costs;
use breakeven::plan::{Observation, RanOn};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir().join(format!("breakeven-fuzz-{}", std::process::id()));
    let path = folder.join("costs.json");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(&path, bytes).expect("a file");
    let (costs, warning) = Costs::load(&path);
    if let Some(warning) = &warning {
        assert_eq!(warning.to_string().lines().count(), 1, "{warning:?}");
    }
    let seen = Observation {
        at: SystemTime::now(),
        tasks: 10,
        ns: 1000,
        transfer_ns: None,
        workers: 2,
        shared: false,
    };
    for on in [RanOn::Cpu, RanOn::Gpu("gpu")] {
        costs.observe("blur", 4096, on, &seen);
    }
    for operation in costs.operations() {
        for size in costs.sizes(&operation) {
            let found = costs.lookup(&operation, size, &["gpu"], 2);
            for cost in [found.cpu, found.gpu(0).cost].into_iter().flatten() {
                assert!(cost.predict_ns(100).is_finite(), "{cost:?}");
            }
        }
    }
    let _ = costs.save();
    let _ = fs::remove_dir_all(&folder);
});
