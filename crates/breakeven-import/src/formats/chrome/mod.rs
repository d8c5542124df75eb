//! The Trace Event Format: what `chrome://tracing` and Perfetto read, and PyTorch's
//! profiler, Node.js, Clang, Bazel and many others write. An operation is a name on a
//! device; a sample is one event with a duration; the file is one run. The document is an
//! object with `traceEvents`, or the list alone.

mod pairs;

use std::borrow::Cow;
use std::collections::HashMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Gpu, Profile};
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::LaunchFacts;
use crate::json::{self, count, text, three};
use crate::note::Notes;
use crate::source::Source;
use crate::trace::{Activity, FILL, Trace, When, Work};

use pairs::{End, Pairs};

pub(crate) static IMPORTER: Format = Format {
    name: "chrome",
    about: "trace events as JSON, gzip too: PyTorch's profiler (Kineto), chrome://tracing, \
            Perfetto, breakeven's export",
    recognises: |source| {
        let is_kineto = || source.has("schemaVersion") && source.has("deviceProperties");
        source.has("traceEvents") || source.has("[].ph") || is_kineto()
    },
    read,
};

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let mut builder = Builder {
        // Times in µs, so what is inside may seem to end a µs later.
        trace: Trace::new(UNIT_NS),
        gpus: Vec::new(),
        is_own: false,
        names: HashMap::new(),
        sizes: HashMap::new(),
        processes: HashMap::new(),
        pairs: Pairs::default(),
        is_hip: false,
        parts: 0,
    };
    let mut events = 0_u64;
    let want = |place: &str| {
        matches!(
            place,
            "otherData" | "deviceProperties" | "traceEvents[]" | "[]"
        )
    };
    json::each(source, want, notes, |place, value, notes| match place {
        "otherData" => builder.is_own = text(&value["exporter"]).starts_with("breakeven "),
        "deviceProperties" => {
            builder.gpus = value.as_array().into_iter().flatten().cloned().collect()
        }
        _ => {
            if builder.take(&value).is_none() {
                let why = "they have no time, or one that is not possible";
                notes.leave_out("event(s)", why, &format!("traceEvents[{events}]"));
            }
            events += 1;
        }
    })?;
    builder.profile(notes)
}

/// Times are in µs.
const UNIT_NS: i64 = 1_000;

/// Kinds of events by what a tracer calls them (`cat`), in small letters: those of Kineto,
/// the profiler of PyTorch, of its newer and its older releases.
const KERNELS: [&str; 2] = ["kernel", "concurrent_kernel"];
const COPIES: [&str; 2] = ["gpu_memcpy", "memcpy"];
const FILLS: [&str; 2] = ["gpu_memset", "memset"];
const INTERFACE: [&str; 4] = ["cuda_runtime", "cuda_driver", "runtime", "driver"];
/// Ranges of the program and waits, on the device.
const ANNOTATIONS: [&str; 2] = ["gpu_user_annotation", "cuda_sync"];
/// What spans other events and is no operation: the complete trace, gaps of the profiler.
const FRAMES: [&str; 1] = ["trace"];

/// What is read so far. Events are values: of their fields each may be of any shape.
struct Builder {
    trace: Trace,
    /// GPUs as Kineto describes them.
    gpus: Vec<Value>,
    /// True for what this program exported.
    is_own: bool,
    /// By track: the names of threads, and the sizes of operations in this program's own traces
    /// of samples.
    names: HashMap<u32, String>,
    sizes: HashMap<u32, u64>,
    processes: HashMap<String, String>,
    pairs: Pairs,
    is_hip: bool,
    parts: u64,
}

impl Builder {
    /// Takes an event; `None` if it has no time, or is none.
    fn take(&mut self, event: &Value) -> Option<()> {
        match &*text(&event["ph"]) {
            "X" => return self.complete(event),
            phase @ ("B" | "b" | "S" | "E" | "e" | "F") => return self.end_of_call(event, phase),
            "M" => self.describe(event),
            "i" | "I" if self.is_own => {
                if let Some(size) = count(&event["args"]["size"]) {
                    let track = self.thread(event);
                    self.sizes.insert(track, size);
                }
            }
            // An object without a phase, or what is no event.
            "" => return None,
            _ => {}
        }
        Some(())
    }

    /// The track of an event's thread.
    fn thread(&mut self, event: &Value) -> u32 {
        let (process, thread) = (text(&event["pid"]), text(&event["tid"]));
        self.trace.track(&[&process, "\0", &thread].concat())
    }

    fn complete(&mut self, event: &Value) -> Option<()> {
        let duration = json::ns(&event["dur"], UNIT_NS)?;
        let start = json::ns(&event["ts"], UNIT_NS)?;
        let when = When::new(start, u64::try_from(duration).ok()?);
        let category = text(&event["cat"]);
        let is = |kinds: &[&str]| {
            let mut kinds = kinds.iter();
            kinds.any(|kind| kind.eq_ignore_ascii_case(&category))
        };
        if is(&FRAMES) {
            return Some(());
        }
        if self.is_own {
            self.own(event, &category, when);
            return Some(());
        }
        let (name, args) = (text(&event["name"]), &event["args"]);
        let work = if is(&KERNELS) {
            Some(Work::kernel(&name))
        } else if is(&COPIES) {
            Some(Work::copy(&name, count(&args["bytes"])))
        } else if is(&FILLS) {
            Some(Work::Copy(FILL, count(&args["bytes"])))
        } else {
            None
        };
        if work.is_some() || is(&ANNOTATIONS) {
            self.on_device(event, &category, when, work);
            return Some(());
        }
        let (operation, track) = (self.operation(event), self.thread(event));
        self.trace.call(operation, track, when);
        if is(&INTERFACE) {
            self.is_hip |= name.starts_with("hip");
            if name.contains("aunch")
                && let Some(correlation) = count(&args["correlation"])
            {
                self.trace.launch((0, correlation), when);
            }
        }
        Some(())
    }

