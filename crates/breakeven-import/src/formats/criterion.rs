//! criterion's folder, `target/criterion`, or a single `sample.json` or `estimates.json` in
//! it. A folder is one run: a process measures each benchmark in one go, and each sample is
//! the mean time of its iterations (`times[i] / iters[i]`). Several folders are several
//! runs (`CRITERION_HOME=run1 cargo bench`, and so on).
//!
//! Of a benchmark the results in `new` are read, those of the last process; `base` and
//! saved baselines are of earlier ones, `change` compares two, and none of them is read,
//! unless a folder below one benchmark is named itself. A benchmark is named by its
//! `full_id`, or by its folders where `benchmark.json` is not there. Where `sample.json` is missing, the median of `estimates.json` is the sample.
//!
//! Source: the book of criterion.rs, "Analysis Process" and "External Tools", and
//! `src/measurement.rs`, by which `times` are in ns.

use std::fs;
use std::path::{Path, PathBuf};

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;
use serde::Deserialize;

use crate::formats::{Format, Options};
use crate::gather::{Gather, Gathered};
use crate::json::{self, Number};
use crate::note::Notes;
use crate::source::Source;

pub(crate) static IMPORTER: Format = Format {
    name: "criterion",
    about: "criterion: the folder target/criterion, or a sample.json in it",
    recognises: |source| match source.is_folder() {
        true => !benchmarks(source.path(), 1).is_empty(),
        false => is_sample(source) || is_estimates(source),
    },
    read,
};

const BENCHMARK: &str = "benchmark.json";
const SAMPLE: &str = "sample.json";
const ESTIMATES: &str = "estimates.json";

/// Folders between the one that is named and results: group, function, value, `new`, with
/// one to spare.
const DEPTH: usize = 5;

#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
    throughput: Option<Throughput>,
}

/// What a call processes.
#[derive(Deserialize)]
enum Throughput {
    Bytes(u64),
    BytesDecimal(u64),
    Elements(u64),
    #[serde(untagged)]
    Other(serde_json::Value),
}

#[derive(Deserialize)]
struct Sample {
    iters: Vec<Number>,
    times: Vec<Number>,
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: Number,
}

fn is_sample(source: &Source) -> bool {
    source.has("iters[]") && source.has("times[]")
}

fn is_estimates(source: &Source) -> bool {
    source.has("median.point_estimate") && source.has("median_abs_dev.point_estimate")
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let mut gather = Gather::default();
    if source.is_folder() {
        let folders = benchmarks(source.path(), usize::MAX);
        if folders.is_empty() {
            let message = "the folder holds no results of criterion; name target/criterion";
            return Err(FileError::new(FileErrorKind::NotAProfile, message));
        }
        for folder in &folders {
            if !is_new(folder) && folder != source.path() {
                let why = "they have no folder new, of the last process; run cargo bench again";
                notes.leave_out("benchmark(s)", why, &folder.display().to_string());
                continue;
            }
            match results(folder, source.path(), &mut gather, notes) {
                Err(error) if folders.len() == 1 => return Err(error),
                Err(error) => {
                    let why = "their files cannot be read";
                    notes.leave_out("benchmark(s)", why, &error.to_string());
                }
                Ok(()) => {}
            }
        }
    } else {
        let folder = source.path().parent().unwrap_or(Path::new("")).to_owned();
        let benchmark = benchmark(&folder, notes)?;
        let operation = of(&benchmark, &mut gather);
        match is_sample(&source) {
            true => samples(source, operation, notes)?,
            false => estimate(source, operation, notes)?,
        }
    }
    gather.profile(notes)
}

