//! `rocprofv3 --output-format json`. Names come before the records that use them, so the
//! records are taken one by one.

use std::collections::HashMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Gpu, Profile};
use serde_json::Value;

use super::Call;
use crate::formats::{Format, Options};
use crate::gather::LaunchFacts;
use crate::json::{self, count, three};
use crate::note::Notes;
use crate::source::Source;
use crate::trace::{Activity, Trace, When, Work};

pub(crate) static IMPORTER: Format = Format {
    name: "rocprofv3",
    about: "rocprofv3 --output-format json",
    recognises: |source| source.has("rocprofiler-sdk-tool"),
    read,
};

/// The lists of records that are read.
const LISTS: [&str; 6] = [
    "kernel_dispatch",
    "memory_copy",
    "hip_api",
    "hsa_api",
    "marker_api",
    "rccl_api",
];

/// A place inside of a process, of which there are several or one.
fn inside(place: &str) -> &str {
    let inside = place.strip_prefix("rocprofiler-sdk-tool");
    let inside = inside.unwrap_or_default().trim_start_matches("[]");
    inside.trim_start_matches('.')
}

/// The list of a record at that place.
fn list(inside: &str) -> Option<&str> {
    let list = inside.strip_prefix("buffer_records.")?.strip_suffix("[]")?;
    Some(list).filter(|list| LISTS.contains(list))
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let mut tool = Tool::default();
    let mut records: HashMap<String, u64> = HashMap::new();
    let want = |place: &str| {
        let inside = inside(place);
        matches!(inside, "agents" | "strings" | "kernel_symbols") || list(inside).is_some()
    };
    json::each(source, want, notes, |place, value, notes| {
        let inside = inside(place);
        let Some(list) = list(inside) else {
            return tool.name(inside, &value);
        };
        let number = records.entry(list.to_owned()).or_default();
        if tool.take(list, &value).is_none() {
            let why = "they lack a time, end before they begin, or hold what no such record has";
            notes.leave_out(
                "record(s)",
                why,
                &format!("buffer_records.{list}[{number}]"),
            );
        }
        *number += 1;
    })?;
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
    /// Kinds of records, each with the names of its operations.
    kinds: Value,
    messages: HashMap<u64, String>,
}

fn handle(value: &Value) -> Option<u64> {
    count(&value["handle"])
}

impl Tool {
    /// Takes the names of a process.
    fn name(&mut self, place: &str, value: &Value) {
        let entries = || value.as_array().into_iter().flatten();
        match place {
            "agents" => self.agents(entries()),
            "kernel_symbols" => {
                let symbol = |symbol: &Value| {
                    let names = ["formatted_kernel_name", "kernel_name"];
                    let name = names.iter().find_map(|key| symbol[*key].as_str());
                    Some((
                        count(&symbol["kernel_id"])?,
                        name.unwrap_or_default().to_owned(),
                    ))
                };
                self.kernels = entries().filter_map(symbol).collect();
            }
            _ => {
                self.kinds = value["buffer_records"].clone();
                let messages = value["marker_api"].as_array().into_iter().flatten();
                let message =
                    |each: &Value| Some((count(&each["key"])?, each["value"].as_str()?.to_owned()));
                self.messages = messages.filter_map(message).collect();
            }
        }
    }

    /// A new process, whose handles and numbers are its own, begins with its agents.
    fn agents<'v>(&mut self, agents: impl Iterator<Item = &'v Value>) {
        self.process += 1;
        self.agents.clear();
        // 1: a CPU, 2: a GPU.
        let gpus = agents.filter(|agent| agent["type"] == 2);
        for (ordinal, agent) in (0..).zip(gpus) {
            let Some(handle) = handle(&agent["id"]) else {
                continue;
            };
            let number = count(&agent["logical_node_type_id"]).unwrap_or(ordinal);
            self.agents.insert(handle, number);
            let id = format!("rocm:{number}");
            if !self.gpus.iter().any(|gpu| gpu.id == id) {
                let names = ["product_name", "name"].into_iter();
                let mut names = names.filter_map(|key| agent[key].as_str());
                self.gpus.push(Gpu {
                    id,
                    name: names.find(|name| !name.is_empty()).map(str::to_owned),
                    backend: Some("rocm".to_owned()),
                    ..Gpu::default()
                });
            }
        }
    }

    /// Takes a record; `None` if it lacks something.
    fn take(&mut self, list: &str, record: &Value) -> Option<()> {
        let when = When::between(
            record["start_timestamp"].as_i64()?,
            record["end_timestamp"].as_i64()?,
        )?;
        let number = |key: &str| usize::try_from(count(&record[key])?).ok();
        let kind = number("kind").map_or(&Value::Null, |kind| &self.kinds[kind]);
        let operation = number("operation").and_then(|at| kind["operations"][at].as_str());
        let correlation = count(&record["correlation_id"]["internal"]);
        let id = correlation.map(|number| (self.process, number));
        let stream = handle(&record["stream_id"]);
        let dispatch = &record["dispatch_info"];
        let (unknown, activity);
        match list {
            "kernel_dispatch" => {
                let kernel = count(&dispatch["kernel_id"])?;
                let agent = handle(&dispatch["agent_id"])?;
                unknown = format!("kernel {kernel}");
                let name = self.kernels.get(&kernel).unwrap_or(&unknown);
                activity = Activity {
                    name,
                    category: "kernel",
                    device: self.agents.get(&agent).copied().unwrap_or(agent),
                    stream: stream.or_else(|| handle(&dispatch["queue_id"])),
                    when,
                    work: Some(Work::kernel(name)),
                    id,
                    facts: LaunchFacts {
                        bytes: None,
                        grid: three(&dispatch["grid_size"]),
                        block: three(&dispatch["workgroup_size"]),
                    },
                };
            }
            "memory_copy" => {
                let name = operation.unwrap_or("MEMORY_COPY");
                let ends = [&record["dst_agent_id"], &record["src_agent_id"]];
                let mut gpus = ends
                    .into_iter()
                    .filter_map(|agent| self.agents.get(&handle(agent)?));
                let bytes = count(&record["bytes"]);
                activity = Activity {
                    name,
                    category: "memory_copy",
                    device: gpus.next().copied().unwrap_or(0),
                    stream,
                    when,
                    work: Some(Work::copy(name, bytes)),
                    id,
                    facts: LaunchFacts {
                        bytes,
                        ..LaunchFacts::default()
                    },
                };
            }
            _ => {
                let is_marker =
                    (kind["kind"].as_str()).is_some_and(|kind| kind.starts_with("MARKER"));
                let message = correlation.and_then(|id| self.messages.get(&id));
                let message = message.filter(|_| is_marker).map(String::as_str);
                let call = Call {
                    name: message.or(operation).unwrap_or_default(),
                    category: if is_marker { "roctx" } else { list },
                    process: self.process,
                    thread: count(&record["thread_id"]).unwrap_or(0),
                    when,
                    correlation,
                };
                call.add(&mut self.trace);
                return Some(());
            }
        }
        self.trace.activity("rocm", &activity);
        Some(())
    }
}
