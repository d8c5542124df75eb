//! Events as operations, threads and the work of devices.

use std::collections::HashMap;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::{Environment, Gpu, Profile};
use serde::Deserialize;

use super::event::Event;
use crate::note::Notes;
use crate::trace::{FILL, LaunchFacts, Trace, When, Work};

/// Kinds of events by what a tracer calls them (`cat`), in small letters: those of Kineto,
/// the profiler of PyTorch, of its newer and its older releases.
const KERNELS: [&str; 2] = ["kernel", "concurrent_kernel"];
const COPIES: [&str; 2] = ["gpu_memcpy", "memcpy"];
const FILLS: [&str; 2] = ["gpu_memset", "memset"];
const INTERFACE: [&str; 4] = ["cuda_runtime", "cuda_driver", "runtime", "driver"];
/// Ranges of the program, on the device.
const ANNOTATIONS: [&str; 1] = ["gpu_user_annotation"];
/// What spans other events and is no operation: the whole trace, gaps of the profiler.
const FRAMES: [&str; 1] = ["trace"];

/// Calls that are open at once, names that are kept of processes and threads.
const MOST: usize = 1 << 16;

/// A GPU as Kineto describes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeviceProperties {
    id: u64,
    name: Option<String>,
    total_global_mem: Option<u64>,
}

/// A call that has begun.
struct Open {
    operation: u32,
    start: i64,
}

/// A thread of a process.
struct Thread {
    track: u32,
    process: String,
    thread: String,
    name: Option<String>,
    open: Vec<Open>,
    /// The size of its operation, in this program's own traces of samples.
    size: Option<u64>,
}

#[derive(Default)]
pub(super) struct Builder {
    trace: Option<Trace>,
    pub(super) gpus: Vec<DeviceProperties>,
    pub(super) interrupted: bool,
    /// True for what this program exported.
    pub(super) is_own: bool,
    key: String,
    threads: Vec<Thread>,
    by_name: HashMap<String, usize>,
    processes: HashMap<String, String>,
    asynchronous: HashMap<String, (Open, u32)>,
    is_hip: bool,
    open: usize,
    unclosed: u64,
    without_time: u64,
    parts: u64,
}

impl Builder {
    pub(super) fn take(&mut self, event: &Event) {
        match event.phase.as_str() {
            "X" => self.complete(event),
            "B" => self.begin(event),
            "E" => self.end(event),
            "b" | "S" => self.begin_asynchronous(event),
            "e" | "F" => self.end_asynchronous(event),
            "M" => self.describe(event),
            "i" | "I" if self.is_own => self.facts(event),
            _ => {}
        }
    }

    fn trace(&mut self) -> &mut Trace {
        // Times in µs, so what is inside may seem to end a µs later.
        self.trace.get_or_insert_with(|| Trace::rounded_to(1_000))
    }

