//! How operations lie inside one another: over all calls as stacks, one by one
//! as a timeline.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A call path and what was spent on it, over all runs and threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Names of operations, the outermost first, the one that is meant last.
    #[serde(deserialize_with = "crate::file::names")]
    pub frames: Vec<String>,
    /// Calls along this path.
    pub calls: u64,
    /// Their time, ns.
    #[serde(deserialize_with = "crate::file::whole_time")]
    pub total_ns: u64,
    /// Their time less that of the paths which go on from here, ns.
    #[serde(deserialize_with = "crate::file::whole_time")]
    pub self_ns: u64,
}

/// Single calls, in the order of time. A bounded ring: the latest ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Calls that the ring had no room for.
    #[serde(default)]
    pub dropped: u64,
    /// Names of the threads that events are of.
    #[serde(default, deserialize_with = "crate::file::names")]
    pub threads: Vec<String>,
    /// The calls, by the time at which they began.
    #[serde(default)]
    pub events: Vec<TimelineEvent>,
}

/// One call on a timeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimelineEvent {
    /// The operation's name.
    #[serde(deserialize_with = "crate::file::name")]
    pub name: String,
    /// The device's id; absent: the CPU.
    #[serde(
        default,
        deserialize_with = "crate::file::optional_name",
        skip_serializing_if = "Option::is_none"
    )]
    pub device: Option<String>,
    /// Index into [`Timeline::threads`].
    #[serde(default)]
    pub thread: u64,
    /// From the beginning of recording to that of the call, ns.
    #[serde(deserialize_with = "crate::file::whole_time")]
    pub start_ns: u64,
    /// How long it took, ns.
    #[serde(deserialize_with = "crate::file::whole_time")]
    pub duration_ns: u64,
    /// What the program told of the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, serde_json::Value>,
}
