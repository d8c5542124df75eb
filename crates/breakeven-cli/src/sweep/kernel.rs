//! Measures a kernel over its sizes, in workers.

use std::num::{NonZeroU32, NonZeroU64};

use anyhow::{Result, bail};
use breakeven_judge::break_even::{Point, Swept, Time, coarse_sizes, refined_sizes};
use breakeven_judge::run_medians;
use breakeven_profile::profile::{BreakEven, Device, Profile};

use super::Measured;
use crate::engine::devices::devices;
use crate::engine::protocol::{Cell, PointCell, Request, SWEEP_VALUE};
use crate::engine::session::{Session, detect};
use crate::engine::suite::{Over, Points, Workload};
use crate::engine::supervisor::Ended;
use crate::profile::{check_fits, progress};
use crate::sweep::SweepArgs;

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
    if let Some(largest) = axis.values.last() {
        let workload = axis.workload(*largest)?;
        let bytes = workload.memory_bytes(devices.len() > 1);
        check_fits(&workload.described(), bytes, &machine, "--to")?;
    }
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
            let on_message = &mut |_: &_, is_last: bool| progress.inc(is_last.into());
            let ended = self.session.run(&request, on_message)?;
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
pub(super) fn request(args: &SweepArgs) -> Request {
    Request {
        warmup: args.warmup,
        iterations: args.iterations.get(),
        limit_ms: Some(POINT_LIMIT_MS),
        device_timeout_s: args.device_timeout.get(),
        ..Request::default()
    }
}

pub(crate) struct Axis {
    pub(crate) kernel: &'static str,
    pub(crate) over: Over,
    /// The first values.
    pub(super) values: Vec<u64>,
    /// Values between them are valid too.
    pub(crate) is_range: bool,
}

/// The first values of a range.
pub(super) fn range(from: u64, to: u64) -> Result<Vec<u64>> {
    if from > to {
        bail!("--from {from} is beyond --to {to}; give a range that has values in it");
    }
    Ok(coarse_sizes(from, to))
}

impl Axis {
    pub(super) fn of(kernel: &'static str, args: &SweepArgs) -> Result<Self> {
        let over = match args.over {
            Some(over) => over,
            None => Workload::sweeps(kernel)?[0],
        };
        let (values, is_range) = match Workload::points(kernel, over)? {
            Points::Range([first, last]) => {
                let [from, to] = [args.from, args.to].map(|asked| asked.map(NonZeroU64::get));
                // A given end moves the default of the other end.
                let to = to.unwrap_or(last.max(from.unwrap_or(first)));
                let from = from.unwrap_or(first.min(to));
                (range(from, to)?, true)
            }
            Points::Fixed(values) => {
                if args.from.is_some() || args.to.is_some() {
                    let values: Vec<String> = values.iter().map(u64::to_string).collect();
                    let values = values.join(", ");
                    bail!("a sweep over {over} is at {values}; leave --from and --to out");
                }
                (values, false)
            }
        };
        Ok(Self {
            kernel,
            over,
            values,
            is_range,
        })
    }

    pub(crate) fn workload(&self, value: u64) -> Result<Workload> {
        let value = usize::try_from(value).unwrap_or(usize::MAX);
        Ok(Workload::at(self.kernel, self.over, value)?)
    }

    /// Elements at a value that may lie between two integers.
    pub(crate) fn elements(&self, value: f64) -> Result<f64> {
        let below = whole(value.floor().max(1.0));
        let at = |value: u64| Ok::<_, anyhow::Error>(self.workload(value)?.size() as f64);
        let (low, high) = (at(below)?, at(below.saturating_add(1))?);
        Ok(low + (high - low) * (value - below as f64).clamp(0.0, 1.0))
    }
}

#[expect(clippy::cast_sign_loss, reason = "1 or more")]
pub(super) fn whole(value: f64) -> u64 {
    value as u64
}

fn found(axis: &Axis, devices: &[String], profile: &Profile) -> Swept {
    let mut points: Vec<Point> = Vec::new();
    for operation in &profile.operations {
        let value = operation.attributes.get(SWEEP_VALUE);
        let value = value.and_then(serde_json::Value::as_u64);
        let mut all = devices.iter();
        let device = all.position(|device| *device == operation.device);
        let (Some(value), Some(device)) = (value, device) else {
            continue;
        };
        let found = points.iter().position(|point| point.value == value);
        let index = found.unwrap_or_else(|| {
            let time = |device: &String| Time {
                device: device.clone(),
                ..Time::default()
            };
            points.push(Point {
                value,
                elements: operation.size.unwrap_or(0),
                times: devices.iter().map(time).collect(),
            });
            points.len() - 1
        });
        let time = &mut points[index].times[device];
        time.rounds_ns = run_medians(operation);
        time.failure = operation.failure.clone();
    }
    Swept::new(
        axis.kernel,
        axis.over.name(),
        devices,
        points,
        axis.is_range,
    )
}

/// The break-evens in a profile's form: by elements.
fn evidence(swept: &Swept, axis: &Axis) -> Result<Vec<BreakEven>> {
    let elements = |value: f64| match value {
        value if value <= 0.0 => Ok(0.0),
        value => axis.elements(value),
    };
    let mut evidence = swept.evidence();
    for found in &mut evidence {
        found.size = found.size.map(elements).transpose()?;
        let ends = |[low, high]: [f64; 2]| anyhow::Ok([elements(low)?, elements(high)?]);
        found.interval = found.interval.map(ends).transpose()?;
        found.tested_to = found.tested_to.map(elements).transpose()?;
    }
    Ok(evidence)
}
