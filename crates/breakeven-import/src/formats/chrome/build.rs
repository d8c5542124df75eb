//! Events as operations, threads and the work of devices.

use std::borrow::Cow;
use std::collections::HashMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Gpu, Profile};
use serde::{Deserialize, Deserializer};

use super::pairs::{End, Pairs};
use crate::gather::LaunchFacts;
use crate::note::{Notes, Skipped};
use crate::trace::{Activity, FILL, Trace, When, Work};
use crate::walk::{self, Raw};

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

/// Names that are kept of processes and threads.
const MOST: usize = 1 << 16;

/// A GPU as Kineto describes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeviceProperties {
    id: u64,
    name: Option<String>,
    total_global_mem: Option<u64>,
}

/// A thread of a process.
struct Thread {
    track: u32,
    process: String,
    thread: String,
    name: Option<String>,
    /// The size of its operation, in this program's own traces of samples.
    size: Option<u64>,
}

#[derive(Default)]
pub(super) struct Builder {
    trace: Option<Trace>,
    pub(super) gpus: Vec<DeviceProperties>,
    /// True for what this program exported.
    pub(super) is_own: bool,
    pub(super) is_list_found: bool,
    key: String,
    threads: Vec<Thread>,
    by_name: HashMap<String, usize>,
    processes: HashMap<String, String>,
    pairs: Pairs,
    is_hip: bool,
    /// Events so far.
    events: u64,
    without_time: Skipped,
    parts: u64,
}

impl Builder {
    pub(super) fn take(&mut self, event: &Event<'_>) {
        match &*event.phase {
            "X" => self.complete(event),
            "B" | "b" | "S" => self.end_of_call(event, true),
            "E" | "e" | "F" => self.end_of_call(event, false),
            "M" => self.describe(event),
            "i" | "I" if self.is_own => self.facts(event),
            // An object without a phase, or what is no event.
            "" => self.skip(),
            _ => {}
        }
        self.events += 1;
        if self.pairs.is_time() {
            self.pair(false);
        }
    }

    fn skip(&mut self) {
        let number = self.events;
        (self.without_time).add(|| format!("traceEvents[{number}]"));
    }

    fn trace(&mut self) -> &mut Trace {
        // Times in µs, so what is inside may seem to end a µs later.
        self.trace.get_or_insert_with(|| Trace::rounded_to(1_000))
    }

    /// The thread of an event; past the limit one for all.
    fn thread(&mut self, event: &Event<'_>) -> &mut Thread {
        let names = [&*event.process, &*event.thread];
        self.key.clear();
        self.key.extend([names[0], "\0", names[1]]);
        let known = self.by_name.get(&self.key).copied();
        let number = known.unwrap_or_else(|| {
            let number = self.threads.len().min(MOST);
            if number == self.threads.len() {
                let [process, thread] = names.map(str::to_owned);
                let track = self.trace().track(&format!("{process}\0{thread}"));
                self.threads.push(Thread {
                    track,
                    process,
                    thread,
                    name: None,
                    size: None,
                });
            }
            if number < MOST {
                self.by_name.insert(self.key.clone(), number);
            }
            number
        });
        &mut self.threads[number]
    }

    fn complete(&mut self, event: &Event<'_>) {
        let duration = event.duration.and_then(|ns| u64::try_from(ns).ok());
        let (Some(start), Some(duration)) = (event.start, duration) else {
            return self.skip();
        };
        let when = When::new(start, duration);
        let is = |kinds: &[&str]| {
            let mut kinds = kinds.iter();
            kinds.any(|kind| kind.eq_ignore_ascii_case(&event.category))
        };
        if is(&FRAMES) {
            return;
        }
        if self.is_own {
            return self.own(event, when);
        }
        let work = if is(&KERNELS) {
            Some(Work::kernel(&event.name))
        } else if is(&COPIES) {
            Some(Work::copy(&event.name, event.args().bytes))
        } else if is(&FILLS) {
            Some(Work::Copy(FILL, event.args().bytes))
        } else {
            None
        };
        if work.is_some() || is(&ANNOTATIONS) {
            return self.on_device(event, when, work);
        }
        let operation = self.operation(event);
        let track = self.thread(event).track;
        self.trace().call(operation, track, when);
        if is(&INTERFACE) {
            self.is_hip |= event.name.starts_with("hip");
            if event.name.contains("aunch")
                && let Some(correlation) = event.args().correlation
            {
                self.trace().launch((0, correlation), when);
            }
        }
    }

