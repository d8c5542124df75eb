//! `rocprofv3 --output-format json`. Names come before the records that use them, so the
//! records are taken one by one.

use std::collections::HashMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Environment, Gpu, Profile};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::records::{Agent, Kind, Record, Strings, Symbol};
use super::{Activity, Call};
use crate::fields::{KeyOf, expects, seed};
use crate::format::Importer;
use crate::json::{self, Entry, entries};
use crate::note::{Notes, Skipped};
use crate::read::Options;
use crate::source::Source;
use crate::trace::{LaunchFacts, Trace, When, Work};

pub(crate) static IMPORTER: Importer = Importer {
    name: "rocprofv3",
    about: "rocprofv3 --output-format json",
    recognises: |source| source.has("rocprofiler-sdk-tool"),
    read,
};

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let mut tool = Tool::default();
    json::stream(source, Document(&mut tool))?;
    notes.skipped(
        tool.malformed,
        "record(s)",
        "they lack a time, end before they begin, or hold what no such record has",
    );
    let environment = Environment {
        gpus: tool.gpus,
        ..Environment::default()
    };
    tool.trace.profile(environment, notes)
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

    fn agents(&mut self, agents: Vec<Agent>) {
        let gpus = agents.into_iter().filter(|agent| agent.kind == 2);
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

    fn kernels(&mut self, symbols: Vec<Symbol>) {
        for symbol in symbols {
            let name = symbol.formatted_kernel_name.or(symbol.kernel_name);
            (self.kernels).insert(symbol.kernel_id, name.unwrap_or_default());
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
                    agent: self.agents.get(&agent).copied().unwrap_or(agent),
                    stream: stream.or(dispatch.queue_id.map(|queue| queue.handle)),
                    when,
                    work: Work::kernel(name),
                    correlation: id,
                    facts: LaunchFacts {
                        bytes: None,
                        grid: dispatch.grid_size,
                        block: dispatch.workgroup_size,
                    },
                };
                activity.add(&mut self.trace);
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
                    agent: gpus.next().unwrap_or(0),
                    stream,
                    when,
                    work: Work::copy(name, record.bytes),
                    correlation: id,
                    facts: LaunchFacts {
                        bytes: record.bytes,
                        ..LaunchFacts::default()
                    },
                };
                activity.add(&mut self.trace);
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

struct Document<'t>(&'t mut Tool);

/// The processes, a list, or the only one.
struct Processes<'t>(&'t mut Tool);

/// The lists of records.
struct Lists<'t>(&'t mut Tool);

/// One list of records.
struct Records<'t>(&'t mut Tool, &'static str);

seed!(Document<'_> => (), deserialize_map);
seed!(Processes<'_> => (), deserialize_any);
seed!(Lists<'_> => (), deserialize_map);
seed!(Records<'_> => (), deserialize_seq);

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    expects!("an object with rocprofiler-sdk-tool");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(KeyOf(&["rocprofiler-sdk-tool"]))? {
            match key {
                Some(_) => map.next_value_seed(Processes(self.0))?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

const PARTS: &[&str] = &["agents", "strings", "kernel_symbols", "buffer_records"];

impl<'de> Visitor<'de> for Processes<'_> {
    type Value = ();

    expects!("the records of a process, or a list of such");

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Processes(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.next_process();
        while let Some(key) = map.next_key_seed(KeyOf(PARTS))? {
            match key {
                Some("agents") => self.0.agents(entries(map.next_value()?)),
                Some("kernel_symbols") => self.0.kernels(entries(map.next_value()?)),
                Some("strings") => {
                    let strings: Entry<Strings> = map.next_value()?;
                    let strings = strings.ok().unwrap_or_default();
                    self.0.kinds = strings.buffer_records;
                    let messages = strings.marker_api.into_iter();
                    let messages = messages.map(|message| (message.key, message.value));
                    self.0.messages = messages.collect();
                }
                Some("buffer_records") => map.next_value_seed(Lists(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

const LISTS: &[&str] = &[
    "kernel_dispatch",
    "memory_copy",
    "hip_api",
    "hsa_api",
    "marker_api",
    "rccl_api",
];

impl<'de> Visitor<'de> for Lists<'_> {
    type Value = ();

    expects!("an object with lists of records");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(KeyOf(LISTS))? {
            match key {
                Some(list) => map.next_value_seed(Records(self.0, list))?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Records<'_> {
    type Value = ();

    expects!("a list of records");

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self(tool, name) = self;
        let mut number = 0;
        while let Some(record) = list.next_element::<Entry<Record>>()? {
            let taken = record.ok().and_then(|record| tool.take(name, &record));
            if taken.is_none() {
                (tool.malformed).add(|| format!("buffer_records.{name}[{number}]"));
            }
            number += 1;
        }
        Ok(())
    }
}
