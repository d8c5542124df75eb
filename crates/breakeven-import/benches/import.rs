//! How fast traces are read, and in how much memory: made-up traces of a program that
//! launches kernels, as large as asked for.
//!
//! ```text
//! cargo bench -p breakeven-import --bench import -- [--quick] [--mb 1000]
//! ```
//!
//! The peak is what the process holds while it reads, less what it held before (Linux).
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use breakeven_import::{Options, count_ns, read};
use breakeven_profile::profile::{Operation, Profile, Run};
use rusqlite::Connection;

#[path = "../../../bench/metric.rs"]
mod metric;

use metric::{is_quick, metric, write_profile};

/// Kernels of a step, and different names of kernels.
const KERNELS: u64 = 12;
const NAMES: u64 = 300;

/// Writes a file of that many bytes.
type Writer = fn(&Path, u64) -> io::Result<()>;

/// A format, and what writes such a file.
const FORMATS: [(&str, Writer); 3] = [("chrome", chrome), ("nsys", nsys), ("collapsed", collapsed)];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--read") {
        return measured(&arguments[at + 1], Path::new(&arguments[at + 2]));
    }
    let asked = arguments.iter().position(|argument| argument == "--mb");
    let mb: u64 = match asked.and_then(|at| arguments.get(at + 1)) {
        Some(text) => text.parse()?,
        None if is_quick() => 8,
        None => 64,
    };
    let folder = tempfile::tempdir()?;
    let mut operations = Vec::new();
    for (format, write) in FORMATS {
        let path = folder.path().join(format);
        write(&path, mb << 20)?;
        // A process of its own: memory that another format left is not its.
        let reader = Command::new(std::env::current_exe()?)
            .args(["--read", format])
            .arg(&path)
            .output()?;
        let text = String::from_utf8(reader.stdout)?;
        print!("{text}{}", String::from_utf8(reader.stderr)?);
        let ns = text.lines().find_map(|line| line.strip_prefix("ns "));
        let mut operation = Operation::new(format!("import {format}"), "cpu");
        operation.workload = Some(format!("{mb} MiB"));
        operation.runs.push(Run {
            samples_ns: vec![ns.ok_or("the reader failed")?.parse()?],
            ..Run::default()
        });
        operations.push(operation);
        fs::remove_file(&path)?;
    }
    let profile = Profile {
        operations,
        ..Profile::default()
    };
    write_profile("import", profile);
    Ok(())
}

/// Reads the file, and prints how long that took and what it needed.
fn measured(format: &str, path: &Path) -> Result<(), Box<dyn Error>> {
    let megabytes = fs::metadata(path)?.len() as f64 / 1e6;
    let options = Options {
        count_ns: count_ns("ns"),
        ..Options::default()
    };
    let before = memory("VmRSS:");
    let start = Instant::now();
    let imported = read(path, &options)?;
    let ns = start.elapsed().as_nanos() as f64;
    let peak = memory("VmHWM:");
    println!("ns {ns}");
    // Others may be at work on the machine: the time on a core beside that of the clock.
    if let Some(on_cpu) = on_cpu() {
        metric(
            &format!("import_{format}_mb_per_cpu_s"),
            megabytes / (on_cpu / 1e9),
            "MB/s",
        );
    }
    let rate = megabytes / (ns / 1e9);
    metric(&format!("import_{format}_mb_per_s"), rate, "MB/s");
    if let Some((before, peak)) = before.zip(peak) {
        metric(
            &format!("import_{format}_peak_mb"),
            (peak - before) / 1e6,
            "MB",
        );
    }
    let operations = imported.profile.operations.iter();
    let calls: u64 = operations.map(Operation::calls).sum();
    metric(&format!("import_{format}_events"), calls as f64, "");
    for note in &imported.notes {
        println!("{format}: {note}");
    }
    Ok(())
}

/// Time of this thread on a core so far, ns.
fn on_cpu() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// What the operating system counts of this process's memory, bytes.
fn memory(what: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(what))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0)
}

fn kernel(number: u64) -> String {
    let number = number % NAMES;
    format!(
        "void at::native::vectorized_elementwise_kernel<4, at::native::Functor{number}<float>, \
         std::array<char*, 3ul> >(int, at::native::Functor{number}<float>, std::array<char*, 3ul>)"
    )
}

