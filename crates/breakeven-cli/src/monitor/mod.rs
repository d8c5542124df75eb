//! `breakeven monitor`: shows the machine's load, and the programs that publish.

pub(crate) mod args;
mod child;
mod metrics;
pub(crate) mod page;
mod record;
mod serve;
mod sources;
mod view;
#[cfg(test)]
mod view_tests;

use std::io::Write;
use std::thread;

use anyhow::Result;
use sources::Sources;

use crate::exit::Ending;
use crate::monitor::args::MonitorArgs;
use crate::monitor::page as print;
use crate::monitor::page::Load;
use crate::print::document;
use crate::values::TableFormat;

pub(crate) fn run(args: &MonitorArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    if let Some(path) = &args.record.record {
        return record::run(args, path, err);
    }
    let machine = Load::machine_here();
    if let Some(address) = args.serve {
        return serve::run(address, args.interval, machine, out, err);
    }
    let mut load = Load::new(machine, args.interval, args.attach);
    let mut sources = Sources::open(args.attach)?;
    if !args.once {
        return view::run(&mut sources, load);
    }
    let _ = sources.read();
    thread::sleep(args.interval);
    let (reading, programs) = sources.read();
    load.take(reading, programs);
    match args.format {
        TableFormat::Table => print::print(&load, out)?,
        TableFormat::Json => document(&load.document(), out)?,
    }
    out.flush()?;
    Ok(Ending::Done)
}
