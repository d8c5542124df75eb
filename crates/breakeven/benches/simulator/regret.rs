//! What Auto loses for real: warm batches beside every fixed strategy, in turns.

use std::time::Duration;

use breakeven::plan::ExecutionStrategy;
use breakeven::profile::stats::{median, quantile};
use breakeven::testing::SimulatedSpec;

use crate::metric::metric;
use crate::{Point, WORKERS, really, spin};

const TASKS: [usize; 5] = [4, 40, 400, 4_000, 10_000];

/// Time of a task on a worker, and what it moves to the GPU and back.
const TASK: Duration = Duration::from_micros(40);
const BYTES: u64 = 16_384;

/// GPUs as `ScenarioGpu` describes them, that take the task's part of a worker's time.
fn devices() -> [(&'static str, SimulatedSpec); 2] {
    // 8.0 GB/s up and 3.2 GB/s down, one after the other.
    let down = BYTES * 80 / 32;
    let h200 = SimulatedSpec {
        overlaps: false,
        ..SimulatedSpec::new(Duration::from_micros(25), TASK / 80)
    };
    let pcie = SimulatedSpec::new(Duration::from_micros(15), TASK / 20);
    [
        ("h200_cuda", h200.with_transfer(8.0e9, BYTES, down)),
        ("pcie_discrete", pcie.with_transfer(12.0e9, BYTES, BYTES)),
    ]
}

pub(crate) fn print(rounds: usize) {
    let steps = spin::steps_of(TASK);
    let mut fixed = vec![ExecutionStrategy::CpuOnly, ExecutionStrategy::GpuOnly];
    fixed.extend((1..10).map(|tenth| ExecutionStrategy::hybrid(10 * tenth).expect("a part")));
    for (device, spec) in devices() {
        let mut regrets = Vec::new();
        for tasks in TASKS {
            let run = |strategy| {
                let point = Point {
                    tasks,
                    task: TASK,
                    strategy,
                    gpu: Some(spec.clone()),
                };
                really(&point, steps)
            };
            let (mut auto, mut others) = (Vec::new(), vec![Vec::new(); fixed.len()]);
            for _ in 0..rounds {
                auto.extend(run(ExecutionStrategy::Auto));
                for (strategy, times) in fixed.iter().zip(&mut others) {
                    times.extend(run(*strategy));
                }
            }
            let middle = |times: &Vec<f64>| median(times).expect("there are times");
            let best = others.iter().map(middle).fold(f64::INFINITY, f64::min);
            let regret = middle(&auto) / best;
            metric(
                &format!("regret_real/{device}/{WORKERS}/{tasks}"),
                regret,
                "",
            );
            regrets.push(regret);
        }
        regrets.sort_by(f64::total_cmp);
        let mean = regrets.iter().sum::<f64>() / regrets.len() as f64;
        metric(&format!("regret_real/{device}/mean"), mean, "");
        let worst = quantile(&regrets, 1.0).expect("there are regrets");
        metric(&format!("regret_real/{device}/worst"), worst, "");
    }
}
