//! The rules, one per file. Each is a function of one operation, beside all the
//! others, that answers with a suggestion, with nothing, or with the measurement
//! that overruled its rule of thumb.

use super::case::{Case, Subject};
use super::proposal::{Advised, Gain, Saving, Verdict};
use super::suggestion::Rule;

mod algorithm;
mod batching;
mod caching;
mod cpu_to_gpu;
mod gpu_to_cpu;
mod memory;
mod parallelization;

/// Asks a rule about one operation.
pub(super) fn ask(rule: Rule, case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let ask = match rule {
        Rule::GpuToCpu => gpu_to_cpu::ask,
        Rule::CpuToGpu => cpu_to_gpu::ask,
        Rule::Batching => batching::ask,
        Rule::Memory => memory::ask,
        Rule::Caching => caching::ask,
        Rule::Algorithm => algorithm::ask,
        Rule::Parallelization => parallelization::ask,
    };
    ask(case, subject)
}
