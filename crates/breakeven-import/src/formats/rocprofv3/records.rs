//! The parts of rocprofv3's JSON that count here; whatever else there is, is passed over.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer};

use crate::fields::Three;

#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(super) struct Handle {
    pub(super) handle: u64,
}

#[derive(Deserialize)]
pub(super) struct Agent {
    pub(super) id: Handle,
    /// 1: a CPU, 2: a GPU.
    #[serde(rename = "type")]
    pub(super) kind: u64,
    pub(super) name: Option<String>,
    pub(super) product_name: Option<String>,
    pub(super) logical_node_type_id: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Symbol {
    pub(super) kernel_id: u64,
    pub(super) kernel_name: Option<String>,
    pub(super) formatted_kernel_name: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Kind {
    pub(super) kind: String,
    #[serde(default)]
    pub(super) operations: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) key: u64,
    pub(super) value: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Strings {
    pub(super) buffer_records: Vec<Kind>,
    pub(super) marker_api: Vec<Message>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Correlated {
    pub(super) internal: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Dispatch {
    pub(super) agent_id: Handle,
    pub(super) queue_id: Option<Handle>,
    pub(super) kernel_id: u64,
    #[serde(default, deserialize_with = "three")]
    pub(super) workgroup_size: Option<[u64; 3]>,
    #[serde(default, deserialize_with = "three")]
    pub(super) grid_size: Option<[u64; 3]>,
}

fn three<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<[u64; 3]>, D::Error> {
    Three.deserialize(deserializer)
}

/// A record of any list.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    pub(super) kind: usize,
    pub(super) operation: usize,
    pub(super) start_timestamp: Option<i64>,
    pub(super) end_timestamp: Option<i64>,
    pub(super) thread_id: u64,
    pub(super) correlation_id: Correlated,
    pub(super) dispatch_info: Option<Dispatch>,
    pub(super) src_agent_id: Option<Handle>,
    pub(super) dst_agent_id: Option<Handle>,
    pub(super) bytes: Option<u64>,
    pub(super) stream_id: Option<Handle>,
}
