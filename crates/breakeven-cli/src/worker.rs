//! The worker process: everything that touches a driver happens here, so that a
//! driver that crashes, hangs or prints costs one cell of the parent's table.

use std::io::{BufRead, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::suite::{Iterations, Workload};
use anyhow::{Context, Result};
use breakeven::Costs;
use breakeven::hardware::{HardwareCapabilities, SystemLoad};
use breakeven::peak::measure_cpu as measure_cpu_peak;
use breakeven::{Error, Tensor};
use breakeven_profile::profile::{Failure, Operation};
use breakeven_profile::recorder::Clock;

use crate::exit::Exit;
use crate::protocol::{Cell, Input, Message, Request};

mod batches;
mod devices;

use batches::Learns;
use devices::Devices;

/// A channel to the parent that no driver writes to: stdout under another
/// number, while what is written to stdout goes where stderr goes.
#[cfg(unix)]
pub(crate) fn own_channel<'o>(_: &'o mut dyn Write) -> Result<Box<dyn Write + 'o>> {
    use std::os::fd::AsFd;
    let channel = std::io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdout(std::io::stderr().as_fd())?;
    Ok(Box::new(std::fs::File::from(channel)))
}

/// Elsewhere a driver's output is told from messages line by line.
#[cfg(not(unix))]
pub(crate) fn own_channel<'o>(out: &'o mut dyn Write) -> Result<Box<dyn Write + 'o>> {
    Ok(Box::new(out))
}

/// Reads a [`Request`] from `input` and answers on `out` until all is done or a
/// cell failed.
pub(crate) fn run(mut input: impl BufRead, out: &mut dyn Write) -> Result<Exit> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line)
        .context("`breakeven worker` is for `breakeven profile` to start, not for people")?;
    let image = request
        .image
        .as_deref()
        .map(crate::image::read)
        .transpose()?;
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
        image,
        series: request.series,
        devices: Devices::new(request.device_timeout_s),
        costs: None,
    };
    for (index, cell) in request.cells.iter().enumerate() {
        worker.outbox.send(&Message::Begin(index))?;
        match worker.cell(cell)? {
            Ok(()) => worker.outbox.send(&Message::End)?,
            Err(failure) => {
                worker.outbox.send(&Message::Failed(failure))?;
                return Ok(Exit::Failed);
            }
        }
    }
    Ok(Exit::Done)
}

/// Over how long the use of the CPU is counted.
const LOAD_INTERVAL: Duration = Duration::from_millis(250);

struct Worker<'o> {
    outbox: Outbox<'o>,
    clock: Clock,
    iterations: Iterations,
    image: Option<Tensor<'static>>,
    series: Option<Vec<f32>>,
    devices: Devices,
    costs: Option<Arc<Costs>>,
}

