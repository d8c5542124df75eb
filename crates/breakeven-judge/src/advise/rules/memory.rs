//! MEMORY: an operation that uses over 100 MB.
//!
//! If the profile has bytes and peaks, the roofline shows whether memory is the bottleneck. An
//! operation bound by arithmetic (60 % or more of that peak) overrules the rule.
//!
//! Estimate: t₀ is the time at the measured peaks, t the computing time (the kernel's on a GPU).
//! Better use of memory brings t to t₀ / 0.6, from which an operation counts as bound by the peak,
//! and at most to t₀; so the saving is own time × (t − t₀/0.6) / call, with a range up to (t − t₀)
//! / call. Above 60 % of the bandwidth only fewer bytes help: no estimate. There is none either
//! without peaks or flops, because the time may then be arithmetic.

use super::super::case::{Case, Subject};
use super::super::elsewhere::Gap;
use super::super::evidence::{Evidence, Gain, Verdict};
use crate::roofline::BOUND_SHARE;

/// Memory of a call above which it is examined, bytes.
const LARGE_MEMORY_BYTES: u64 = 100_000_000;

pub(super) fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let held = subject.memory_bytes;
    let Some(held) = held.filter(|bytes| *bytes > LARGE_MEMORY_BYTES) else {
        return Verdict::Silent;
    };
    let gap = Gap::of(case, subject);
    let (hint, gain) = match &gap {
        Some(gap) if Gap::is_bound(gap.flops_share) => {
            return Verdict::Overruled(gap.evidence());
        }
        Some(gap) if Gap::is_bound(gap.bytes_share) => (
            "move fewer bytes: smaller types, or fuse it with the operations before and after",
            Gain::unknown("it is near the measured bandwidth, where only fewer bytes help"),
        ),
        Some(gap) if subject.operation.flops.is_some() => {
            let most = gap.saved(gap.least_ns);
            (
                "work on blocks that fit into a cache, in the order in which they lie in memory, \
                 and reuse buffers instead of allocating",
                Gain::new(gap.saved(gap.least_ns / BOUND_SHARE), Some([0.0, most])),
            )
        }
        _ => (
            "work on blocks that fit into a cache, use smaller types, and reuse buffers instead of \
             allocating",
            Gain::unknown(
                "the profile lacks this device's peaks or the operation's bytes or flops",
            ),
        ),
    };
    let megabytes = held as f64 / 1e6;
    let most = LARGE_MEMORY_BYTES / 1_000_000;
    let thumb = format!("{megabytes:.0} MB held by a call (over {most} MB)");
    let mut evidence = vec![Evidence::rule_of_thumb(thumb)];
    evidence.splice(0..0, gap.map(|gap| gap.evidence()));
    let description = format!("a call holds {megabytes:.0} MB; {}", evidence[0]);
    Verdict::suggest(description, hint, evidence, gain)
}
