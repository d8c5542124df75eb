//! One event of a trace.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};

use crate::raw::{self, Raw};

/// Times are in µs.
const UNIT_NS: u32 = 1_000;

/// An event as it is written. What is of another shape counts as missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'t> {
    #[serde(borrow, deserialize_with = "raw::text")]
    pub(super) name: Cow<'t, str>,
    #[serde(borrow, deserialize_with = "raw::text", rename = "cat")]
    pub(super) category: Cow<'t, str>,
    #[serde(borrow, deserialize_with = "raw::text", rename = "ph")]
    pub(super) phase: Cow<'t, str>,
    #[serde(deserialize_with = "time", rename = "ts")]
    pub(super) start: Option<i64>,
    #[serde(deserialize_with = "time", rename = "dur")]
    pub(super) duration: Option<i64>,
    #[serde(borrow, deserialize_with = "raw::text", rename = "pid")]
    pub(super) process: Cow<'t, str>,
    #[serde(borrow, deserialize_with = "raw::text", rename = "tid")]
    pub(super) thread: Cow<'t, str>,
    #[serde(borrow, deserialize_with = "raw::text")]
    pub(super) id: Cow<'t, str>,
    #[serde(borrow, deserialize_with = "raw::text")]
    pub(super) id2: Cow<'t, str>,
    args: Raw<'t>,
}

impl<'t> Event<'t> {
    /// What is beside its time, read when it is needed: half of a trace is of no use.
    pub(super) fn args(&self) -> Args<'t> {
        self.args.read().unwrap_or_default()
    }
}

/// What an event has beside its time; of all that there is, what counts here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Args<'t> {
    /// Of a process or a thread.
    #[serde(borrow, deserialize_with = "raw::text")]
    pub(super) name: Cow<'t, str>,
    #[serde(deserialize_with = "raw::count")]
    pub(super) device: Option<u64>,
    #[serde(deserialize_with = "raw::count")]
    pub(super) stream: Option<u64>,
    #[serde(deserialize_with = "raw::count")]
    pub(super) correlation: Option<u64>,
    #[serde(deserialize_with = "raw::count")]
    pub(super) bytes: Option<u64>,
    #[serde(deserialize_with = "raw::three")]
    pub(super) grid: Option<[u64; 3]>,
    #[serde(deserialize_with = "raw::three")]
    pub(super) block: Option<[u64; 3]>,
    /// The run of a sample and the size of an operation, in this program's own traces.
    #[serde(deserialize_with = "raw::count")]
    pub(super) run: Option<u64>,
    #[serde(deserialize_with = "raw::count")]
    pub(super) size: Option<u64>,
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(Raw::deserialize(from)?.ns(UNIT_NS))
}
