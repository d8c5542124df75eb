//! The database that `nsys export --type sqlite` makes of a report of Nsight Systems. A
//! kernel, a copy, a call of CUDA or of the operating system, and a range of NVTX is an
//! operation by its name; the report is one run. Tables are made only for what was traced,
//! and their columns differ between versions.

mod database;

use std::collections::HashMap;

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::{Gpu, Profile};

use crate::formats::{Format, Options};
use crate::gather::LaunchFacts;
use crate::note::Notes;
use crate::source::Source;
use crate::trace::{Activity, FILL, Trace, When, Work};

use database::{Database, Row};

pub(crate) static IMPORTER: Format = Format {
    name: "nsys",
    about: "Nsight Systems: nsys export --type sqlite REPORT",
    recognises: |source| source.head().starts_with(database::MAGIC),
    read,
};

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let path = source.path().to_owned();
    let database = Database::open(&path)?;
    let known = [KERNEL, MEMCPY, MEMSET, RUNTIME, OSRT, NVTX];
    if known.iter().all(|table| database.table(table).is_none()) {
        let is_rocpd = ["rocpd_metadata", "rocpd_string"].map(|table| database.table(table));
        let message = match is_rocpd.iter().any(Option::is_some) {
            true => "a database of rocprofv3; write JSON instead: rocprofv3 --output-format json",
            false => {
                "a database that Nsight Systems did not write, or one of a report without CUDA, \
                 NVTX and OS runtime; trace with nsys profile --trace cuda,nvtx"
            }
        };
        return Err(FileError::new(FileErrorKind::NotAProfile, message).at_path(&path));
    }
    for (table, what) in [
        (KERNEL, "kernel"),
        (RUNTIME, "call of CUDA"),
        (NVTX, "range"),
    ] {
        if database.table(table).is_none() {
            notes.lacks(
                format!("{what}, since the report has no table {table}"),
                "it was not traced (nsys profile --trace cuda,nvtx), or did not happen",
            );
        }
    }
    let read = Reading {
        database: &database,
        strings: database.texts("StringIds", "value")?,
        trace: Trace::default(),
        by_thread: HashMap::new(),
        malformed: 0,
    };
    read.profile(notes).map_err(|error| error.at_path(&path))
}

const KERNEL: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
const MEMCPY: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
const MEMSET: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
const RUNTIME: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
const OSRT: &str = "OSRT_API";
const NVTX: &str = "NVTX_EVENTS";

/// The type of an event that is a range which begins and ends anywhere (`nvtxRangeStart`).
const START_END: i64 = 60;

/// A global id is a process's in its middle 24 bits, a thread's in the last.
const ID: i64 = 1 << 24;

struct Reading<'d> {
    database: &'d Database,
    /// Texts by their number.
    strings: HashMap<i64, String>,
    trace: Trace,
    /// Tracks by the global id of their thread.
    by_thread: HashMap<i64, u32>,
    malformed: u64,
}