/// A trace of steps as Kineto writes them, in which all is out of order: calls before what
/// is around them, kernels behind their launches.
fn chrome(path: &Path, bytes: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    write!(out, "{{\"schemaVersion\":1,\"traceEvents\":[")?;
    let (mut written, mut separator) = (0, "");
    for step in 0.. {
        if written > bytes {
            break;
        }
        let mut text = String::new();
        let begin = step * 1_000;
        for n in 0..KERNELS {
            let (id, at) = (step * KERNELS + n, begin + n * 80);
            text += &format!(
                "{separator}\n{{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,\"ts\":{}.125,\"dur\":6.250,\"args\":{{\"External id\":{id},\"cbid\":211,\"correlation\":{id}}}}},\n{{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::operator_{}\",\"pid\":9,\"tid\":9,\"ts\":{at}.000,\"dur\":60.500,\"args\":{{\"External id\":{id},\"Record function id\":0,\"Sequence number\":{id},\"Fwd thread id\":0}}}},\n{{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"{}\",\"pid\":0,\"tid\":7,\"ts\":{}.5,\"dur\":41.125,\"args\":{{\"External id\":{id},\"queued\":0,\"device\":0,\"context\":1,\"stream\":{},\"correlation\":{id},\"registers per thread\":32,\"shared memory\":0,\"blocks per SM\":0.5,\"warps per SM\":2,\"grid\":[80,1,1],\"block\":[128,1,1],\"est. achieved occupancy %\":25}}}},\n{{\"ph\":\"f\",\"id\":{id},\"pid\":0,\"tid\":7,\"ts\":{at},\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"}}",
                at + 20,
                id % 97,
                kernel(id),
                at + 130,
                7 + id % 3
            );
            separator = ",";
        }
        text += &format!(
            ",\n{{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#{step}\",\"pid\":9,\"tid\":9,\"ts\":{begin},\"dur\":990.0,\"args\":{{}}}}"
        );
        out.write_all(text.as_bytes())?;
        written += text.len() as u64;
    }
    writeln!(out, "]}}")?;
    out.flush()
}

/// The database of a report.
fn nsys(path: &Path, bytes: u64) -> io::Result<()> {
    fill(path, bytes).map_err(io::Error::other)
}

fn fill(path: &Path, bytes: u64) -> rusqlite::Result<()> {
    let mut database = Connection::open(path)?;
    database.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
            streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
            gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,
            blockZ INTEGER);
         CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER,
            globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
         INSERT INTO StringIds VALUES (100000, 'cudaLaunchKernel_v7000');",
    )?;
    let all = database.transaction()?;
    {
        let mut name = all.prepare("INSERT INTO StringIds VALUES (?1, ?2)")?;
        for number in 0..NAMES {
            name.execute((number as i64, kernel(number)))?;
        }
        let mut kernel = all.prepare(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES \
             (?1, ?2, 0, ?3, ?4, 16777216, ?5, 80, 1, 1, 128, 1, 1)",
        )?;
        let mut call = all.prepare(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?1, ?2, 16777225, ?3, 100000)",
        )?;
        // A launch and its kernel take some 100 bytes.
        for number in 0..(bytes / 100) as i64 {
            let at = number * 80_000;
            call.execute((at, at + 6_000, number))?;
            kernel.execute((
                at + 30_000,
                at + 71_000,
                7 + number % 3,
                number,
                number % 300,
            ))?;
        }
    }
    all.commit()
}

/// Call paths of up to 40 frames.
fn collapsed(path: &Path, bytes: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut written = 0;
    for line in 0_u64.. {
        if written > bytes {
            break;
        }
        let depth = 3 + line % 37;
        let frame = |level: u64| format!("module::function_{}", (line / 7 + level * level) % 5_000);
        let frames: Vec<String> = (0..depth).map(frame).collect();
        let text = format!("{} {}\n", frames.join(";"), 1 + line % 100);
        out.write_all(text.as_bytes())?;
        written += text.len() as u64;
    }
    out.flush()
}
