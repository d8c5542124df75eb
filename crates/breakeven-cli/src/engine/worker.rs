//! The worker process: all driver calls happen here, so that a driver that crashes, hangs or prints
//! costs one cell of the parent's table.

use std::io::{BufRead, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use breakeven::hardware::{HardwareCapabilities, SystemLoad};
use breakeven::peak::measure_cpu as measure_cpu_peak;
use breakeven::{Costs, DeviceError, Error, ErrorKind};
use breakeven_judge::Outcome;
use breakeven_profile::profile::{Device, Failure, Operation};
use breakeven_profile::recorder::Clock;
use devices::Devices;

use crate::engine::protocol::{Cell, Message, Request};
use crate::engine::suite::{CallMeter, Event, Iterations, Workload};
use crate::exit::Ending;

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
pub(crate) fn run(mut input: impl BufRead, out: &mut dyn Write) -> Result<Ending> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line)
        .context("`breakeven worker` is started by `breakeven profile` and not for direct use")?;
    let mut worker = Worker {
        outbox: Outbox {
            out,
            waiting: Vec::new(),
            since: Instant::now(),
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
        worker.outbox.send(&Message::Begin(index))?;
        match worker.cell(cell) {
            Ok(()) => worker.outbox.send(&Message::End)?,
            Err(Stopped::Parent(error)) => return Err(error),
            Err(Stopped::Cell(failure)) => {
                worker.outbox.send(&Message::Failed(failure))?;
                return Ok(Ending::Measured {
                    failed: true,
                    budgets: Outcome::Passed,
                });
            }
        }
    }
    Ok(Ending::Done)
}

/// Why a cell was not done.
enum Stopped {
    /// The parent is gone.
    Parent(anyhow::Error),
    /// The cell failed.
    Cell(Failure),
}

impl From<anyhow::Error> for Stopped {
    fn from(error: anyhow::Error) -> Self {
        Self::Parent(error)
    }
}

impl From<DeviceError> for Stopped {
    fn from(DeviceError { kind, message }: DeviceError) -> Self {
        let kind = kind.to_string();
        Self::Cell(Failure { kind, message })
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
        Self::Cell(Failure { kind, message })
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
            Cell::Detect => Message::Hardware(Box::new(HardwareCapabilities::detect())),
            Cell::Load => {
                // The first sample has no interval.
                SystemLoad::sample();
                std::thread::sleep(LOAD_INTERVAL);
                Message::Load(Box::new(SystemLoad::sample()))
            }
            Cell::Clock => Message::Clock(self.clock.measure()),
            Cell::Peak { device } if device == Device::CPU => {
                let memory = HardwareCapabilities::detect_without_gpu().usable_memory_bytes;
                Message::Peak(Box::new(measure_cpu_peak(memory.get())))
            }
            Cell::Peak { device } => Message::Peak(Box::new(self.devices.peak(device)?)),
            Cell::Noise {
                work,
                for_ms,
                working_set_bytes,
            } => {
                let samples = work.samples(Duration::from_millis(*for_ms), *working_set_bytes);
                if let Some(operation) = cell.operation().map(Box::new) {
                    self.outbox.send(&Message::Operation(operation))?;
                }
                for ns in samples {
                    self.outbox.post(&Message::Event(Event::Sample(ns)))?;
                }
                return Ok(());
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
            Cell::Batch(batch) => return self.batch(batch, false),
            Cell::Lesson(batch) => return self.batch(batch, true),
        };
        Ok(self.outbox.send(&message)?)
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
        self.outbox.send(&Message::Operation(Box::new(operation)))?;
        if device != Device::CPU {
            let clock = self.devices.kernel_clock(device)?;
            self.outbox.send(&Message::KernelClock(clock))?;
        }
        let mut lost_parent = None;
        let outbox = &mut self.outbox;
        let mut report = |event| {
            let message = Message::Event(event);
            let told = match device {
                Device::CPU => outbox.post(&message),
                _ => outbox.send(&message),
            };
            lost_parent = told.err();
            match lost_parent {
                None => ControlFlow::Continue(()),
                Some(_) => ControlFlow::Break(()),
            }
        };
        // The measurement stops only if the parent is gone, which is checked below.
        let outcome = match device {
            Device::CPU => {
                let (iterations, energy) = (self.iterations, self.energy.as_ref());
                problem.measure_cpu(iterations, energy, &self.clock, &mut report)
            }
            _ => {
                let how = (self.iterations, self.energy.as_ref());
                let devices = &mut self.devices;
                let measured = devices.measure(device, &problem, how, &self.clock, &mut report);
                measured.map_err(Error::from)
            }
        };
        match lost_parent {
            Some(error) => Err(Stopped::Parent(error)),
            None => Ok(outcome?),
        }
    }
}

/// Messages to the parent. The parent's reading competes with a CPU kernel for the cores, so CPU
/// times are sent in groups.
struct Outbox<'o> {
    out: &'o mut dyn Write,
    waiting: Vec<u8>,
    since: Instant,
}

/// Longest delay of a group.
const LOT: Duration = Duration::from_millis(50);

impl Outbox<'_> {
    /// Sends at once.
    fn send(&mut self, message: &Message) -> Result<()> {
        self.keep(message)?;
        self.out.write_all(&self.waiting)?;
        self.out.flush()?;
        self.waiting.clear();
        self.since = Instant::now();
        Ok(())
    }

    /// Sends with the next group.
    fn post(&mut self, message: &Message) -> Result<()> {
        if self.is_due() {
            return self.send(message);
        }
        self.keep(message)
    }

    /// True if the next message is sent with all that wait.
    fn is_due(&self) -> bool {
        self.since.elapsed() > LOT
    }

    fn keep(&mut self, message: &Message) -> Result<()> {
        // Ends a partial line that a driver may have written.
        self.waiting.push(b'\n');
        serde_json::to_writer(&mut self.waiting, message)?;
        self.waiting.push(b'\n');
        Ok(())
    }
}
