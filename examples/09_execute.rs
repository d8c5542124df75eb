//! Runs a batch where it pays, and shows what ran where and why.
//!
//! Run it with `cargo run --example 09_execute`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::sync::Arc;

use breakeven::DeviceError;
use breakeven::execute::{RayonCpu, StrategyManager};

/// One task: what the CPU does.
fn norm(vector: &[f64; 64]) -> f64 {
    vector.iter().fold(0.0, |sum, x| sum + x * x).sqrt()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let vectors: Vec<[f64; 64]> = (0..5_000).map(|i| [f64::from(i); 64]).collect();

    // A device is whatever takes a batch and gives a result for each task. This
    // closure stands for one; a GPU is in `10_images` and `11a_wgsl`.
    let device = |batch: &[[f64; 64]]| -> Result<Vec<f64>, DeviceError> {
        Ok(batch.iter().map(norm).collect())
    };

    let manager = StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(device));
    let result = manager.operation("norm").execute(&vectors, |vector| {
        Ok::<_, std::convert::Infallible>(norm(vector))
    })?;
    println!("{}", result.explain());

    // One output per task, in their order, whoever computed it.
    assert_eq!(result.outputs.len(), vectors.len());
    assert!(
        result
            .outputs
            .iter()
            .zip(0_i32..)
            .all(|(norm, i)| *norm == f64::from(i) * 8.0)
    );
    Ok(())
}
