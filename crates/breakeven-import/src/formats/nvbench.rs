//! `nvbench`'s JSON: benchmarks of CUDA kernels. An operation is a benchmark with the
//! values of its axes, on the device that it ran on; a sample is the GPU's time of one
//! cold launch, of those that `--jsonbin` wrote into files beside the JSON. The file is one
//! run. The other summaries (rates, the time of the CPU) are counters, named by their tags.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Component, Path};

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::{Gpu, Profile};
use serde::Deserialize;
use serde_json::Value;

use crate::formats::{Format, Options};
use crate::gather::{Gather, Gathered};
use crate::json::{self, Entries, number};
use crate::name::plain;
use crate::note::Notes;
use crate::source::Source;

pub(crate) static IMPORTER: Format = Format {
    name: "nvbench",
    about: "an nvbench program with --json FILE, or with --jsonbin FILE for all samples",
    recognises: |source| source.has("benchmarks[].states"),
    read,
};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    devices: Vec<Device>,
    benchmarks: Entries<Benchmark>,
}

#[derive(Deserialize)]
struct Device {
    id: u64,
    name: Option<String>,
    global_memory_size: Option<u64>,
}

#[derive(Deserialize)]
struct Benchmark {
    name: String,
    states: Entries<State>,
}

/// A benchmark at one point of its axes.
#[derive(Deserialize)]
struct State {
    device: Option<u64>,
    axis_values: Option<Vec<Named>>,
    summaries: Option<Vec<Summary>>,
    #[serde(default)]
    is_skipped: bool,
    skip_reason: Option<String>,
}

#[derive(Deserialize)]
struct Summary {
    tag: String,
    /// What it is: `duration`, `item_rate`, `sample_size`.
    hint: Option<String>,
    #[serde(default)]
    data: Vec<Named>,
}

/// A value with a name; numbers may be texts.
#[derive(Deserialize)]
struct Named {
    name: String,
    value: Value,
}

impl State {
    fn value(&self, tag: &str, name: &str) -> Option<&Value> {
        let mut summaries = self.summaries.iter().flatten();
        let summary = summaries.find(|summary| summary.tag == tag)?;
        let named = summary.data.iter().find(|named| named.name == name)?;
        Some(&named.value)
    }

    fn number(&self, tag: &str, name: &str) -> Option<f64> {
        number(self.value(tag, name)?)
    }

    /// What the summaries say beside the time of the GPU.
    fn counters(&self, operation: &mut Gathered) {
        for summary in self.summaries.iter().flatten() {
            let unit = match summary.hint.as_deref() {
                Some("duration") => "s",
                Some("item_rate") => "1/s",
                Some("byte_rate" | "bytes_per_second") => "B/s",
                Some("frequency") => "Hz",
                Some("sample_size" | "file/sample_times") => continue,
                _ => "",
            };
            let value = summary.data.iter().find(|named| named.name == "value");
            if let Some(value) = value.and_then(|named| number(&named.value))
                && summary.tag != MEAN
            {
                operation.counter(0, &summary.tag, unit, value);
            }
        }
    }
}

/// How the reason begins with which nvbench skips a state that threw an exception.
const EXCEPTION: &str = "Unexpected error";
const SAMPLES: &str = "nv/json/bin:nv/cold/sample_times";
const MEAN: &str = "nv/cold/time/gpu/mean";

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let path = source.path().to_owned();
    let document: Document = json::read(source, notes)?;
    let mut gather = Gather::default();
    for benchmark in &document.benchmarks.noted(notes) {
        benchmark.states.note(notes);
        for state in &benchmark.states.read {
            let device = format!("cuda:{}", state.device.unwrap_or(0));
            let operation = gather.entry(&name(benchmark, state), &device, None);
            let reason = state.skip_reason.as_deref();
            match reason.filter(|reason| reason.starts_with(EXCEPTION)) {
                Some(reason) => operation.failed("error", reason),
                None if state.is_skipped => operation.skipped(reason, notes),
                None => {
                    samples(state, &path, operation, notes)?;
                    state.counters(operation);
                }
            }
        }
    }
    let gpus = document.devices.into_iter().map(|device| Gpu {
        id: format!("cuda:{}", device.id),
        name: device.name,
        backend: Some("cuda".to_owned()),
        memory_bytes: device.global_memory_size,
        ..Gpu::default()
    });
    gather.about.environment.gpus = gpus.collect();
    gather.profile(notes)
}

/// The benchmark's name with the values of its axes: `copy T=F32 Elements=1048576`.
fn name(benchmark: &Benchmark, state: &State) -> String {
    let mut name = benchmark.name.clone();
    for axis in state.axis_values.iter().flatten() {
        name.extend([" ", &axis.name, "=", &plain(&axis.value)]);
    }
    name
}

fn samples(
    state: &State,
    path: &Path,
    operation: &mut Gathered,
    notes: &mut Notes,
) -> Result<(), FileError> {
    let file = state.value(SAMPLES, "filename").and_then(Value::as_str);
    if let (Some(file), Some(count)) = (file, state.number(SAMPLES, "size")) {
        match of_file(path, file, count, |s| operation.sample(0, s * 1e9))? {
            true => return Ok(()),
            false => notes.left_out(
                1,
                "file(s) of samples",
                "they are not beside the JSON; copy the folder whose name ends in -bin with it",
            ),
        }
    }
    if let Some(mean) = state.number(MEAN, "value") {
        operation.summary(0, mean * 1e9, "mean", notes);
    }
    Ok(())
}

/// Takes the times of a file of samples, 32-bit floats in seconds; false where it is not
/// there. Its name is relative to the JSON's folder, or to the one above.
fn of_file(
    json: &Path,
    name: &str,
    count: f64,
    mut each: impl FnMut(f64),
) -> Result<bool, FileError> {
    let inside = |part| matches!(part, Component::Normal(_));
    let folders = json.parent().into_iter();
    let folders = folders.flat_map(|folder| [Some(folder), folder.parent()]);
    let mut found = (folders.flatten())
        .filter(|_| Path::new(name).components().all(inside))
        .map(|folder| folder.join(name))
        .filter(|path| path.is_file());
    let Some(path) = found.next() else {
        return Ok(false);
    };
    let failed = |reason| FileError::io("cannot be read", &reason).at_path(&path);
    let file = File::open(&path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes as f64 != count * 4.0 {
        let message = format!(
            "it has {bytes} bytes, and {} says that it has {count} samples of 4 bytes; run the \
             benchmark again",
            json.display()
        );
        return Err(FileError::new(FileErrorKind::Value, message).at_path(&path));
    }
    let mut reader = BufReader::new(file);
    let mut sample = [0; 4];
    for _ in 0..bytes / 4 {
        reader.read_exact(&mut sample).map_err(failed)?;
        each(f32::from_le_bytes(sample).into());
    }
    Ok(true)
}
