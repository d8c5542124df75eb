//! How operations are nested: over all calls as stacks, call by call as a
//! timeline.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::file::times;

/// A call path and the time spent on it, over all runs and threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Names of operations from the outermost to the called one.
    pub frames: Vec<String>,
    /// Calls along this path.
    pub calls: u64,
    /// Their time, ns.
    #[serde(deserialize_with = "times::whole")]
    pub total_ns: u64,
    /// Own time: their time minus that of the paths that continue this one, ns.
    #[serde(deserialize_with = "times::whole")]
    pub self_ns: u64,
}

/// Single calls, in the order of time. A bounded ring keeps the latest ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Calls that the ring buffer had no room for.
    #[serde(default)]
    pub dropped: u64,
    /// Names of the threads on which the calls ran.
    #[serde(default)]
    pub threads: Vec<String>,
    /// The calls, ordered by the time at which they began.
    #[serde(default)]
    pub events: Vec<TimelineEvent>,
}

/// One call on a timeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimelineEvent {
    /// The operation's name.
    pub name: String,
    /// The device's id; absent: the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Index into [`Timeline::threads`].
    #[serde(default)]
    pub thread: u64,
    /// From the beginning of recording to the beginning of the call, ns.
    #[serde(deserialize_with = "times::whole")]
    pub start_ns: u64,
    /// Duration, ns.
    #[serde(deserialize_with = "times::whole")]
    pub duration_ns: u64,
    /// The fields that the program set for the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, serde_json::Value>,
}