impl Worker<'_> {
    /// The outer error is of the parent (it is gone); the inner one is the cell's.
    fn cell(&mut self, cell: &Cell) -> Result<Result<(), Failure>> {
        match cell {
            Cell::Detect => {
                let found = HardwareCapabilities::detect();
                self.outbox.send(&Message::Hardware(Box::new(found)))?;
            }
            Cell::Load => {
                // The first sample has no interval to look at.
                SystemLoad::sample();
                std::thread::sleep(LOAD_INTERVAL);
                let load = SystemLoad::sample();
                self.outbox.send(&Message::Load(Box::new(load)))?;
            }
            Cell::Clock => {
                let measured = self.clock.measure();
                self.outbox.send(&Message::Clock(measured))?;
            }
            Cell::Peak { device } => {
                let peak = match self.peak(device) {
                    Ok(peak) => peak,
                    Err(error) => return Ok(Err(failure(&error))),
                };
                self.outbox.send(&Message::Peak(Box::new(peak)))?;
            }
            Cell::Kernel {
                kernel,
                scale,
                input,
                device,
            } => {
                let workload = self.workload(kernel, *scale, *input);
                return self.measure(workload, device, |_| {});
            }
            Cell::Point(point) => {
                return self.measure(point.workload(), &point.device, |operation| {
                    point.mark(operation);
                });
            }
            Cell::Batch(batch) => return self.batch(batch, Learns::OfGpus),
            Cell::Lesson(batch) => return self.batch(batch, Learns::Always),
        }
        Ok(Ok(()))
    }

    fn peak(&mut self, device: &str) -> Result<breakeven_profile::profile::Peak, Error> {
        if device == "cpu" {
            let memory = HardwareCapabilities::detect_without_gpu().usable_memory_bytes;
            return Ok(measure_cpu_peak(memory.get()));
        }
        Ok(self.devices.peak(device)?)
    }

    fn workload(&self, kernel: &str, scale: usize, input: Input) -> Result<Workload, Error> {
        let own = match input {
            Input::Generated => None,
            Input::Image => {
                (self.image.as_ref()).and_then(|image| Workload::on_image(kernel, image))
            }
            Input::Series => {
                (self.series.as_ref()).and_then(|series| Workload::on_series(kernel, series))
            }
        };
        own.map_or_else(|| Workload::new(kernel, scale), Ok)
    }

    /// Measures a workload, whose operation gets whatever `mark` adds.
    fn measure(
        &mut self,
        workload: Result<Workload, Error>,
        device: &str,
        mark: impl FnOnce(&mut Operation),
    ) -> Result<Result<(), Failure>> {
        let prepared = workload.and_then(|workload| Ok((workload.build()?, workload)));
        let (problem, workload) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Err(failure(&error))),
        };
        let mut operation = workload.operation(device, &problem);
        mark(&mut operation);
        self.outbox.send(&Message::Operation(Box::new(operation)))?;
        if device != "cpu" {
            match self.devices.kernel_clock(device) {
                Ok(clock) => self.outbox.send(&Message::KernelClock(clock))?,
                Err(error) => return Ok(Err(failure(&error.into()))),
            }
        }
        let mut lost_parent = None;
        let outbox = &mut self.outbox;
        let mut report = |event| {
            let message = Message::Event(event);
            let told = match device {
                "cpu" => outbox.post(&message),
                _ => outbox.send(&message),
            };
            match told {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    lost_parent = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        // Broken off only when the parent is gone, which is looked at below.
        let outcome = match device {
            "cpu" => problem.measure_cpu(self.iterations, &self.clock, &mut report),
            _ => (self.devices)
                .measure(device, &problem, self.iterations, &self.clock, &mut report)
                .map_err(Error::from),
        };
        match lost_parent {
            Some(error) => Err(error),
            None => Ok(outcome.map_err(|error| failure(&error))),
        }
    }
}

/// Messages on their way to the parent. The parent's reading competes with a
/// CPU kernel for the cores, so times of the CPU are handed over in lots.
struct Outbox<'o> {
    out: &'o mut dyn Write,
    waiting: Vec<u8>,
    since: Instant,
}

/// How long a lot may wait.
const LOT: Duration = Duration::from_millis(50);

impl Outbox<'_> {
    /// Hands over at once.
    fn send(&mut self, message: &Message) -> Result<()> {
        self.keep(message)?;
        self.out.write_all(&self.waiting)?;
        self.out.flush()?;
        self.waiting.clear();
        self.since = Instant::now();
        Ok(())
    }

    /// Hands over with the next lot.
    fn post(&mut self, message: &Message) -> Result<()> {
        if self.is_due() {
            return self.send(message);
        }
        self.keep(message)
    }

    /// True where the next message goes out with all that waits.
    fn is_due(&self) -> bool {
        self.since.elapsed() > LOT
    }

    fn keep(&mut self, message: &Message) -> Result<()> {
        // Whatever a driver may have left on the line ends here.
        self.waiting.push(b'\n');
        serde_json::to_writer(&mut self.waiting, message)?;
        self.waiting.push(b'\n');
        Ok(())
    }
}

fn failure(error: &Error) -> Failure {
    let (kind, message) = match error.kind() {
        breakeven::ErrorKind::Device(kind) => {
            let text = error.to_string();
            let message = text
                .strip_prefix(&format!("{kind}: "))
                .unwrap_or(&text)
                .to_owned();
            (kind.to_string(), message)
        }
        _ => ("error".to_owned(), error.to_string()),
    };
    Failure { kind, message }
}
