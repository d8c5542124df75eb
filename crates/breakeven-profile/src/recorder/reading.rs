//! The recording of one operation on one call path, as an export sees it.

use super::field::Attributes;
use crate::profile::Executions;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reading {
    pub(super) count: u64,
    pub(super) sum: u64,
    pub(super) squares: u128,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) children: u64,
    pub(super) folded: u64,
    pub(super) nested: u64,
    pub(super) apart: u64,
    pub(super) cancelled: u64,
    pub(super) memory: u64,
    /// Sum of the values and number of calls that set one.
    pub(super) bytes: (u128, u64),
    pub(super) items: (u128, u64),
    pub(super) flops: (u128, u64),
    pub(super) gpu_use: (f64, u64),
    /// Kept calls: the total time, and the polled time in it.
    pub(super) kept: Vec<(u64, u64)>,
    pub(super) attributes: Attributes,
    pub(super) executions: Option<Box<Executions>>,
    pub(super) within_execution: bool,
}

impl Reading {
    /// Time that threads spent in calls of this node.
    pub(super) fn busy(&self) -> u64 {
        self.sum.wrapping_add(self.apart)
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::Node;
    use super::super::writer::Writer;

    #[test]
    fn a_reader_never_sees_halves_of_two_kept_calls() {
        for _ in 0..200 {
            let node = Node::new(1);
            std::thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    let own = Writer::new();
                    for polled in 1..20_000 {
                        node.record_whole(3 * polled, polled, false, &own);
                    }
                });
                while !writer.is_finished() {
                    for (ticks, polled) in node.read().kept {
                        assert_eq!(ticks, 3 * polled);
                    }
                }
            });
        }
    }
}
