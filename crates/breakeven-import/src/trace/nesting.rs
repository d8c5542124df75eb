//! Which calls of a thread are inside which: own times and call paths.

use std::cmp::Reverse;
use std::collections::HashMap;

use breakeven_profile::profile::Stack;

use crate::note::Notes;
use crate::paths::Paths;

/// Sets of properly nested calls of a thread: calls that overlap without one being inside
/// the other are in different ones.
const LANES: usize = 64;

/// A call of an operation on a thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) operation: u32,
    pub(super) track: u32,
}

/// A call that others may be inside of.
struct Open {
    start: i64,
    end: i64,
    operation: u32,
    path: u32,
    inside_ns: u64,
    nested: u64,
}

/// What the calls of an operation have inside them.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Own {
    /// Own time, ns.
    pub(super) ns: u64,
    /// Calls inside, at any depth.
    pub(super) nested: u64,
}

/// What closed calls add up to.
#[derive(Default)]
struct Done {
    own: HashMap<u32, Own>,
    paths: Paths,
    /// Calls that overlap with too many others for a path.
    beside: u64,
}

/// Own times per operation, and the call paths in the order of time; `name` gives that of an
/// operation. A call may outlast the one around it by so many ns: tracers round.
pub(super) fn nested<'n>(
    mut calls: Vec<Call>,
    slack_ns: i64,
    name: impl Fn(u32) -> &'n str,
    notes: &mut Notes,
) -> (HashMap<u32, Own>, Vec<Stack>) {
    calls.sort_by_key(|call| (call.start, Reverse(call.end)));
    let mut threads: HashMap<u32, Vec<Vec<Open>>> = HashMap::new();
    let mut done = Done::default();
    for call in calls {
        done.open(threads.entry(call.track).or_default(), call, slack_ns);
    }
    for mut lane in threads.into_values().flatten() {
        while let Some(open) = lane.pop() {
            done.close(open, lane.last_mut());
        }
    }
    let why = format!("in no call path: they overlap with more than {LANES} others");
    notes.left_out(done.beside, "call(s)", &why);
    (done.own, done.paths.stacks(name, notes))
}

impl Done {
    fn open(&mut self, lanes: &mut Vec<Vec<Open>>, call: Call, slack_ns: i64) {
        for lane in lanes.iter_mut() {
            while let Some(over) = lane.pop_if(|open| open.end <= call.start) {
                self.close(over, lane.last_mut());
            }
        }
        let fits = |lane: &Vec<Open>| match lane.last() {
            Some(around) => call.end <= around.end.saturating_add(slack_ns),
            None => true,
        };
        let lane = lanes.iter().position(fits).unwrap_or(lanes.len());
        if lane == LANES {
            self.beside += 1;
            let own = self.own.entry(call.operation).or_default();
            own.ns = own.ns.saturating_add(call.end.abs_diff(call.start));
            return;
        }
        if lane == lanes.len() {
            lanes.push(Vec::new());
        }
        let lane = &mut lanes[lane];
        let around = lane.last();
        let path = (self.paths).step(around.map(|around| around.path), call.operation);
        let end = around.map_or(call.end, |around| call.end.min(around.end));
        lane.push(Open {
            start: call.start,
            end,
            operation: call.operation,
            path,
            inside_ns: 0,
            nested: 0,
        });
    }

    fn close(&mut self, call: Open, around: Option<&mut Open>) {
        let ns = call.end.abs_diff(call.start);
        let own_ns = ns.saturating_sub(call.inside_ns);
        let own = self.own.entry(call.operation).or_default();
        own.ns = own.ns.saturating_add(own_ns);
        own.nested = own.nested.saturating_add(call.nested);
        let path = self.paths.get_mut(call.path);
        path.calls += 1;
        path.total_ns += ns as f64;
        path.self_ns += own_ns as f64;
        if let Some(around) = around {
            around.inside_ns = around.inside_ns.saturating_add(ns);
            around.nested = around.nested.saturating_add(call.nested + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["a", "b", "c"];

    fn nested(calls: &[(u32, i64, i64)], slack_ns: i64) -> (Vec<(u64, u64)>, Vec<String>) {
        let calls = calls.iter().map(|&(operation, start, end)| Call {
            start,
            end,
            operation,
            track: 0,
        });
        let name = |operation| NAMES[operation as usize];
        let mut notes = Notes::default();
        let (own, stacks) = super::nested(calls.collect(), slack_ns, name, &mut notes);
        let own = (0..3).map(|operation| own.get(&operation).copied().unwrap_or_default());
        let line = |stack: &Stack| {
            let path = stack.frames.join(";");
            format!(
                "{path} {} {} {}",
                stack.calls, stack.total_ns, stack.self_ns
            )
        };
        (
            own.map(|own| (own.ns, own.nested)).collect(),
            stacks.iter().map(line).collect(),
        )
    }

    #[test]
    fn own_time_is_without_what_is_inside() {
        // Inner calls first, as tracers that write at the end do.
        let calls = [(2, 30, 40), (1, 20, 50), (1, 60, 70), (0, 10, 100)];
        let (own, stacks) = nested(&calls, 0);
        assert_eq!(own, [(50, 3), (30, 1), (10, 0)]);
        assert_eq!(stacks, ["a 1 90 50", "a;b 2 40 30", "a;b;c 1 10 10"]);
    }

    #[test]
    fn what_overlaps_is_beside_and_what_rounding_moved_is_inside() {
        let (_, stacks) = nested(&[(0, 0, 10), (1, 5, 15)], 0);
        assert_eq!(stacks, ["a 1 10 10", "b 1 10 10"]);
        let (own, stacks) = nested(&[(0, 0, 10), (1, 5, 11)], 1);
        assert_eq!(stacks, ["a 1 10 5", "a;b 1 5 5"]);
        assert_eq!(own[0], (5, 1));
    }

    #[test]
    fn a_recursion_has_each_depth_as_a_path() {
        let (own, stacks) = nested(&[(0, 0, 10), (0, 1, 9), (0, 2, 8)], 0);
        assert_eq!(own[0], (10, 3));
        assert_eq!(stacks, ["a 1 10 2", "a;a 1 8 2", "a;a;a 1 6 6"]);
    }
}
