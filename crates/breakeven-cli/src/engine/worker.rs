//! The worker process: all driver calls happen here, so that a driver that crashes, hangs or prints
//! costs one cell of the parent's table.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use breakeven::hardware::{HardwareCapabilities, SystemLoad};
use breakeven::peak::measure_cpu as measure_cpu_peak;
use breakeven::{Costs, DeviceError, DeviceErrorKind, Error, ErrorKind};
use breakeven_judge::Outcome;
use breakeven_profile::profile::{
    Device, Environment, Evidence, Failure, Gpu, Operation, Peak, Profile, Run,
};
use breakeven_profile::recorder::Clock;
use devices::Devices;

use crate::engine::protocol::{Cell, Machine, Message, Request};
use crate::engine::suite::{CallMeter, Iterations, Workload};

mod batches;
mod devices;

/// A channel to the parent that no driver writes to: a duplicate of stdout, while stdout itself is
/// redirected to stderr.
#[cfg(unix)]
pub(crate) fn own_channel<'o>(_: &'o mut dyn Write) -> Result<Box<dyn Write + 'o>> {
    use std::os::fd::AsFd;
    let channel = std::io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdout(std::io::stderr().as_fd())?;
    Ok(Box::new(std::fs::File::from(channel)))
}

/// On other systems the parent separates a driver's output from messages line by line.
#[cfg(not(unix))]
pub(crate) fn own_channel<'o>(out: &'o mut dyn Write) -> Result<Box<dyn Write + 'o>> {
    Ok(Box::new(out))
}

/// Reads a [`Request`] and answers on `out` until all cells are done or one failed.
pub(crate) fn run(mut input: impl BufRead, out: &mut dyn Write) -> Result<Outcome> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line)
        .context("`breakeven worker` is started by `breakeven profile` and not for direct use")?;
    let mut worker = Worker {
        outbox: Outbox {
            out,
            sent: Instant::now(),
            took: Duration::ZERO,
        },
        clock: Clock::new(),
        iterations: Iterations {
            warmup: request.warmup,
            measured: request.iterations,
            at_most: request.limit_ms.map(Duration::from_millis),
        },
        devices: Devices::new(request.device_timeout_s),
        // Before any work: the idle power of the devices is measured first.
        energy: match request.energy.is_empty() {
            true => None,
            false => CallMeter::start(&request.energy),
        },
        costs: None,
    };
    for (index, cell) in request.cells.iter().enumerate() {
        worker.outbox.send(&Message::Begin(index));
        if index == 0 && !breakeven_machine::has_pool() {
            let warning = "one thread computes: the pool's threads cannot be started \
                           (RAYON_NUM_THREADS, a limit of processes or of memory)";
            worker.outbox.send(&Message::Warning(warning.to_owned()));
        }
        match worker.cell(cell) {
            Ok(()) => worker.outbox.send(&Message::End),
            // The device is sound.
            Err(Stopped(Failure { kind, message }))
                if kind == DeviceErrorKind::Unsupported.to_string() =>
            {
                worker.outbox.send(&Message::Unsupported(message));
                worker.outbox.send(&Message::End);
            }
            Err(Stopped(failure)) => {
                worker.outbox.send(&Message::Failed(failure));
                return Ok(Outcome::Failed);
            }
        }
    }
    Ok(Outcome::Passed)
}

/// Why a cell was not done.
struct Stopped(Failure);

impl From<DeviceError> for Stopped {
    fn from(DeviceError { kind, message }: DeviceError) -> Self {
        let kind = kind.to_string();
        Self(Failure { kind, message })
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Device(_) => DeviceError::from(error).into(),
            _ => Self::failed(&error),
        }
    }
}

impl Stopped {
    /// Failed with an error that has no kind.
    fn failed(error: &dyn std::error::Error) -> Self {
        let (kind, message) = ("error".to_owned(), error.to_string());
        Self(Failure { kind, message })
    }
}

/// Interval over which the use of the CPU is counted.
const LOAD_INTERVAL: Duration = Duration::from_millis(250);

struct Worker<'o> {
    outbox: Outbox<'o>,
    clock: Clock,
    iterations: Iterations,
    devices: Devices,
    energy: Option<CallMeter>,
    costs: Option<Arc<Costs>>,
}