    /// The thread of an event; past the limit one for all.
    fn thread(&mut self, event: &Event) -> &mut Thread {
        let names = [&event.process, &event.thread].map(String::as_str);
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
                    open: Vec::new(),
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

    fn complete(&mut self, event: &Event) {
        let duration = event.duration.and_then(|ns| u64::try_from(ns).ok());
        let (Some(start), Some(duration)) = (event.start, duration) else {
            self.without_time += 1;
            return;
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
            Some(Work::copy(&event.name, event.args.bytes))
        } else if is(&FILLS) {
            Some(Work::Copy(FILL, event.args.bytes))
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
            if let Some(correlation) = event.args.correlation
                && event.name.contains("aunch")
            {
                self.trace().launch((0, correlation), when);
            }
        }
    }

    fn on_device(&mut self, event: &Event, when: When, work: Option<Work>) {
        // Before args had the device, the process was it.
        let device = event.args.device.or_else(|| event.process.parse().ok());
        let device = device.unwrap_or(0);
        let stream = event.args.stream.or_else(|| {
            let digits = event.thread.trim_start_matches("stream ");
            digits.parse().ok()
        });
        let facts = LaunchFacts {
            bytes: event.args.bytes,
            grid: event.args.grid,
            block: event.args.block,
        };
        let id = event.args.correlation.map(|number| (0, number));
        let name = annotation(&event.name);
        let trace = self.trace();
        let (device, track) = trace.stream("cuda", device, stream);
        let operation = trace.operations.number(name, device, &event.category);
        match work {
            Some(work) => {
                trace.operations.add_facts(operation, &facts);
                trace.work(operation, track, when, work, stream, id);
            }
            None => trace.range(operation, track, when),
        }
    }

    fn operation(&mut self, event: &Event) -> u32 {
        let operations = &mut self.trace().operations;
        let cpu = operations.device("cpu");
        operations.number(annotation(&event.name), cpu, &event.category)
    }

    /// A call or a sample of what this program exported: the process is the device.
    fn own(&mut self, event: &Event, when: When) {
        if event.category == "phase" {
            self.parts += 1;
            return;
        }
        let device = self.processes.get(&event.process).cloned();
        let device = device.unwrap_or_else(|| "cpu".to_owned());
        let device = device.trim_end_matches(" (software)");
        let Thread { track, size, .. } = *self.thread(event);
        let size = size.filter(|_| event.category == "sample");
        let trace = self.trace();
        let device_number = trace.operations.device(device);
        let operation = (trace.operations).sized(&event.name, device_number, "", size);
        match event.args.run.and_then(|run| usize::try_from(run).ok()) {
            Some(run) => {
                (trace.operations).sample(operation, run, when.duration as f64);
            }
            // Every device's calls were on a thread that called it.
            None => trace.call(operation, track, when),
        }
    }

    /// What this program told of the operation of a track.
    fn facts(&mut self, event: &Event) {
        let size = event.args.size;
        if size.is_some() {
            self.thread(event).size = size;
        }
    }

    fn begin(&mut self, event: &Event) {
        let Some(start) = event.start else {
            self.without_time += 1;
            return;
        };
        if self.open >= MOST {
            self.unclosed += 1;
            return;
        }
        self.open += 1;
        let operation = self.operation(event);
        self.thread(event).open.push(Open { operation, start });
    }

    fn end(&mut self, event: &Event) {
        let thread = self.thread(event);
        let (track, open) = (thread.track, thread.open.pop());
        let ended = open.zip(event.start);
        self.open -= usize::from(ended.is_some());
        let when = ended.and_then(|(open, end)| {
            let when = When::between(open.start, end)?;
            Some((open.operation, when))
        });
        match when {
            Some((operation, when)) => self.trace().call(operation, track, when),
            None => self.unclosed += 1,
        }
    }

    fn asynchronous_key(&mut self, event: &Event) {
        self.key.clear();
        for part in [&event.process, &event.category, &event.id, &event.name] {
            self.key.push_str(part);
            self.key.push('\0');
        }
    }

    fn begin_asynchronous(&mut self, event: &Event) {
        let Some(start) = event.start else {
            self.without_time += 1;
            return;
        };
        if self.asynchronous.len() >= MOST {
            self.unclosed += 1;
            return;
        }
        let operation = self.operation(event);
        let track = self.thread(event).track;
        self.asynchronous_key(event);
        let open = Open { operation, start };
        if (self.asynchronous.insert(self.key.clone(), (open, track))).is_some() {
            self.unclosed += 1;
        }
    }

    fn end_asynchronous(&mut self, event: &Event) {
        self.asynchronous_key(event);
        let open = self.asynchronous.remove(&self.key);
        let ended = open.zip(event.start).and_then(|((open, track), end)| {
            let when = When::between(open.start, end)?;
            Some((open.operation, track, when))
        });
        match ended {
            Some((operation, track, when)) => self.trace().range(operation, track, when),
            None => self.unclosed += 1,
        }
    }

    /// The name of a process or a thread.
    fn describe(&mut self, event: &Event) {
        let name = &event.args.name;
        match event.name.as_str() {
            _ if name.is_empty() => {}
            "process_name" if self.processes.len() < MOST => {
                self.processes.insert(event.process.clone(), name.clone());
            }
            "thread_name" => self.thread(event).name = Some(name.clone()),
            _ => {}
        }
    }

    pub(super) fn profile(mut self, notes: &mut Notes) -> Result<Profile, FileError> {
        let still_open = self.open + self.asynchronous.len();
        notes.left_out(
            self.unclosed + still_open as u64,
            "event(s)",
            "they begin and never end, end without a beginning, or more than 65536 are open at once",
        );
        notes.left_out(
            self.without_time,
            "event(s)",
            "they have no time, or one below zero",
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
        let environment = Environment {
            gpus: gpus.collect(),
            ..Environment::default()
        };
        let mut profile = trace.profile(environment, notes)?;
        profile.interrupted = self.interrupted;
        Ok(profile)
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
