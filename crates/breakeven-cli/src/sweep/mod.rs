//! `breakeven sweep`: measures time over size on the CPU and the GPUs, and finds the break-evens.

use std::io::Write;

use anyhow::Result;
use axis::{Axis, whole};
use breakeven::Costs;
use breakeven_judge::Outcome;
use breakeven_judge::break_even::refined_sizes;
use breakeven_profile::file;
use breakeven_profile::profile::Device;
use executions::executions;
pub(crate) use found::{Found, Point, Rival, Time};

use crate::engine::devices::devices;
use crate::engine::protocol::{Cell, PointCell, Request};
use crate::engine::session::{Machine, Session, Step, detect};
use crate::engine::supervisor::Ended;
use crate::exit::{Ending, Interrupted};
use crate::print::unless_closed;
use crate::profile::{memory, progress};
use crate::sweep::args::SweepArgs;
use crate::sweep::page as output;

pub(crate) mod args;
mod axis;
mod executions;
mod found;
pub(crate) mod page;
mod plot;

/// Time limit after which a point gets no further call in a round, or a batch no further execution.
const POINT_LIMIT_MS: u64 = 200;

pub(crate) fn run(args: &SweepArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    // Checks the arguments before anything is measured.
    let axis = Axis::of(args)?;
    if let Some(path) = &args.output {
        file::check_writable(path)?;
    }
    let timeout_s = args.device_timeout.get();
    let machine = detect(timeout_s, "interrupted: nothing was measured yet")?;
    let mut devices = devices(&args.device, &machine.hardware)?;
    if devices.iter().all(|device| device != Device::CPU) {
        // GPUs are compared with it.
        devices.insert(0, Device::CPU.to_owned());
    }
    axis.check_memory(&machine, devices.len() > 1)?;
    let mut session = Session::new(&machine.hardware);
    let mut sweep = Sweep {
        args,
        axis: &axis,
        session: &mut session,
    };
    let measured = sweep.measure(&devices)?;
    session.profile.interrupted = measured == Ended::Interrupted;
    let found = Found::of(&axis, &devices, &session.profile);
    session.profile.evidence.break_even = found.evidence(&axis)?;

    // Written first: measurements must not wait for a blocked terminal.
    let written = session.keep(args.output.as_deref());
    let printed = output::write(&found, &session, &machine.hardware, args.format, out);
    let interrupted = written?;
    unless_closed(printed)?;
    if measured == Ended::Interrupted {
        return Err(interrupted.into());
    }
    let taught = teach(args, &axis, &found, &machine, &mut session)?;
    for warning in &session.warnings {
        // The reader of stderr may be gone.
        let _ = writeln!(err, "warning: {warning}");
    }
    if taught == Ended::Interrupted {
        let said = "interrupted: all sizes were measured, but the cost model has learned only \
            some of them";
        return Err(Interrupted(said).into());
    }
    let mut operations = session.profile.operations.iter();
    let has_failed = operations.any(|operation| operation.failure.is_some());
    Ok(Ending::Measured {
        failed: has_failed || !session.notes.is_empty(),
        budgets: Outcome::Passed,
    })
}

/// Executes batches for the cost model, if there is one.
fn teach(
    args: &SweepArgs,
    axis: &Axis,
    found: &Found,
    machine: &Machine,
    session: &mut Session,
) -> Result<Ended> {
    let (costs, warning) = Costs::open_default();
    let warnings = &mut session.warnings;
    warnings.extend(warning.map(|warning| warning.to_string()));
    let workers = whole(machine.hardware.usable_cores.cores.ceil().max(1.0));
    let cells = match costs.is_kept() {
        true => executions(axis, found, workers, memory(machine)),
        false => Vec::new(),
    };
    if cells.is_empty() {
        return Ok(Ended::Complete);
    }
    let progress = progress(cells.len() as u64);
    progress.set_message("batches for the cost model");
    let request = Request {
        cells,
        warmup: 1,
        iterations: executions::EXECUTIONS,
        ..request(args)
    };
    let ended = session.run(&request, &mut |_, step| progress.inc(step.is_last.into()));
    progress.finish_and_clear();
    ended
}

struct Sweep<'s> {
    args: &'s SweepArgs,
    axis: &'s Axis,
    session: &'s mut Session,
}

impl Sweep<'_> {
    /// All values, and then those that narrow each break-even.
    fn measure(&mut self, devices: &[String]) -> Result<Ended> {
        let clock = Request {
            cells: vec![Cell::Clock],
            ..request(self.args)
        };
        let ended = self.session.run(&clock, &mut |_, _| {})?;
        if ended == Ended::Interrupted
            || self.rounds(&self.axis.values, devices)? == Ended::Interrupted
        {
            return Ok(Ended::Interrupted);
        }
        if !self.axis.is_range {
            return Ok(Ended::Complete);
        }
        let found = Found::of(self.axis, devices, &self.session.profile);
        let rivals = found.rivals.iter();
        let mut values: Vec<u64> = rivals
            .flat_map(|rival| refined_sizes(&rival.times))
            .collect();
        values.sort_unstable();
        values.dedup();
        match values.is_empty() {
            true => Ok(Ended::Complete),
            // All devices, so that compared devices have the same rounds.
            false => self.rounds(&values, devices),
        }
    }

    /// Measures the values on the devices, in turns, for the requested number of rounds.
    fn rounds(&mut self, values: &[u64], devices: &[String]) -> Result<Ended> {
        let rounds = self.args.rounds.get();
        let cells = (values.len() * devices.len()) as u64 * u64::from(rounds);
        let progress = progress(cells);
        for round in 0..rounds {
            let mut cells = Vec::new();
            for value in values {
                cells.extend(devices.iter().map(|device| {
                    Cell::Point(PointCell {
                        kernel: self.axis.kernel.to_owned(),
                        over: self.axis.over,
                        value: *value,
                        device: device.clone(),
                    })
                }));
            }
            cells.retain(|cell| !self.session.failed_at(cell));
            // No device is always first.
            if round % 2 == 1 {
                cells.reverse();
            }
            let request = Request {
                cells,
                ..request(self.args)
            };
            progress.set_message(format!("round {} of {rounds}", round + 1));
            let step = &mut |_: &_, step: Step| progress.inc(step.is_last.into());
            let ended = self.session.run(&request, step)?;
            if ended == Ended::Interrupted {
                progress.finish_and_clear();
                return Ok(ended);
            }
        }
        progress.finish_and_clear();
        Ok(Ended::Complete)
    }
}

/// The request that all workers share.
fn request(args: &SweepArgs) -> Request {
    Request {
        warmup: args.warmup,
        iterations: args.iterations.get(),
        limit_ms: Some(POINT_LIMIT_MS),
        device_timeout_s: args.device_timeout.get(),
        ..Request::default()
    }
}
