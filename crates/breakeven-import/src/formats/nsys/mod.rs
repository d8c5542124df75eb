//! The database that `nsys export --type sqlite` makes of a report of Nsight Systems. A
//! kernel, a copy, a call of CUDA or of the operating system, and a range of NVTX is an
//! operation by its name; the report is one run. Tables are made only for what was traced,
//! and their columns differ between versions. Rows come in the order of time, sorted by
//! SQLite, which keeps what does not fit into its cache in temporary files.

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

/// What a row is of, as the queries number it.
const IS_KERNEL: i64 = 0;
const IS_COPY: i64 = 1;
const IS_FILL: i64 = 2;
const IS_CUDA: i64 = 3;
const IS_SYSTEM: i64 = 4;
const IS_RANGE: i64 = 5;
/// A range that begins and ends anywhere (`nvtxRangeStart`), by the type of its event.
const IS_FREE_RANGE: i64 = 6;
const START_END: i64 = 60;

/// A global id is a process's in its middle 24 bits, a thread's in the last.
const ID: i64 = 1 << 24;

struct Reading<'d> {
    database: &'d Database,
    trace: Trace,
    /// Tracks by the global id of their thread.
    by_thread: HashMap<i64, u32>,
    malformed: u64,
}

impl Reading<'_> {
    fn profile(mut self, notes: &mut Notes) -> Result<Profile, FileError> {
        self.trace.operations.about.environment.gpus = self.gpus()?;
        self.events()?;
        self.threads()?;
        if self.database.table("StringIds").is_none() {
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

    fn gpus(&self) -> Result<Vec<Gpu>, FileError> {
        let columns = ["id", "name", "totalMemory"];
        let mut gpus = Vec::new();
        let query = self.database.select("TARGET_INFO_GPU", &columns, "");
        self.database.each(&query, |row| {
            if let Some(id) = row.number(0) {
                gpus.push(Gpu {
                    id: format!("cuda:{id}"),
                    name: row.text(1).map(str::to_owned),
                    backend: Some("cuda".to_owned()),
                    memory_bytes: row.number(2).and_then(|bytes| u64::try_from(bytes).ok()),
                    ..Gpu::default()
                });
            }
            Ok(())
        })?;
        Ok(gpus)
    }

    /// All that happened, in the order of time: so a launch is near its kernel, and a call
    /// near the range around it.
    fn events(&mut self) -> Result<(), FileError> {
        let database = self.database;
        let kernels = database.table(KERNEL).unwrap_or_default();
        let name = match database.has_column(&kernels, "demangledName") {
            true => "demangledName",
            false => "shortName",
        };
        let call = ["globalTid", "nameId", "", "correlationId"];
        let range = ["globalTid", "textId", "text", ""];
        let kernel = ["globalPid", name, "", "correlationId"];
        let moved = ["globalPid", "", "", "correlationId"];
        let shape = ["gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"];
        let select = |table, own: [&str; 4], sizes: [&str; 2], shape: [&str; 6], kind: &str| {
            let places = ["deviceId", "streamId"];
            let columns = ["start", "end"].into_iter().chain(own).chain(places);
            let columns: Vec<&str> = columns.chain(sizes).chain(shape).collect();
            database.select(table, &columns, kind)
        };
        let number = |kind: i64| kind.to_string();
        let free =
            format!("CASE WHEN [eventType] = {START_END} THEN {IS_FREE_RANGE} ELSE {IS_RANGE} END");
        // Marks have no end.
        let ranges = match select(NVTX, range, [""; 2], [""; 6], &free) {
            query if query.is_empty() => query,
            query => query + " WHERE [end] IS NOT NULL",
        };
        let events = database::sorted(&[
            select(RUNTIME, call, [""; 2], [""; 6], &number(IS_CUDA)),
            select(OSRT, call, [""; 2], [""; 6], &number(IS_SYSTEM)),
            ranges,
            select(KERNEL, kernel, [""; 2], shape, &number(IS_KERNEL)),
            select(
                MEMCPY,
                moved,
                ["bytes", "copyKind"],
                [""; 6],
                &number(IS_COPY),
            ),
            select(MEMSET, moved, ["bytes", ""], [""; 6], &number(IS_FILL)),
        ]);
        // What is sorted has no texts, which may be long.
        let name = database.text("StringIds", "value", "c3");
        let label = database.text("ENUM_CUDA_MEMCPY_OPER", "label", "c9");
        let further: Vec<String> = (5..17).map(|number| format!("c{number}")).collect();
        let columns = format!(
            "c0, c1, c2, coalesce(c4, {name}, {label}), {}",
            further.join(", ")
        );
        let query = database::selected(&events, 17, &columns);
        let cpu = self.trace.operations.device("cpu");
        database.each(&query, |row| {
            let (Some(when), Some(kind)) = (row.when(0), row.number(15)) else {
                self.malformed += 1;
                return Ok(());
            };
            match kind {
                IS_KERNEL | IS_COPY | IS_FILL => self.device(&row, when, kind),
                _ => self.host(&row, when, kind, cpu),
            }
            Ok(())
        })
    }

    /// A call or a range of the host.
    fn host(&mut self, row: &Row<'_>, when: When, kind: i64, cpu: u32) {
        let name = row.text(3).unwrap_or_default();
        if name.is_empty() {
            self.malformed += 1;
            return;
        }
        let thread = row.number(2).unwrap_or(0);
        let new = || self.trace.track(&format!("{THREAD}{thread}"));
        let track = *self.by_thread.entry(thread).or_insert_with(new);
        let (name, category) = match kind {
            IS_CUDA => (without_version(name), "cuda_api"),
            IS_SYSTEM => (name, "os_runtime"),
            _ => (name, "nvtx"),
        };
        let launches = kind == IS_CUDA && name.contains("aunch");
        let operation = self.trace.operations.number(name, cpu, category);
        match kind {
            IS_FREE_RANGE => self.trace.range(operation, track, when),
            _ => self.trace.call(operation, track, when),
        }
        if let (true, Some(id)) = (launches, row.number(4)) {
            self.trace.launch(correlation(thread, id), when);
        }
    }

    /// What a GPU did.
    fn device(&mut self, row: &Row<'_>, when: When, kind: i64) {
        let count = |column| {
            row.number(column)
                .and_then(|count| u64::try_from(count).ok())
        };
        let three = |first| Some([count(first)?, count(first + 1)?, count(first + 2)?]);
        let (bytes, text) = (count(7), row.text(3));
        let copied;
        let (name, category, work) = match kind {
            IS_KERNEL => {
                let name = text.unwrap_or_default();
                (name, "kernel", Work::kernel(name))
            }
            IS_COPY => {
                let label = text.unwrap_or_else(|| direction(row.number(8).unwrap_or(0)));
                copied = format!("[CUDA memcpy {label}]");
                (copied.as_str(), "memcpy", Work::copy(&copied, bytes))
            }
            _ => ("[CUDA memset]", "memset", Work::Copy(FILL, bytes)),
        };
        let id = row.number(4);
        let activity = Activity {
            name,
            category,
            device: count(5).unwrap_or(0),
            stream: count(6),
            when,
            work: Some(work),
            id: id.map(|id| correlation(row.number(2).unwrap_or(0), id)),
            facts: LaunchFacts {
                bytes,
                grid: three(9),
                block: three(12),
            },
        };
        self.trace.activity("cuda", &activity);
    }

    /// Gives threads their names.
    fn threads(&mut self) -> Result<(), FileError> {
        let mut names = HashMap::new();
        let query = (self.database).select("ThreadNames", &["globalTid", "nameId"], "");
        let columns = format!("c0, {}", self.database.text("StringIds", "value", "c1"));
        let query = database::selected(&query, 2, &columns);
        self.database.each(&query, |row| {
            if let (Some(thread), Some(name)) = (row.number(0), row.text(1)) {
                names.insert(thread, name.to_owned());
            }
            Ok(())
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
