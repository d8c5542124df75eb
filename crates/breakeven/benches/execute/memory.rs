//! What an execution holds beyond its outputs, and leaves behind.

use std::sync::Arc;
use std::time::Duration;

use breakeven::Costs;
use breakeven::execute::{GpuExecutor, RayonCpu, StrategyManager};
use breakeven::plan::ExecutionStrategy;
use breakeven::testing::{SimulatedGpu, SimulatedSpec};

use crate::allocator::{Held, held_by};
use crate::metric::metric;

const COUNTS: [usize; 3] = [5, 1_000, 100_000];

pub(crate) fn memory() {
    let cpu = Arc::new(RayonCpu::current());
    let alone = StrategyManager::cpu_only(Arc::clone(&cpu));
    let [few, many, most] = COUNTS.map(|tasks| beyond("cpu_only", &alone, tasks));
    metric("memory_fixed", few as f64, "bytes");
    let grown = (most - many) as f64 / (COUNTS[2] - COUNTS[1]) as f64;
    metric("memory_per_task", grown, "bytes");
    // The outputs of a launch are the device's own until they are in their
    // places: half the batch's here, in launches of a part of that.
    let spec = SimulatedSpec::new(Duration::from_micros(20), Duration::from_nanos(100));
    let gpu = SimulatedGpu::new(spec, |task: &u64| *task);
    let both = StrategyManager::new(cpu, Arc::new(gpu))
        .with_costs(Arc::new(Costs::new()))
        .with_strategy(ExecutionStrategy::hybrid(50).expect("50 % is a part"));
    for tasks in COUNTS {
        beyond("hybrid", &both, tasks);
    }
}

/// The most that an execution held beyond its outputs, bytes.
fn beyond<G: GpuExecutor<u64, u64>>(
    name: &str,
    manager: &StrategyManager<RayonCpu, G>,
    tasks: usize,
) -> i64 {
    let inputs: Vec<u64> = (0..tasks as u64).collect();
    let outputs = i64::try_from(std::mem::size_of_val(inputs.as_slice())).expect("few bytes");
    let mut spans = 0;
    let mut execute = || {
        let result = manager
            .operation("memory")
            .execute(&inputs, |task| Ok::<_, ()>(*task))
            .expect("no task fails");
        spans = result.cpu.spans + result.gpu.spans;
        // As a program has it: the result lives until the outputs were used.
        assert_eq!(result.outputs.len(), tasks);
    };
    // What is made once is not an execution's.
    (0..20).for_each(|_| execute());
    // The least of a few: others' threads allocate too, now and then.
    let all: Vec<Held> = (0..20).map(|_| held_by(&mut execute)).collect();
    let most = all.iter().map(|held| held.most).min().expect("some") - outputs;
    let left = all.iter().map(|held| held.left).min().expect("some");
    metric(&format!("memory_{name}/{tasks}"), most as f64, "bytes");
    metric(&format!("memory_{name}_left/{tasks}"), left as f64, "bytes");
    metric(&format!("memory_{name}_spans/{tasks}"), spans as f64, "");
    most
}