impl Worker<'_> {
    fn cell(&mut self, cell: &Cell) -> Result<(), Stopped> {
        let message = match cell {
            Cell::Detect => {
                let hardware = HardwareCapabilities::detect();
                // The first sample has no interval.
                SystemLoad::sample();
                std::thread::sleep(LOAD_INTERVAL);
                let load = SystemLoad::sample();
                Message::Machine(Box::new(Machine { hardware, load }))
            }
            Cell::Clock => measured(Profile {
                environment: Environment {
                    clock: Some(self.clock.measure()),
                    ..Environment::default()
                },
                ..Profile::default()
            }),
            Cell::Peak { device } if device == Device::CPU => {
                let memory = HardwareCapabilities::detect_without_gpu().usable_memory_bytes;
                peaks(measure_cpu_peak(memory.get()))
            }
            Cell::Peak { device } => peaks(self.devices.peak(device)?),
            Cell::Noise { work, for_ms } => {
                let samples_ns = work.samples(Duration::from_millis(*for_ms));
                let mut operations = cell.operations();
                for operation in &mut operations {
                    operation.runs.push(Run {
                        samples_ns: samples_ns.clone(),
                        ..Run::default()
                    });
                }
                measured(Profile {
                    operations,
                    ..Profile::default()
                })
            }
            Cell::Kernel {
                kernel,
                scale,
                device,
            } => {
                let workload = Workload::new(kernel, *scale)?;
                return self.measure(&workload, device, |_| {});
            }
            Cell::Point(point) => {
                let mark = |operation: &mut _| point.mark(operation);
                return self.measure(&point.workload()?, &point.device, mark);
            }
            Cell::Batch(batch) => return self.batch(batch),
        };
        self.outbox.send(&message);
        Ok(())
    }

    /// Measures a workload; `mark` adds attributes to its operation.
    fn measure(
        &mut self,
        workload: &Workload,
        device: &str,
        mark: impl FnOnce(&mut Operation),
    ) -> Result<(), Stopped> {
        let problem = workload.build()?;
        let mut operation = workload.operation(device, &problem);
        mark(&mut operation);
        let mut gpus = Vec::new();
        // First without times: the row of a kernel that fails at once has its work, too.
        self.outbox.send(&of_kernel(&operation, &gpus));
        let on_gpu = device != Device::CPU;
        if on_gpu {
            gpus.push(Gpu {
                id: device.to_owned(),
                kernel_clock: Some(self.devices.kernel_clock(device)?),
                ..Gpu::default()
            });
        }
        let outbox = &mut self.outbox;
        let mut report = |operation: &Operation| {
            if outbox.is_due(on_gpu) {
                outbox.send(&of_kernel(operation, &gpus));
            }
        };
        let (how, clock) = ((self.iterations, self.energy.as_ref()), &self.clock);
        let outcome = match on_gpu {
            false => problem.measure_cpu(how, clock, &mut operation, &mut report),
            true => {
                let into = (&mut operation, &mut report as _);
                let unknown = self.devices.measure(device, &problem, how, clock, into);
                unknown.map_err(Error::from)
            }
        };
        self.outbox.send(&of_kernel(&operation, &gpus));
        if let Some(why) = outcome? {
            let name = &operation.name;
            let warning = format!("the energy of {name} on {device} is not known: {why}");
            self.outbox.send(&Message::Warning(warning));
        }
        Ok(())
    }
}

fn measured(profile: Profile) -> Message {
    Message::Measured(Box::new(profile))
}

fn peaks(peak: Peak) -> Message {
    let peaks = vec![peak];
    measured(Profile {
        evidence: Evidence {
            peaks,
            ..Evidence::default()
        },
        ..Profile::default()
    })
}

/// What was measured of a kernel so far, and the source of its kernel times.
fn of_kernel(operation: &Operation, gpus: &[Gpu]) -> Message {
    measured(Profile {
        environment: Environment {
            gpus: gpus.to_vec(),
            ..Environment::default()
        },
        operations: vec![operation.clone()],
        ..Profile::default()
    })
}

/// Messages to the parent.
struct Outbox<'o> {
    out: &'o mut dyn Write,
    /// When the last message was sent.
    sent: Instant,
    /// How long that took.
    took: Duration,
}

/// Shortest time between two profiles of a cell on the CPU: the parent's reading competes with the
/// kernel for the cores.
const PAUSE: Duration = Duration::from_millis(50);

/// Time between two profiles of a cell, in times of sending one: a profile grows with its samples.
const SENDING_TIMES: u32 = 4;

impl Outbox<'_> {
    /// Ends this process if the parent is gone.
    fn send(&mut self, message: &Message) {
        let start = Instant::now();
        if self.write(message).is_err() {
            std::process::exit(1);
        }
        self.sent = Instant::now();
        self.took = self.sent - start;
    }

    fn write(&mut self, message: &Message) -> Result<()> {
        // Ends a partial line that a driver may have written.
        let mut line = vec![b'\n'];
        serde_json::to_writer(&mut line, message)?;
        line.push(b'\n');
        self.out.write_all(&line)?;
        Ok(self.out.flush()?)
    }

    /// True if the cell's profile so far should be sent: on a GPU after each call, because its
    /// driver may end the process.
    fn is_due(&self, on_gpu: bool) -> bool {
        let pause = if on_gpu { Duration::ZERO } else { PAUSE };
        self.sent.elapsed() >= pause.max(SENDING_TIMES * self.took)
    }
}
