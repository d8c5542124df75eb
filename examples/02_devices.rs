//! Shows what the machine has, how much of it this process may use, and how
//! busy it is.
//!
//! Run it with `cargo run --example 02_devices`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use breakeven::hardware::{Fact, HardwareCapabilities, SystemLoad};
use breakeven_profile::unit;

fn main() {
    let hardware = HardwareCapabilities::detect();
    println!("processor  {}", hardware.cpu_model);
    println!(
        "cores      {} in the machine, {} usable",
        hardware.cpu_cores, hardware.usable_cores.cores
    );
    println!(
        "memory     {} in the machine, {} usable",
        hardware.system_memory_bytes.map(unit::bytes),
        hardware.usable_memory_bytes.map(unit::bytes)
    );
    for gpu in &hardware.gpus {
        println!("GPU        {} ({}): {}", gpu.id, gpu.kind, gpu.name);
    }
    for absent in &hardware.absent {
        println!("no GPU     {absent}");
    }

    // What cannot be read is `unknown`, never zero.
    let load = SystemLoad::sample();
    println!("CPU in use {}", load.cpu_use.map(unit::percent));
    println!(
        "free       {}",
        load.available_memory_bytes.map(unit::bytes)
    );

    assert!(hardware.usable_cores.workers <= hardware.cpu_cores);
    if let Fact::Known(share) = load.cpu_use {
        assert!((0.0..=1.0).contains(&share));
    }
}
