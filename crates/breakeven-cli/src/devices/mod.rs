//! `breakeven devices`: lists the devices, and why others are unavailable.

use std::io::Write;

use anyhow::Result;
use breakeven::hardware::HardwareCapabilities;
use breakeven_judge::Outcome;
use breakeven_profile::profile::Device;
use clap::Args;

use crate::devices::page::Listing;
use crate::engine::protocol::{Cell, Request};
use crate::engine::session::{Machine, Session, detect};
use crate::engine::supervisor::Ended;
use crate::exit::{Ending, Interrupted};

pub(crate) mod page;

#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Measure the peaks: bandwidth, arithmetic, launch latency, transfers
    #[arg(long)]
    pub(crate) measure: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::values::PageFormat,
}

/// Seconds after which an unresponsive driver counts as hung.
const TIMEOUT_S: u32 = 60;

pub(crate) fn run(args: &DevicesArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    let Machine { hardware, load, .. } = detect(TIMEOUT_S, "interrupted")?;
    let mut session = Session::new(&hardware);
    let ended = match args.measure {
        true => measure(&hardware, &mut session)?,
        false => Ended::Complete,
    };
    let listing = Listing {
        hardware: &hardware,
        load: &load,
        peaks: &session.profile.evidence.peaks,
    };
    let page = || page::page(&listing);
    crate::print::page_or_document(args.format, page, || &listing, out)?;
    for note in &session.notes {
        let _ = writeln!(err, "{note}");
    }
    match ended {
        Ended::Interrupted => Err(Interrupted("").into()),
        Ended::Complete => Ok(Ending::Measured {
            failed: !session.notes.is_empty(),
            budgets: Outcome::Passed,
        }),
    }
}

fn measure(hardware: &HardwareCapabilities, session: &mut Session) -> Result<Ended> {
    let gpus = hardware.gpus.iter().map(|gpu| gpu.id.to_string());
    let devices = std::iter::once(Device::CPU.to_owned()).chain(gpus);
    let request = Request {
        cells: devices.map(|device| Cell::Peak { device }).collect(),
        device_timeout_s: TIMEOUT_S,
        ..Request::default()
    };
    session.run(&request, &mut |_, _| {})
}