impl Reading<'_> {
    fn profile(mut self, notes: &mut Notes) -> Result<Profile, FileError> {
        let database = self.database;
        self.trace.operations.about.environment.gpus = gpus(database)?;
        for (table, category, name) in [
            (RUNTIME, "cuda_api", "nameId"),
            (OSRT, "os_runtime", "nameId"),
            (NVTX, "nvtx", "textId"),
        ] {
            let columns = format!("start end globalTid {name} text correlationId eventType");
            database.each(table, &columns, |row| {
                // Marks have no end.
                let is_mark =
                    category == "nvtx" && row.number(0).is_some() && row.number(1).is_none();
                if !is_mark && self.host(&row, category).is_none() {
                    self.malformed += 1;
                }
            })?;
        }
        let labels = database.texts("ENUM_CUDA_MEMCPY_OPER", "label")?;
        for table in [KERNEL, MEMCPY, MEMSET] {
            let columns = "start end globalPid demangledName shortName correlationId deviceId \
                           streamId bytes copyKind gridX gridY gridZ blockX blockY blockZ";
            database.each(table, columns, |row| match row.when(0) {
                Some(when) => self.device(&row, when, table, &labels),
                None => self.malformed += 1,
            })?;
        }
        self.name_threads()?;
        if database.table("StringIds").is_none() {
            let why = "the names of kernels and calls are in it; export the report again";
            notes.lacks("table StringIds", why);
        }
        notes.left_out(
            self.malformed,
            "row(s)",
            "they lack a time or a name, or end before they begin",
        );
        self.trace.profile(notes)
    }

    /// A call or a range of the host; `None` if it lacks something.
    fn host(&mut self, row: &Row<'_>, category: &str) -> Option<()> {
        let when = row.when(0)?;
        let name = row
            .text(4)
            .or_else(|| Some(self.strings.get(&row.number(3)?)?));
        let name = name.filter(|name| !name.is_empty())?;
        let thread = row.number(2).unwrap_or(0);
        let new = || self.trace.track(&format!("{THREAD}{thread}"));
        let track = *self.by_thread.entry(thread).or_insert_with(new);
        let is_cuda = category == "cuda_api";
        let name = if is_cuda { without_version(name) } else { name };
        let cpu = self.trace.operations.device("cpu");
        let operation = self.trace.operations.number(name, cpu, category);
        match row.number(6) {
            Some(START_END) => self.trace.range(operation, track, when),
            _ => self.trace.call(operation, track, when),
        }
        if let (true, Some(id)) = (is_cuda && name.contains("aunch"), row.number(5)) {
            self.trace.launch(correlation(thread, id), when);
        }
        Some(())
    }

    /// What a GPU did.
    fn device(&mut self, row: &Row<'_>, when: When, table: &str, labels: &HashMap<i64, String>) {
        let count = |column| {
            row.number(column)
                .and_then(|count| u64::try_from(count).ok())
        };
        let three = |first| Some([count(first)?, count(first + 1)?, count(first + 2)?]);
        let bytes = count(8);
        let copied;
        let (name, category, work) = match table {
            KERNEL => {
                let name = row.number(3).or(row.number(4));
                let name = name.and_then(|name| self.strings.get(&name));
                let name = name.map_or("", String::as_str);
                (name, "kernel", Work::kernel(name))
            }
            MEMCPY => {
                let kind = row.number(9).unwrap_or(0);
                let label = labels.get(&kind).map_or(direction(kind), String::as_str);
                copied = format!("[CUDA memcpy {label}]");
                (copied.as_str(), "memcpy", Work::copy(&copied, bytes))
            }
            _ => ("[CUDA memset]", "memset", Work::Copy(FILL, bytes)),
        };
        let id = row.number(5);
        let activity = Activity {
            name,
            category,
            device: count(6).unwrap_or(0),
            stream: count(7),
            when,
            work: Some(work),
            id: id.map(|id| correlation(row.number(2).unwrap_or(0), id)),
            facts: LaunchFacts {
                bytes,
                grid: three(10),
                block: three(13),
            },
        };
        self.trace.activity("cuda", &activity);
    }

    fn name_threads(&mut self) -> Result<(), FileError> {
        let mut names: HashMap<i64, &str> = HashMap::new();
        (self.database).each("ThreadNames", "globalTid nameId", |row| {
            let name = row.number(1).and_then(|name| self.strings.get(&name));
            if let (Some(thread), Some(name)) = (row.number(0), name) {
                names.insert(thread, name);
            }
        })?;
        self.trace.name_tracks(|_, label| {
            let id: i64 = label.strip_prefix(THREAD)?.parse().ok()?;
            let thread = id.rem_euclid(ID);
            Some(match names.get(&id) {
                Some(name) => format!("{name} ({thread})"),
                None => format!("thread {thread}"),
            })
        });
        Ok(())
    }
}

fn gpus(database: &Database) -> Result<Vec<Gpu>, FileError> {
    let mut gpus = Vec::new();
    database.each("TARGET_INFO_GPU", "id name totalMemory", |row| {
        if let Some(id) = row.number(0) {
            gpus.push(Gpu {
                id: format!("cuda:{id}"),
                name: row.text(1).map(str::to_owned),
                backend: Some("cuda".to_owned()),
                memory_bytes: row.number(2).and_then(|bytes| u64::try_from(bytes).ok()),
                ..Gpu::default()
            });
        }
    })?;
    Ok(gpus)
}

/// What the label of a thread's track begins with until its name is known.
const THREAD: &str = "thread\0";

/// The process of a global id, and a number that is unique in it.
fn correlation(global: i64, id: i64) -> (u64, u64) {
    ((global.div_euclid(ID)).unsigned_abs(), id.unsigned_abs())
}

/// What a copy's number means (`CUpti_ActivityMemcpyKind`), where the database has no table
/// of it.
fn direction(number: i64) -> &'static str {
    match number {
        1 => "Host-to-Device",
        2 => "Device-to-Host",
        8 => "Device-to-Device",
        9 => "Host-to-Host",
        10 => "Peer-to-Peer",
        _ => "of another kind",
    }
}

/// The name of a call without the version of the interface: `cudaLaunchKernel_v7000`.
fn without_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((call, version))
            if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            call
        }
        _ => name,
    }
}
