//! `rocprofv3 --output-format csv`: a file per kind of event, named `PID_kernel_trace.csv`
//! and the like. Those of a folder are one trace; a file alone lacks what the others have. CSV
//! has no sizes of copies.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;

use super::Call;
use crate::formats::table::unreadable;
use crate::formats::{Format, Options};
use crate::gather::LaunchFacts;
use crate::note::Notes;
use crate::source::Source;
use crate::trace::{Activity, Trace, When, Work};

pub(crate) static IMPORTER: Format = Format {
    name: "rocprofv3-csv",
    about: "rocprofv3 --output-format csv; name the folder to read all its files as one trace",
    recognises: |source| match source.is_folder() {
        true => !files(source.path()).is_empty(),
        false => {
            let head = source.lines().next().unwrap_or_default();
            let first =
                ["Kind", "Domain"].map(|name| head.trim_start_matches('"').starts_with(name));
            first.contains(&true) && head.contains("Start_Timestamp")
        }
    },
    read,
};

/// The ends of the names of files that are read.
const ENDS: [&str; 8] = [
    "kernel_trace.csv",
    "memory_copy_trace.csv",
    "hip_api_trace.csv",
    "hip_runtime_trace.csv",
    "hip_compile_trace.csv",
    "hsa_api_trace.csv",
    "marker_api_trace.csv",
    "rccl_api_trace.csv",
];

/// The files of a folder that belong to its trace, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = (entries.map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            ENDS.iter().any(|end| name.ends_with(end))
        })
        .collect();
    files.sort();
    files
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let mut trace = Trace::default();
    if source.is_folder() {
        let mut processes = BTreeMap::new();
        for path in files(source.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let start = ENDS.iter().find_map(|end| name.strip_suffix(end));
            let next = processes.len() as u64;
            let process = *(processes.entry(start.unwrap_or_default().to_owned())).or_insert(next);
            table(Source::open(&path)?, process, &mut trace, notes)?;
        }
    } else {
        let lacks = match table(source, 0, &mut trace, notes)? {
            Kind::Calls => "what the GPUs did",
            _ => "launches, and either kernels or copies, so nothing overlaps",
        };
        notes.add(format!(
            "one of several files that belong together: it lacks {lacks}; name the folder"
        ));
    }
    trace.profile(notes)
}

/// What the rows of a file are.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Calls,
    Copies,
    Kernels,
}

/// Takes all rows of a file of a process.
fn table(
    source: Source,
    process: u64,
    trace: &mut Trace,
    notes: &mut Notes,
) -> Result<Kind, FileError> {
    let path = source.path().to_owned();
    let text = source.into_lines(notes)?;
    let wrong = |error: csv::Error| unreadable(&error).at_path(&path);
    let mut rows = (csv::ReaderBuilder::new().flexible(true)).from_reader(text.as_bytes());
    let heads = rows.headers().map_err(wrong)?.clone();
    let columns: HashMap<&str, usize> = heads.iter().zip(0..).collect();
    let (kind, name) = match columns {
        _ if columns.contains_key("Domain") => (Kind::Calls, "Function"),
        _ if columns.contains_key("Direction") => (Kind::Copies, "Direction"),
        _ => (Kind::Kernels, "Kernel_Name"),
    };
    for head in [name, "Start_Timestamp", "End_Timestamp"] {
        if !columns.contains_key(head) {
            let message = format!(
                "there is no column {head}; give a trace that rocprofv3 wrote, not its stats"
            );
            return Err(FileError::new(FileErrorKind::Value, message).at_path(&path));
        }
    }
    for row in rows.records() {
        let row = row.map_err(wrong)?;
        let cell = |head: &str| row.get(*columns.get(head)?).filter(|cell| !cell.is_empty());
        if row.len() != heads.len() || take(kind, name, cell, process, trace).is_none() {
            let why = "they lack a time, a name or other cells, or end before they begin";
            let line = row.position().map_or(0, csv::Position::line);
            let file = path.file_name().unwrap_or_default().display();
            notes.leave_out("row(s)", why, &format!("line {line} of {file}"));
        }
    }
    Ok(kind)
}

/// Adds a row by its cells; `None` where it lacks something.
fn take<'r>(
    kind: Kind,
    name: &str,
    cell: impl Fn(&str) -> Option<&'r str>,
    process: u64,
    trace: &mut Trace,
) -> Option<()> {
    let number = |head: &str| cell(head)?.parse::<u64>().ok();
    let time = |head: &str| i64::try_from(number(head)?).ok();
    let when = When::between(time("Start_Timestamp")?, time("End_Timestamp")?)?;
    let correlation = number("Correlation_Id");
    let name = cell(name)?;
    if let Kind::Calls = kind {
        let domain = cell("Domain").unwrap_or_default();
        let category = match domain.split('_').next() {
            Some("HIP") => "hip_api",
            Some("HSA") => "hsa_api",
            Some("RCCL") => "rccl_api",
            _ => "roctx",
        };
        let call = Call {
            name,
            category,
            process,
            thread: number("Thread_Id").unwrap_or(0),
            when,
            correlation,
        };
        call.add(trace);
        return Some(());
    }
    let (category, agent, work) = match kind {
        Kind::Copies => {
            let work = Work::copy(name, None);
            let agent = match work {
                Work::Copy("device to host", _) => "Source_Agent_Id",
                _ => "Destination_Agent_Id",
            };
            ("memory_copy", agent, work)
        }
        _ => ("kernel", "Agent_Id", Work::kernel(name)),
    };
    let three = |head: &str| {
        let one = |axis| number(&format!("{head}_{axis}"));
        Some([one("X")?, one("Y")?, one("Z")?])
    };
    let activity = Activity {
        name,
        category,
        // `2`, `Agent 2`.
        device: cell(agent)?.rsplit(' ').next()?.parse().ok()?,
        stream: number("Stream_Id").or_else(|| number("Queue_Id")),
        when,
        work: Some(work),
        id: correlation.map(|number| (process, number)),
        facts: LaunchFacts {
            bytes: None,
            grid: three("Grid_Size"),
            block: three("Workgroup_Size"),
        },
    };
    trace.activity("rocm", &activity);
    Some(())
}
