//! `rocprofv3 --output-format csv`: a file per kind of event, named `PID_kernel_trace.csv`
//! and the like. Those of a folder are one trace, merged by time; a file alone lacks what
//! the others have. CSV has no sizes of copies.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;
use csv::{Reader, ReaderBuilder, StringRecord};

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
    let mut tables = Vec::new();
    let mut processes = BTreeMap::new();
    if source.is_folder() {
        for path in files(source.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let end = ENDS.iter().find_map(|end| name.strip_suffix(end));
            let next = processes.len() as u64;
            let process = *processes
                .entry(end.unwrap_or_default().to_owned())
                .or_insert(next);
            let reader = Source::open(&path)?.into_reader()?;
            tables.push(Table::of(Box::new(reader), path, process)?);
        }
    } else {
        let path = source.path().to_owned();
        let table = Table::of(Box::new(source.into_reader()?), path, 0)?;
        let lacks = match table.is_of_calls() {
            true => "what the GPUs did",
            false => "launches, and either kernels or copies, so nothing overlaps",
        };
        notes.add(format!(
            "one of several files that belong together: it lacks {lacks}; name the folder"
        ));
        tables.push(table);
    }
    let mut trace = Trace::default();
    // The row that began first, of all files.
    while let Some(table) = (tables.iter_mut())
        .filter(|table| table.is_row)
        .min_by_key(|table| table.start())
    {
        if table.take(&mut trace).is_none() {
            let why = "they lack a time, a name or other cells, or end before they begin";
            notes.leave_out("row(s)", why, &table.place());
        }
        table.next()?;
    }
    trace.profile(notes)
}

/// A file with its next row.
struct Table {
    path: PathBuf,
    process: u64,
    rows: Reader<Box<dyn Read>>,
    columns: HashMap<String, usize>,
    /// Cells of the head.
    cells: usize,
    row: StringRecord,
    is_row: bool,
}

impl Table {
    fn of(reader: Box<dyn Read>, path: PathBuf, process: u64) -> Result<Self, FileError> {
        let mut table = Self {
            path,
            process,
            rows: ReaderBuilder::new().flexible(true).from_reader(reader),
            columns: HashMap::new(),
            cells: 0,
            row: StringRecord::new(),
            is_row: false,
        };
        let heads = table.rows.headers().cloned();
        let heads = heads.map_err(|error| unreadable(&error).at_path(&table.path))?;
        table.cells = heads.len();
        table.columns = (heads.iter().map(str::to_owned).zip(0..)).collect();
        let is_of_calls = table.is_of_calls();
        let name = match (is_of_calls, table.is_of_copies()) {
            (true, _) => "Function",
            (_, true) => "Direction",
            _ => "Kernel_Name",
        };
        for head in [name, "Start_Timestamp", "End_Timestamp"] {
            if !table.columns.contains_key(head) {
                let message = format!(
                    "there is no column {head}; give a trace that rocprofv3 wrote, not its stats"
                );
                return Err(FileError::new(FileErrorKind::Value, message).at_path(&table.path));
            }
        }
        table.next()?;
        Ok(table)
    }

    fn is_of_calls(&self) -> bool {
        self.columns.contains_key("Domain")
    }

    fn is_of_copies(&self) -> bool {
        self.columns.contains_key("Direction")
    }

    fn next(&mut self) -> Result<(), FileError> {
        let read = self.rows.read_record(&mut self.row);
        self.is_row = read.map_err(|error| unreadable(&error).at_path(&self.path))?;
        Ok(())
    }

    fn text(&self, head: &str) -> Option<&str> {
        let cell = self.row.get(*self.columns.get(head)?)?;
        Some(cell).filter(|cell| !cell.is_empty())
    }

    fn number(&self, head: &str) -> Option<u64> {
        self.text(head)?.parse().ok()
    }

    fn start(&self) -> u64 {
        self.number("Start_Timestamp").unwrap_or(0)
    }

    /// The number of an agent: `2`, `Agent 2`.
    fn agent(&self, head: &str) -> Option<u64> {
        self.text(head)?.rsplit(' ').next()?.parse().ok()
    }

    fn three(&self, head: &str) -> Option<[u64; 3]> {
        let one = |axis| self.number(&format!("{head}_{axis}"));
        Some([one("X")?, one("Y")?, one("Z")?])
    }

    /// Where the row is.
    fn place(&self) -> String {
        let line = self.row.position().map_or(0, csv::Position::line);
        let name = self.path.file_name().unwrap_or_default();
        format!("line {line} of {}", name.to_string_lossy())
    }

    /// Adds the row; `None` where it lacks something.
    fn take(&self, trace: &mut Trace) -> Option<()> {
        if self.row.len() != self.cells {
            return None;
        }
        let end = i64::try_from(self.number("End_Timestamp")?).ok()?;
        let start = i64::try_from(self.number("Start_Timestamp")?).ok()?;
        let when = When::between(start, end)?;
        let correlation = self.number("Correlation_Id");
        if self.is_of_calls() {
            let domain = self.text("Domain").unwrap_or_default();
            let category = match domain.split('_').next() {
                Some("HIP") => "hip_api",
                Some("HSA") => "hsa_api",
                Some("RCCL") => "rccl_api",
                _ => "roctx",
            };
            let call = Call {
                name: self.text("Function")?,
                category,
                process: self.process,
                thread: self.number("Thread_Id").unwrap_or(0),
                when,
                correlation,
            };
            call.add(trace);
            return Some(());
        }
        let id = correlation.map(|number| (self.process, number));
        let stream = self.number("Stream_Id").or_else(|| self.number("Queue_Id"));
        let (name, category, agent, work) = if self.is_of_copies() {
            let name = self.text("Direction")?;
            let to_host = matches!(Work::copy(name, None), Work::Copy("device to host", _));
            let gpu = if to_host {
                "Source_Agent_Id"
            } else {
                "Destination_Agent_Id"
            };
            (
                name,
                "memory_copy",
                self.agent(gpu)?,
                Work::copy(name, None),
            )
        } else {
            let name = self.text("Kernel_Name")?;
            (name, "kernel", self.agent("Agent_Id")?, Work::kernel(name))
        };
        let activity = Activity {
            name,
            category,
            device: agent,
            stream,
            when,
            work: Some(work),
            id,
            facts: LaunchFacts {
                bytes: None,
                grid: self.three("Grid_Size"),
                block: self.three("Workgroup_Size"),
            },
        };
        trace.activity("rocm", &activity);
        Some(())
    }
}
