//! `breakeven plan`, for machines that are described, so that this one does not
//! matter.

use std::fs;

use tempfile::TempDir;

use crate::command::{Breakeven, Ended, directory, line};

mod bad;
mod chain;
mod compare;
mod memory;
mod objective;
mod operation;
mod table;

/// The machine of the documentation.
const V100: &str = "cores = 16\nmemory = \"64 GiB\"\n[[gpu]]\nname = \"V100\"\nkind = \"discrete\"\n\
    memory = \"32 GiB\"\nmemory_used = \"2 GiB\"\nlaunch = \"20 us\"\ntransfer = \"12 GB/s\"\n\
    speedup = 20.0\n";

/// `plan` with these arguments for a machine with that description, run beside
/// the file `m.toml`.
fn plan_for(machine: &str, args: &str) -> (TempDir, Breakeven) {
    let directory = directory();
    fs::write(directory.path().join("m.toml"), machine).unwrap();
    let mut plan = line("plan --hardware m.toml").args(args);
    plan.command.current_dir(directory.path());
    (directory, plan)
}

/// What it says, and nothing on stderr.
#[track_caller]
fn planned(machine: &str, args: &str) -> Ended {
    let (_directory, plan) = plan_for(machine, args);
    plan.run().quietly(0)
}
