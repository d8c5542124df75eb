//! Measures a kernel over its sizes, in workers, and teaches the cost model.

use std::num::NonZeroU32;

use anyhow::{Result, bail};
use breakeven::Costs;
use breakeven_judge::break_even::refined_sizes;
use breakeven_profile::profile::Device;

use super::Measured;
use super::axis::{Axis, whole};
use super::executions::{EXECUTIONS, executions};
use super::found::{evidence, found};
use crate::engine::devices::devices;
use crate::engine::protocol::{Cell, PointCell, Request};
use crate::engine::session::{Session, Step, detect};
use crate::engine::supervisor::Ended;
use crate::profile::{memory, progress};
use crate::sweep::args::SweepArgs;

/// Time limit after which a point gets no further call in a round, or a batch no further execution.
const POINT_LIMIT_MS: u64 = 200;

pub(super) fn measure(args: &SweepArgs, axis: &Axis) -> Result<Measured> {
    let timeout_s = args.device_timeout.get();
    let machine = detect(timeout_s, "interrupted: nothing was measured yet")?;
    let mut devices = devices(&args.device, &machine.hardware)?;
    if devices.iter().all(|device| device != Device::CPU) {
        // GPUs are compared with it.
        devices.insert(0, Device::CPU.to_owned());
    }
    match &devices[1..] {
        [] if args.emit.is_some() => {
            bail!("--emit: no GPU is measured; `breakeven devices` lists them")
        }
        [_, _, ..] if args.emit.is_some() => {
            let gpus = devices[1..].join(", ");
            bail!("--emit: a constant is of one GPU; choose one with --device: {gpus}")
        }
        _ => {}
    }
    axis.check_memory(&machine, devices.len() > 1)?;
    let mut session = Session::new(&machine.hardware);
    let mut sweep = Sweep {
        args,
        axis,
        session: &mut session,
    };
    let measured = sweep.measure(&devices)?;
    session.profile.interrupted = measured == Ended::Interrupted;
    let mut swept = found(axis, &devices, &session.profile);
    swept.interrupted = session.profile.interrupted;
    session.profile.evidence.break_even = evidence(&swept, axis)?;
    Ok(Measured {
        swept,
        session,
        machine,
        remark: None,
    })
}

/// Executes batches for the cost model, if there is one.
pub(super) fn teach(args: &SweepArgs, axis: &Axis, measured: &mut Measured) -> Result<Ended> {
    let Measured {
        swept,
        session,
        machine,
        ..
    } = measured;
    let (costs, warning) = Costs::open_default();
    let warnings = &mut session.warnings;
    warnings.extend(warning.map(|warning| warning.to_string()));
    let workers = whole(machine.hardware.usable_cores.cores.ceil().max(1.0));
    let cells = match costs.is_kept() {
        true => executions(axis, swept, workers, memory(machine)),
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
        iterations: EXECUTIONS,
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
        let found = found(self.axis, devices, &self.session.profile);
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
        let rounds = rounds(self.args);
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

fn rounds(args: &SweepArgs) -> u32 {
    args.rounds.map_or(5, NonZeroU32::get)
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
