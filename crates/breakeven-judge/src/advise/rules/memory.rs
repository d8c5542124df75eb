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

use super::super::case::{Case, Gain, Subject, Verdict};
use super::super::elsewhere::Gap;
use super::super::evidence::Quantity;
use super::{Definition, Saves, SuggestionType};

pub(super) const RULE: Definition = Definition {
    kind: SuggestionType::Memory,
    saves: Saves::Roofline,
    applies: |case, subject| subject.memory_bytes > Some(case.thresholds.large_memory_bytes),
    ask,
};

fn ask(case: &Case<'_>, subject: &Subject<'_>) -> Verdict {
    let limit = case.thresholds.large_memory_bytes;
    let held_bytes = subject.memory_bytes.unwrap_or(0);
    let bound = case.thresholds.bound_share;
    let gap = Gap::of(case, subject);
    let thumb = Quantity::Memory.thumb(held_bytes as f64, limit as f64);
    let (hint, gain) = match &gap {
        Some(gap) if gap.flops_share.is_some_and(|share| share >= bound) => {
            return Verdict::Overruled(vec![gap.evidence()]);
        }
        Some(gap) if gap.bytes_share.is_some_and(|share| share >= bound) => (
            "move fewer bytes: smaller types, or fuse it with the operations before and after",
            Gain::unknown(
                "it is near the measured bandwidth, where only fewer bytes help",
                None,
            ),
        ),
        Some(gap) if subject.operation.flops.is_none() => (
            "find out whether the time goes to memory, then work on blocks that fit into a cache, \
             in the order in which they lie in memory",
            Gain::unknown(
                "without the operation's flops the time may equally go to arithmetic",
                Some([0.0, gap.most(subject)]),
            ),
        ),
        Some(gap) => (
            "work on blocks that fit into a cache, in the order in which they lie in memory, and \
             reuse buffers instead of allocating",
            gap.closed_to(bound, subject),
        ),
        None => (
            "work on blocks that fit into a cache, use smaller types, and reuse buffers instead of \
             allocating",
            Gain::unknown(
                "the profile lacks this device's peaks or the operation's bytes",
                None,
            ),
        ),
    };
    let roofline = gap.map(|gap| gap.evidence());
    let basis = roofline.as_ref().unwrap_or(&thumb).to_string();
    Verdict::suggest(
        format!("a call holds {:.0} MB; {basis}", held_bytes as f64 / 1e6),
        hint,
        roofline.into_iter().chain([thumb]).collect(),
        gain,
    )
}