    fn on_device(&mut self, event: &Value, category: &str, when: When, work: Option<Work>) {
        let (name, args) = (text(&event["name"]), &event["args"]);
        // Before args had the device, the process was it.
        let device = count(&args["device"]).or_else(|| count(&event["pid"]));
        let stream = count(&args["stream"]).or_else(|| {
            let thread = text(&event["tid"]);
            thread.trim_start_matches("stream ").parse().ok()
        });
        let activity = Activity {
            name: annotation(&name),
            category,
            device: device.unwrap_or(0),
            stream,
            when,
            work,
            id: count(&args["correlation"]).map(|number| (0, number)),
            facts: LaunchFacts {
                bytes: count(&args["bytes"]),
                grid: three(&args["grid"]),
                block: three(&args["block"]),
            },
        };
        self.trace.activity("cuda", &activity);
    }

    fn operation(&mut self, event: &Value) -> u32 {
        let operations = &mut self.trace.operations;
        let cpu = operations.device("cpu");
        let name = text(&event["name"]);
        operations.number(annotation(&name), cpu, &text(&event["cat"]))
    }

    /// A call or a sample of what this program exported: the process is the device.
    fn own(&mut self, event: &Value, category: &str, when: When) {
        if category == "phase" {
            self.parts += 1;
            return;
        }
        let device = self.processes.get(&*text(&event["pid"]));
        let device = device.map_or("cpu", |device| device.trim_end_matches(" (software)"));
        let device = self.trace.operations.device(device);
        let track = self.thread(event);
        let size = self.sizes.get(&track).copied();
        let size = size.filter(|_| category == "sample");
        let operations = &mut self.trace.operations;
        let operation = operations.sized(&text(&event["name"]), device, "", size);
        match count(&event["args"]["run"]).and_then(|run| usize::try_from(run).ok()) {
            Some(run) => (operations.get_mut(operation)).sample(run, when.duration as f64),
            // Every device's calls were on a thread that called it.
            None => self.trace.call(operation, track, when),
        }
    }

    /// Either end of a call whose ends are two events: of a thread, or of any number at once
    /// that have ids.
    fn end_of_call(&mut self, event: &Value, phase: &str) -> Option<()> {
        let at = json::ns(&event["ts"], UNIT_NS)?;
        let is_begin = matches!(phase, "B" | "b" | "S");
        let is_asynchronous = !matches!(phase, "B" | "E");
        let has_name = !text(&event["name"]).is_empty();
        let operation = (is_begin || has_name).then(|| self.operation(event));
        let track = self.thread(event);
        let keys: &[&str] = match is_asynchronous {
            true => &["pid", "cat", "id", "id2", "name"],
            false => &["pid", "tid"],
        };
        let keys: Vec<Cow<'_, str>> = keys.iter().map(|key| text(&event[*key])).collect();
        let lane = self.pairs.lane(&(is_asynchronous, keys));
        self.pairs.ends.push(End {
            at,
            lane,
            operation,
            track,
            is_begin,
            is_asynchronous,
        });
        Some(())
    }

    /// The name of a process or a thread.
    fn describe(&mut self, event: &Value) {
        let name = text(&event["args"]["name"]).into_owned();
        match event["name"].as_str() {
            _ if name.is_empty() => {}
            Some("process_name") => {
                self.processes
                    .insert(text(&event["pid"]).into_owned(), name);
            }
            Some("thread_name") => {
                let track = self.thread(event);
                self.names.insert(track, name);
            }
            _ => {}
        }
    }

    fn profile(mut self, notes: &mut Notes) -> Result<Profile, FileError> {
        let trace = &mut self.trace;
        let unpaired = self.pairs.take(|call, when| {
            let operation = call.operation.unwrap_or(0);
            match call.is_asynchronous {
                true => trace.range(operation, call.track, when),
                false => trace.call(operation, call.track, when),
            }
        });
        notes.left_out(
            unpaired,
            "event(s)",
            "calls that begin and never end, or end without a beginning",
        );
        notes.left_out(self.parts, "event(s)", "they are parts of calls");
        self.trace.name_tracks(|track, label| {
            let (process, thread) = label.split_once('\0')?;
            let name = self.names.get(&track).cloned();
            let name = name.unwrap_or_else(|| format!("thread {thread}"));
            Some(match self.processes.get(process) {
                Some(process) if !self.is_own => format!("{process}: {name}"),
                _ => name,
            })
        });
        let backend = if self.is_hip { "rocm" } else { "cuda" };
        let operations = &mut self.trace.operations;
        operations.rename_devices("cuda:", &format!("{backend}:"));
        let gpus = self.gpus.iter().filter_map(|gpu| {
            Some(Gpu {
                id: format!("{backend}:{}", count(&gpu["id"])?),
                name: gpu["name"].as_str().map(str::to_owned),
                backend: Some(backend.to_owned()),
                memory_bytes: count(&gpu["totalGlobalMem"]),
                ..Gpu::default()
            })
        });
        operations.about.environment.gpus = gpus.collect();
        self.trace.profile(notes)
    }
}

/// The name of a range, without the number that PyTorch gives each step.
fn annotation(name: &str) -> &str {
    let step = name.strip_prefix("ProfilerStep#");
    match step.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
        true => "ProfilerStep",
        false => name,
    }
}
