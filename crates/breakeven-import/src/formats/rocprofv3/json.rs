//! `rocprofv3 --output-format json`. Names come before the records that use them, so the
//! records are taken one by one.

use std::collections::HashMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Gpu, Profile};
use serde::Deserialize;

use super::Call;
use crate::formats::{Format, Options};
use crate::gather::LaunchFacts;
use crate::json;
use crate::note::{Notes, Skipped};
use crate::source::Source;
use crate::trace::{Activity, Trace, When, Work};
use crate::walk::{self, Parts, Raw, Want};

pub(crate) static IMPORTER: Format = Format {
    name: "rocprofv3",
    about: "rocprofv3 --output-format json",
    recognises: |source| source.has("rocprofiler-sdk-tool"),
    read,
};

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let mut tool = Tool::default();
    json::stream(source, &mut tool)?;
    notes.skipped(
        tool.malformed,
        "record(s)",
        "they lack a time, end before they begin, or hold what no such record has",
    );
    tool.trace.operations.about.environment.gpus = tool.gpus;
    tool.trace.profile(notes)
}

/// What is known of the processes so far.
#[derive(Default)]
struct Tool {
    trace: Trace,
    process: u64,
    gpus: Vec<Gpu>,
    /// The number of each GPU, by the handle of its agent.
    agents: HashMap<u64, u64>,
    kernels: HashMap<u64, String>,
    kinds: Vec<Kind>,
    messages: HashMap<u64, String>,
    malformed: Skipped,
    /// Records of the list so far.
    number: u64,
}

impl Tool {
    /// A new process, whose handles and numbers are its own.
    fn next_process(&mut self) {
        self.process += 1;
        self.agents.clear();
        self.kernels.clear();
        self.kinds.clear();
        self.messages.clear();
    }

    fn agents(&mut self, agents: impl Iterator<Item = Agent>) {
        let gpus = agents.filter(|agent| agent.kind == 2);
        for (ordinal, agent) in (0..).zip(gpus) {
            let number = agent.logical_node_type_id.unwrap_or(ordinal);
            self.agents.insert(agent.id.handle, number);
            let id = format!("rocm:{number}");
            if !self.gpus.iter().any(|gpu| gpu.id == id) {
                let product = agent.product_name.filter(|name| !name.is_empty());
                self.gpus.push(Gpu {
                    id,
                    name: product.or(agent.name),
                    backend: Some("rocm".to_owned()),
                    ..Gpu::default()
                });
            }
        }
    }

    /// Takes a record; `None` if it has no time.
    fn take(&mut self, list: &str, record: &Record) -> Option<()> {
        let when = When::between(record.start_timestamp?, record.end_timestamp?)?;
        let correlation = record.correlation_id.internal;
        let kind = self.kinds.get(record.kind);
        let operation = kind.and_then(|kind| kind.operations.get(record.operation));
        let (kind, operation) = (
            kind.map_or("", |kind| kind.kind.as_str()),
            operation.map_or("", String::as_str),
        );
        let id = correlation.map(|number| (self.process, number));
        let stream = record.stream_id.map(|stream| stream.handle);
        match (&record.dispatch_info, list) {
            (Some(dispatch), "kernel_dispatch") => {
                let unknown;
                let name = match self.kernels.get(&dispatch.kernel_id) {
                    Some(name) => name.as_str(),
                    None => {
                        unknown = format!("kernel {}", dispatch.kernel_id);
                        &unknown
                    }
                };
                let agent = dispatch.agent_id.handle;
                let activity = Activity {
                    name,
                    category: "kernel",
                    device: self.agents.get(&agent).copied().unwrap_or(agent),
                    stream: stream.or(dispatch.queue_id.map(|queue| queue.handle)),
                    when,
                    work: Some(Work::kernel(name)),
                    id,
                    facts: LaunchFacts {
                        bytes: None,
                        grid: dispatch.grid_size,
                        block: dispatch.workgroup_size,
                    },
                };
                self.trace.activity("rocm", &activity);
            }
            (_, "memory_copy") => {
                let name = if operation.is_empty() {
                    "MEMORY_COPY"
                } else {
                    operation
                };
                let ends = [record.dst_agent_id, record.src_agent_id];
                let mut gpus = (ends.into_iter().flatten())
                    .filter_map(|agent| self.agents.get(&agent.handle).copied());
                let activity = Activity {
                    name,
                    category: "memory_copy",
                    device: gpus.next().unwrap_or(0),
                    stream,
                    when,
                    work: Some(Work::copy(name, record.bytes)),
                    id,
                    facts: LaunchFacts {
                        bytes: record.bytes,
                        ..LaunchFacts::default()
                    },
                };
                self.trace.activity("rocm", &activity);
            }
            _ => {
                let message = correlation.and_then(|id| self.messages.get(&id));
                let is_marker = kind.starts_with("MARKER");
                let name = match message.filter(|_| is_marker) {
                    Some(message) => message.as_str(),
                    None => operation,
                };
                let call = Call {
                    name,
                    category: if is_marker { "roctx" } else { category(list) },
                    process: self.process,
                    thread: record.thread_id,
                    when,
                    correlation,
                };
                call.add(&mut self.trace);
            }
        }
        Some(())
    }
}