    fn on_device(&mut self, event: &Event<'_>, when: When, work: Option<Work>) {
        let args = event.args();
        // Before args had the device, the process was it.
        let device = args.device.or_else(|| event.process.parse().ok());
        let stream = args.stream.or_else(|| {
            let digits = event.thread.trim_start_matches("stream ");
            digits.parse().ok()
        });
        let activity = Activity {
            name: annotation(&event.name),
            category: &event.category,
            device: device.unwrap_or(0),
            stream,
            when,
            work,
            id: args.correlation.map(|number| (0, number)),
            facts: LaunchFacts {
                bytes: args.bytes,
                grid: args.grid,
                block: args.block,
            },
        };
        self.trace().activity("cuda", &activity);
    }

    fn operation(&mut self, event: &Event<'_>) -> u32 {
        let operations = &mut self.trace().operations;
        let cpu = operations.device("cpu");
        operations.number(annotation(&event.name), cpu, &event.category)
    }

    /// A call or a sample of what this program exported: the process is the device.
    fn own(&mut self, event: &Event<'_>, when: When) {
        if event.category == "phase" {
            self.parts += 1;
            return;
        }
        let device = self.processes.get(&*event.process).cloned();
        let device = device.unwrap_or_else(|| "cpu".to_owned());
        let device = device.trim_end_matches(" (software)");
        let Thread { track, size, .. } = *self.thread(event);
        let size = size.filter(|_| event.category == "sample");
        let trace = self.trace();
        let device_number = trace.operations.device(device);
        let operation = (trace.operations).sized(&event.name, device_number, "", size);
        match event.args().run.and_then(|run| usize::try_from(run).ok()) {
            Some(run) => {
                (trace.operations.get_mut(operation)).sample(run, when.duration as f64);
            }
            // Every device's calls were on a thread that called it.
            None => trace.call(operation, track, when),
        }
    }

    /// What this program wrote of the operation of a track.
    fn facts(&mut self, event: &Event<'_>) {
        let size = event.args().size;
        if size.is_some() {
            self.thread(event).size = size;
        }
    }

    /// Either end of a call whose ends are two events: of a thread, or of any number at once
    /// that have ids.
    fn end_of_call(&mut self, event: &Event<'_>, is_begin: bool) {
        let Some(at) = event.start else {
            return self.skip();
        };
        let is_asynchronous = matches!(&*event.phase, "b" | "e" | "S" | "F");
        let operation = match is_begin || !event.name.is_empty() {
            true => Some(self.operation(event)),
            false => None,
        };
        let track = self.thread(event).track;
        self.key.clear();
        let ids = match is_asynchronous {
            true => [&*event.category, &*event.id, &*event.id2, &*event.name],
            false => ["", "", "", &event.thread],
        };
        for id in [&*event.process].into_iter().chain(ids) {
            self.key.extend([id, "\0"]);
        }
        let lane = self.pairs.lane(&self.key);
        self.pairs.add(End {
            at,
            lane,
            operation,
            track,
            is_begin,
            is_asynchronous,
        });
    }

    /// Pairs ends of calls; only those that no earlier ones are likely to follow, or all.
    fn pair(&mut self, all: bool) {
        let mut pairs = std::mem::take(&mut self.pairs);
        let trace = self.trace();
        pairs.take(all, |call, when| match call.is_asynchronous {
            true => trace.range(call.operation.unwrap_or(0), call.track, when),
            false => trace.call(call.operation.unwrap_or(0), call.track, when),
        });
        self.pairs = pairs;
    }

