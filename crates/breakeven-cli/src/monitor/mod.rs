//! `breakeven monitor`: shows the machine's load, and the programs that publish.

use breakeven_judge::Outcome;
use std::ffi::OsString;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use breakeven::hardware::sensors::{Reading, Sensors};
use clap::Args;
use page::Load;

use crate::engine::programs::{Programs, ProgramsReading};
use crate::print::page_or_document;

mod metrics;
mod page;
mod record;
mod serve;
mod view;
#[cfg(test)]
mod view_tests;

#[derive(Debug, Args)]
pub(crate) struct MonitorArgs {
    /// Time between two readings: 0.1 s to 60 s
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = interval)]
    pub(crate) interval: Duration,

    /// Print one view, of two readings one interval apart, and exit
    #[arg(long)]
    pub(crate) once: bool,

    /// Format of --once
    #[arg(long, value_enum, default_value_t, requires = "once")]
    pub(crate) format: crate::values::PageFormat,

    /// Serve the figures as OpenMetrics at http://ADDRESS/metrics, for Prometheus. A port alone
    /// means one of 127.0.0.1
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:9400",
        value_parser = address,
        conflicts_with = "once"
    )]
    pub(crate) serve: Option<SocketAddr>,

    #[command(flatten)]
    pub(crate) record: RecordArgs,

    /// The command to record the load of
    #[arg(last = true, value_name = "CMD", requires = "record")]
    pub(crate) command: Vec<OsString>,
}

fn interval(text: &str) -> Result<Duration, String> {
    let range = Duration::from_millis(100)..=Duration::from_secs(60);
    crate::values::time_in(text, range, "0.1 s to 60 s")
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port| (Ipv4Addr::LOCALHOST, port).into());
    port.or_else(|_| text.parse())
        .map_err(|_| "give an IP address and a port, such as 127.0.0.1:9400, or a port".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Write the load to a profile file, until Ctrl-C, for --duration, or while the command after
    /// -- runs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["once", "serve"])]
    pub(crate) record: Option<PathBuf>,

    /// Record for this long, as in 30s; with a command, at most this long
    #[arg(long, value_name = "TIME", requires = "record")]
    #[arg(value_parser = crate::values::positive_time)]
    pub(crate) duration: Option<Duration>,

    /// The profile or other tool's file that the command writes: it is added to the recorded file
    #[arg(long, value_name = "FILE", requires_all = ["record", "command"])]
    pub(crate) profile: Option<PathBuf>,
}

/// The sources of a view.
struct Sources {
    sensors: Sensors,
    programs: Programs,
}

impl Sources {
    /// All sensors, the GPUs' users, and the programs.
    fn read(&mut self) -> (Reading, ProgramsReading) {
        let mut reading = self.sensors.read();
        self.sensors.add_processes(&mut reading);
        (reading, self.programs.read())
    }
}

pub(crate) fn run(args: &MonitorArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    if let Some(path) = &args.record.record {
        return record::run(args, path, err);
    }
    let machine = Load::machine_here();
    if let Some(address) = args.serve {
        return serve::run(address, args.interval, machine, out, err);
    }
    let mut load = Load::new(machine, args.interval);
    let mut sources = Sources {
        sensors: Sensors::open(),
        programs: Programs::open(),
    };
    if !args.once {
        return view::run(&mut sources, load);
    }
    let _ = sources.read();
    thread::sleep(args.interval);
    load.take(sources.read());
    let page = || load.page(crate::print::width());
    page_or_document(args.format, page, || load.document(), out)?;
    Ok(Outcome::Passed)
}
