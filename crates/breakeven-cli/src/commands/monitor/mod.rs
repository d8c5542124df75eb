//! `breakeven monitor`: what the machine does now.

mod child;
mod every;
mod record;
mod serve;
mod view;

use std::io::Write;
use std::thread;

use anyhow::Result;
use breakeven::hardware::sensors::Sensors;

use crate::args::{MonitorArgs, MonitorFormat};
use crate::exit::Ending;
use crate::output;
use crate::output::monitor::Load;

pub(crate) fn run(args: &MonitorArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    if let Some(period) = args.every.every {
        return every::run(args, period, out, err);
    }
    if let Some(path) = &args.record.record {
        return record::run(args, path, err);
    }
    let machine = Load::machine_here();
    if let Some(address) = args.serve {
        return serve::run(address, args.interval, machine, out, err);
    }
    let mut load = Load::new(machine, args.interval);
    let mut sensors = Sensors::open();
    if !args.once {
        return view::run(&mut sensors, load);
    }
    let _ = sensors.read();
    thread::sleep(args.interval);
    load.take(read(&mut sensors));
    match args.format {
        MonitorFormat::Table => output::monitor::print(&load, out)?,
        MonitorFormat::Json => output::document(&load.last, out)?,
    }
    out.flush()?;
    Ok(Ending::Done)
}

/// All sensors and who uses the GPUs.
fn read(sensors: &mut Sensors) -> breakeven::hardware::sensors::Reading {
    let mut reading = sensors.read();
    sensors.add_processes(&mut reading);
    reading
}
