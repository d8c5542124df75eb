//! What the cost model learns of a batch.

use std::time::{Duration, SystemTime};

use super::tally::Tally;
use crate::plan::{Costs, Observation, RanOn};

/// How many times as long as it was waited for a launch would have taken that was taken
/// back, as far as anybody knows.
const RECALLED_TIMES: u32 = 3;

/// A batch that was done.
pub(super) struct Taught<'e> {
    pub(super) tally: &'e Tally,
    pub(super) names: &'e [String],
    pub(super) took: Duration,
    /// The CPU had all from the start.
    pub(super) was_cpus: bool,
    pub(super) workers: usize,
    /// Tasks that fitted a launch of each GPU, after memory had not sufficed for more.
    pub(super) fits: &'e [Option<usize>],
}

impl Taught<'_> {
    pub(super) fn teach(&self, costs: &Costs, operation: &str, memory_per_task: usize) {
        let at = SystemTime::now();
        let workers = self.workers.max(1);
        let cpu = self.tally.cpu;
        let gpus = || self.tally.gpus.iter().zip(self.names);
        let tried = gpus().filter(|(gpu, _)| gpu.share.tasks > 0 || !gpu.recalled.is_empty());
        let tried: Vec<&str> = tried.map(|(_, name)| name.as_str()).collect();
        let tell = |on: RanOn<'_>, tasks: usize, time: Duration, shared: bool| {
            let seen = Observation {
                at,
                tasks: tasks as u64,
                ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
                transfer_ns: None,
                workers,
                shared,
            };
            costs.observe(operation, memory_per_task, on, &seen);
        };
        if cpu.tasks > 0 {
            // Of a batch of its own it counts how evenly the workers shared it.
            let was_alone = tried.is_empty() && self.tally.errors.is_empty();
            let time = match self.was_cpus || was_alone {
                true => self.took,
                false => {
                    let waves = cpu.tasks.div_ceil(workers) as f64;
                    cpu.busy.mul_f64(waves / cpu.tasks as f64)
                }
            };
            tell(RanOn::Cpu, cpu.tasks, time, !tried.is_empty());
        }
        for (gpu, name) in gpus() {
            let shared = cpu.tasks > 0 || tried.len() > 1;
            for (tasks, time) in &gpu.launches {
                tell(RanOn::Gpu(name), *tasks, *time, shared);
            }
            for (tasks, time) in &gpu.recalled {
                tell(RanOn::Gpu(name), *tasks, *time * RECALLED_TIMES, shared);
            }
        }
        let ns = u64::try_from(self.took.as_nanos()).unwrap_or(u64::MAX);
        costs.note_run(operation, memory_per_task, ns, cpu.tasks > 0, &tried);
        for (fits, name) in self.fits.iter().zip(self.names) {
            if let Some(fits) = fits {
                costs.remember_fit(operation, memory_per_task, name, *fits as u64, at);
            }
        }
    }
}