/// Reads the results of one benchmark below the folder that is named.
fn results(
    folder: &Path,
    root: &Path,
    gather: &mut Gather,
    notes: &mut Notes,
) -> Result<(), FileError> {
    let benchmark = match folder.join(BENCHMARK).is_file() {
        true => benchmark(folder, notes)?,
        false => Benchmark {
            full_id: by_folder(folder, root),
            throughput: None,
        },
    };
    let operation = of(&benchmark, gather);
    let sample = folder.join(SAMPLE);
    match sample.is_file() {
        true => samples(Source::open(&sample)?, operation, notes),
        false => estimate(Source::open(&folder.join(ESTIMATES))?, operation, notes),
    }
}

/// The benchmark's name by its folders, as criterion makes them of it.
fn by_folder(folder: &Path, root: &Path) -> String {
    let folder = folder.ancestors().find(|each| !is_new(each));
    let folder = folder.unwrap_or(root);
    let below = folder.strip_prefix(root).ok();
    let below = below.filter(|below| below.file_name().is_some());
    let below = below.or(folder.file_name().map(Path::new));
    let names = below
        .into_iter()
        .flatten()
        .map(|name| name.to_string_lossy());
    names.collect::<Vec<_>>().join("/")
}

fn is_new(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "new")
}

fn benchmark(folder: &Path, notes: &mut Notes) -> Result<Benchmark, FileError> {
    let path = folder.join(BENCHMARK);
    if !path.is_file() {
        let message = "benchmark.json, which has the benchmark's name, is not beside it; name the folder target/criterion";
        return Err(FileError::new(FileErrorKind::Io, message));
    }
    json::read(Source::open(&path)?, notes)
}

fn of<'g>(benchmark: &Benchmark, gather: &'g mut Gather) -> &'g mut Gathered {
    let operation = gather.entry(&benchmark.full_id, "cpu", None);
    match &benchmark.throughput {
        Some(Throughput::Bytes(bytes) | Throughput::BytesDecimal(bytes)) => {
            operation.operation.bytes = Some(*bytes);
        }
        Some(Throughput::Elements(items)) => operation.operation.items = Some(*items),
        Some(Throughput::Other(other)) => operation.attribute("throughput", other.clone()),
        None => {}
    }
    operation
}

fn samples(source: Source, operation: &mut Gathered, notes: &mut Notes) -> Result<(), FileError> {
    let path = source.path().to_owned();
    let sample: Sample = json::read(source, notes)?;
    let (iterations, times) = (sample.iters.len(), sample.times.len());
    if iterations != times {
        let message =
            format!("it has {times} times of {iterations} counts of iterations; measure again");
        return Err(FileError::new(FileErrorKind::Value, message).at_path(&path));
    }
    for (time, iterations) in sample.times.iter().zip(&sample.iters) {
        operation.sample(0, time.0 / iterations.0);
    }
    Ok(())
}

fn estimate(source: Source, operation: &mut Gathered, notes: &mut Notes) -> Result<(), FileError> {
    let estimates: Estimates = json::read(source, notes)?;
    operation.summary(0, estimates.median.point_estimate.0, "median", notes);
    Ok(())
}

/// The folders with results of a process, in the order of their paths: `new` of every
/// benchmark, else another that it has, or the folder itself.
fn benchmarks(folder: &Path, most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if is_results(folder) {
        found.push(folder.to_owned());
    } else {
        walk(folder, DEPTH, most, &mut found);
    }
    found
}

fn is_results(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).is_file();
    (is_new(folder) || has(BENCHMARK)) && (has(SAMPLE) || has(ESTIMATES))
}

fn walk(folder: &Path, depth: usize, most: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    // Links are not followed: they may lead back.
    let folders = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    let mut results = folders.iter().filter(|inside| is_results(inside));
    let newest = results.clone().find(|inside| is_new(inside));
    let results = newest.or_else(|| results.next()).cloned();
    for inside in folders {
        if found.len() >= most {
            return;
        }
        if results.as_ref() == Some(&inside) {
            found.push(inside);
        } else if depth > 0 {
            walk(&inside, depth - 1, most, found);
        }
    }
}