fn category(list: &str) -> &'static str {
    match list {
        "hip_api" => "hip_api",
        "hsa_api" => "hsa_api",
        "rccl_api" => "rccl_api",
        _ => "marker_api",
    }
}

/// What the places of a process begin with, of several or of the only one.
const PROCESSES: [&str; 2] = ["rocprofiler-sdk-tool[]", "rocprofiler-sdk-tool"];
const RECORDS: &str = ".buffer_records.";

impl Parts for Tool {
    fn want(&mut self, place: &str) -> Want {
        if place.is_empty() {
            return Want::Object("an object with rocprofiler-sdk-tool");
        }
        let Some(inside) = PROCESSES.iter().find_map(|start| place.strip_prefix(start)) else {
            return Want::Nothing;
        };
        match inside {
            "" => {
                self.next_process();
                Want::Either("the records of a process, or a list of such")
            }
            ".agents" | ".strings" | ".kernel_symbols" => Want::Text,
            ".buffer_records" => Want::Object("an object with lists of records"),
            list => match list.strip_prefix(RECORDS) {
                Some(list) if LISTS.contains(&list) => {
                    self.number = 0;
                    Want::List("a list of records")
                }
                Some(record) if record.ends_with("[]") => Want::Text,
                _ => Want::Nothing,
            },
        }
    }

    fn part(&mut self, place: &str, value: Raw<'_>) {
        let (_, inside) = place.split_once('.').unwrap_or_default();
        match inside {
            "agents" => self.agents(value.entries().flatten()),
            "kernel_symbols" => {
                for symbol in value.entries::<Symbol>().flatten() {
                    let name = symbol.formatted_kernel_name.or(symbol.kernel_name);
                    (self.kernels).insert(symbol.kernel_id, name.unwrap_or_default());
                }
            }
            "strings" => {
                let strings: Strings = value.read().unwrap_or_default();
                self.kinds = strings.buffer_records;
                let messages = strings.marker_api.into_iter();
                self.messages = messages.map(|each| (each.key, each.value)).collect();
            }
            record => {
                let list = record.trim_start_matches("buffer_records.");
                let list = list.trim_end_matches("[]");
                if (value.read())
                    .and_then(|record| self.take(list, &record))
                    .is_none()
                {
                    let number = self.number;
                    (self.malformed).add(|| format!("buffer_records.{list}[{number}]"));
                }
                self.number += 1;
            }
        }
    }
}

const LISTS: [&str; 6] = [
    "kernel_dispatch",
    "memory_copy",
    "hip_api",
    "hsa_api",
    "marker_api",
    "rccl_api",
];

#[derive(Debug, Default, Clone, Copy, Deserialize)]
struct Handle {
    handle: u64,
}

#[derive(Deserialize)]
struct Agent {
    id: Handle,
    /// 1: a CPU, 2: a GPU.
    #[serde(rename = "type")]
    kind: u64,
    name: Option<String>,
    product_name: Option<String>,
    logical_node_type_id: Option<u64>,
}

#[derive(Deserialize)]
struct Symbol {
    kernel_id: u64,
    kernel_name: Option<String>,
    formatted_kernel_name: Option<String>,
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
    #[serde(default)]
    operations: Vec<String>,
}

#[derive(Deserialize)]
struct Message {
    key: u64,
    value: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Strings {
    buffer_records: Vec<Kind>,
    marker_api: Vec<Message>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Correlated {
    internal: Option<u64>,
}

#[derive(Deserialize)]
struct Dispatch {
    agent_id: Handle,
    queue_id: Option<Handle>,
    kernel_id: u64,
    #[serde(default, deserialize_with = "walk::three")]
    workgroup_size: Option<[u64; 3]>,
    #[serde(default, deserialize_with = "walk::three")]
    grid_size: Option<[u64; 3]>,
}

/// A record of any list.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Record {
    kind: usize,
    operation: usize,
    start_timestamp: Option<i64>,
    end_timestamp: Option<i64>,
    thread_id: u64,
    correlation_id: Correlated,
    dispatch_info: Option<Dispatch>,
    src_agent_id: Option<Handle>,
    dst_agent_id: Option<Handle>,
    bytes: Option<u64>,
    stream_id: Option<Handle>,
}
