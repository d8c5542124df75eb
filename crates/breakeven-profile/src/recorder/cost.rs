//! The cost of recording, measured by the recorder itself.

use std::sync::Mutex;

use super::local::{self, Local};
use super::node::{Node, ROOT};
use super::site::Site;
use super::tree::{Edge, End};
use super::{clock, lock};
use crate::profile::RecorderCost;

/// Blocks of calls; the fastest counts, because other load only adds time.
const BLOCKS: u32 = 30;

const CALLS: u64 = 300;

static SITE: Site = Site::new("(the recorder)");

/// Outside any tree, so in no profile.
static NODE: Node = Node::new(u32::MAX - 1);

/// The cost of an empty call without fields on this thread: its total cost for the caller, and the
/// time inside its own sample. Measured once.
pub(super) fn measure() -> RecorderCost {
    static MEASURED: Mutex<Option<RecorderCost>> = Mutex::new(None);
    *lock(&MEASURED).get_or_insert_with(|| local::outside(measure_on))
}

fn measure_on(local: &Local) -> RecorderCost {
    local.cache.add_step(Edge {
        parent: &ROOT,
        site: &SITE,
        end: End {
            node: &NODE,
            family: &NODE,
        },
    });
    let clock = clock();
    let mut cost = RecorderCost {
        guard_ns: f64::INFINITY,
        inside_ns: f64::INFINITY,
    };
    for _ in 0..BLOCKS {
        let before = NODE.read();
        let start = clock.now();
        for _ in 0..CALLS {
            if let Some(open) = local.open(&SITE) {
                local.close(&open);
            }
        }
        let all = clock.ns_since(start) as f64;
        let inside = NODE.read().sum.wrapping_sub(before.sum) as f64 * clock.ns_per_tick();
        cost.guard_ns = cost.guard_ns.min(all / CALLS as f64);
        cost.inside_ns = cost.inside_ns.min(inside / CALLS as f64);
    }
    cost
}