    /// The name of a process or a thread.
    fn describe(&mut self, event: &Event<'_>) {
        let name = event.args().name.to_string();
        match &*event.name {
            _ if name.is_empty() => {}
            "process_name" if self.processes.len() < MOST => {
                self.processes.insert(event.process.to_string(), name);
            }
            "thread_name" => self.thread(event).name = Some(name),
            _ => {}
        }
    }

    pub(super) fn profile(mut self, notes: &mut Notes) -> Result<Profile, FileError> {
        self.pair(true);
        notes.left_out(
            self.pairs.unpaired(),
            "event(s)",
            "calls that begin and never end, or end without a beginning",
        );
        notes.skipped(
            self.without_time,
            "event(s)",
            "they have no time, or one that is not possible",
        );
        notes.left_out(self.parts, "event(s)", "they are parts of calls");
        let mut trace = self.trace.take().unwrap_or_default();
        for thread in self.threads {
            let process = self.processes.get(&thread.process);
            let name = thread.name.unwrap_or(format!("thread {}", thread.thread));
            let label = match process {
                Some(process) if !self.is_own => format!("{process}: {name}"),
                _ => name,
            };
            trace.name_track(thread.track, label);
        }
        let backend = if self.is_hip { "rocm" } else { "cuda" };
        trace
            .operations
            .rename_devices("cuda:", &format!("{backend}:"));
        let gpus = self.gpus.into_iter().map(|gpu| Gpu {
            id: format!("{backend}:{}", gpu.id),
            name: gpu.name,
            backend: Some(backend.to_owned()),
            memory_bytes: gpu.total_global_mem,
            ..Gpu::default()
        });
        trace.operations.about.environment.gpus = gpus.collect();
        trace.profile(notes)
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

/// Times are in µs.
const UNIT_NS: u32 = 1_000;

/// An event as it is written. What is of another shape counts as missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'t> {
    #[serde(borrow, deserialize_with = "walk::text")]
    pub(super) name: Cow<'t, str>,
    #[serde(borrow, deserialize_with = "walk::text", rename = "cat")]
    pub(super) category: Cow<'t, str>,
    #[serde(borrow, deserialize_with = "walk::text", rename = "ph")]
    pub(super) phase: Cow<'t, str>,
    #[serde(deserialize_with = "time", rename = "ts")]
    pub(super) start: Option<i64>,
    #[serde(deserialize_with = "time", rename = "dur")]
    pub(super) duration: Option<i64>,
    #[serde(borrow, deserialize_with = "walk::text", rename = "pid")]
    pub(super) process: Cow<'t, str>,
    #[serde(borrow, deserialize_with = "walk::text", rename = "tid")]
    pub(super) thread: Cow<'t, str>,
    #[serde(borrow, deserialize_with = "walk::text")]
    pub(super) id: Cow<'t, str>,
    #[serde(borrow, deserialize_with = "walk::text")]
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
    #[serde(borrow, deserialize_with = "walk::text")]
    pub(super) name: Cow<'t, str>,
    #[serde(deserialize_with = "walk::count")]
    pub(super) device: Option<u64>,
    #[serde(deserialize_with = "walk::count")]
    pub(super) stream: Option<u64>,
    #[serde(deserialize_with = "walk::count")]
    pub(super) correlation: Option<u64>,
    #[serde(deserialize_with = "walk::count")]
    pub(super) bytes: Option<u64>,
    #[serde(deserialize_with = "walk::three")]
    pub(super) grid: Option<[u64; 3]>,
    #[serde(deserialize_with = "walk::three")]
    pub(super) block: Option<[u64; 3]>,
    /// The run of a sample and the size of an operation, in this program's own traces.
    #[serde(deserialize_with = "walk::count")]
    pub(super) run: Option<u64>,
    #[serde(deserialize_with = "walk::count")]
    pub(super) size: Option<u64>,
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(Raw::deserialize(from)?.ns(UNIT_NS))
}
