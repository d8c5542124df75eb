//! The worker process: everything that touches a driver happens here, so that a
//! driver that crashes, hangs or prints costs one cell of the parent's table.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::ops::ControlFlow;

use anyhow::{Context, Result, anyhow};
use breakeven::hardware::HardwareCapabilities;
use breakeven::peak::measure_cpu as measure_cpu_peak;
use breakeven::suite::{GreyImage, Iterations, Workload, measure_cpu};
use breakeven::{DeviceError, DeviceErrorKind, Error};
use breakeven_profile::profile::Failure;
use breakeven_profile::recorder::Clock;

use crate::exit::Exit;
use crate::protocol::{Cell, Message, Request};

/// Reads a [`Request`] from `input` and answers on `out` until all is done or a
/// cell failed.
pub(crate) fn run(mut input: impl BufRead, out: &mut dyn Write) -> Result<Exit> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line)
        .context("`breakeven worker` is for `breakeven profile` to start, not for people")?;
    let image = request.image.as_deref().map(crate::image::read).transpose()?;
    let mut worker = Worker {
        out,
        clock: Clock::new(),
        iterations: Iterations {
            warmup: request.warmup,
            measured: request.iterations,
        },
        image,
        devices: Devices::new(request.device_timeout_s),
    };
    for (index, cell) in request.cells.iter().enumerate() {
        worker.tell(&Message::Begin(index))?;
        match worker.cell(cell)? {
            Ok(()) => worker.tell(&Message::End)?,
            Err(failure) => {
                worker.tell(&Message::Failed(failure))?;
                return Ok(Exit::Failed);
            }
        }
    }
    Ok(Exit::Done)
}

struct Worker<'o> {
    out: &'o mut dyn Write,
    clock: Clock,
    iterations: Iterations,
    image: Option<GreyImage>,
    devices: Devices,
}

impl Worker<'_> {
    fn tell(&mut self, message: &Message) -> Result<()> {
        tell(self.out, message)
    }

    /// The outer error is of the parent (it is gone); the inner one is the cell's.
    fn cell(&mut self, cell: &Cell) -> Result<Result<(), Failure>> {
        match cell {
            Cell::Detect { gpu } => {
                let found = if *gpu {
                    HardwareCapabilities::detect()
                } else {
                    HardwareCapabilities::detect_without_gpu()
                };
                self.tell(&Message::Hardware(Box::new(found)))?;
            }
            Cell::Clock => {
                let measured = self.clock.measure();
                self.tell(&Message::Clock(measured))?;
            }
            Cell::Peak { device } => {
                let peak = match self.peak(device) {
                    Ok(peak) => peak,
                    Err(error) => return Ok(Err(failure(&error))),
                };
                self.tell(&Message::Peak(Box::new(peak)))?;
            }
            Cell::Kernel {
                kernel,
                scale,
                on_image,
                device,
            } => return self.kernel(kernel, *scale, *on_image, device),
        }
        Ok(Ok(()))
    }

    fn peak(&mut self, device: &str) -> Result<breakeven_profile::profile::Peak, Error> {
        if device == "cpu" {
            let memory = HardwareCapabilities::detect_without_gpu().usable_memory_bytes;
            return Ok(measure_cpu_peak(memory.get()));
        }
        #[cfg(feature = "gpu")]
        return Ok(breakeven::peak::measure_gpu(self.devices.open(device)?)?);
        #[cfg(not(feature = "gpu"))]
        Err(self.devices.open(device).into())
    }

    fn kernel(
        &mut self,
        kernel: &str,
        scale: usize,
        on_image: bool,
        device: &str,
    ) -> Result<Result<(), Failure>> {
        let workload = match (&self.image, on_image) {
            (Some(image), true) => Workload::on_image(kernel, image),
            _ => None,
        };
        let prepared = workload
            .map_or_else(|| Workload::new(kernel, scale), Ok)
            .and_then(|workload| Ok((workload.build()?, workload)));
        let (problem, workload) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Err(failure(&error))),
        };
        let operation = workload.operation(device, &*problem);
        self.tell(&Message::Operation(Box::new(operation)))?;
        let mut lost_parent = None;
        let out = &mut *self.out;
        let mut report = |event| match tell(out, &Message::Event(event)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                lost_parent = Some(error);
                ControlFlow::Break(())
            }
        };
        let outcome = if device == "cpu" {
            // Broken off only when the parent is gone, which is looked at below.
            let _ = measure_cpu(&*problem, self.iterations, &self.clock, &mut report);
            Ok(())
        } else {
            self.devices
                .measure(device, &*problem, self.iterations, &self.clock, &mut report)
        };
        match lost_parent {
            Some(error) => Err(error),
            None => Ok(outcome.map_err(|error| failure(&error.into()))),
        }
    }
}

fn tell(out: &mut dyn Write, message: &Message) -> Result<()> {
    let mut line = serde_json::to_string(message)?;
    line.push('\n');
    out.write_all(line.as_bytes())?;
    out.flush().map_err(|error| anyhow!(error))
}

fn failure(error: &Error) -> Failure {
    let (kind, message) = match error.kind() {
        breakeven::ErrorKind::Device(kind) => {
            let text = error.to_string();
            let message = text.strip_prefix(&format!("{kind}: ")).unwrap_or(&text).to_owned();
            (kind.to_string(), message)
        }
        _ => ("error".to_owned(), error.to_string()),
    };
    Failure { kind, message }
}

/// The GPUs that this worker has opened.
#[cfg(feature = "gpu")]
struct Devices {
    timeout: std::time::Duration,
    open: HashMap<String, breakeven::gpu::Gpu>,
}

#[cfg(feature = "gpu")]
impl Devices {
    fn new(timeout_s: u32) -> Self {
        Self {
            timeout: std::time::Duration::from_secs(timeout_s.into()),
            open: HashMap::new(),
        }
    }

    fn open(&mut self, device: &str) -> Result<&breakeven::gpu::Gpu, DeviceError> {
        match self.open.entry(device.to_owned()) {
            std::collections::hash_map::Entry::Occupied(open) => Ok(open.into_mut()),
            std::collections::hash_map::Entry::Vacant(room) => {
                let id = device.parse().map_err(|error| {
                    DeviceError::new(DeviceErrorKind::Unavailable, format!("{error}"))
                })?;
                let mut gpu = breakeven::gpu::Gpu::open(&id)?;
                gpu.set_timeout(self.timeout);
                Ok(room.insert(gpu))
            }
        }
    }

    fn measure(
        &mut self,
        device: &str,
        problem: &dyn breakeven::kernels::Kernel,
        iterations: Iterations,
        clock: &Clock,
        report: &mut dyn FnMut(breakeven::suite::Event) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let gpu = self.open(device)?;
        // Broken off only when the parent is gone.
        let _ = breakeven::suite::measure_gpu(gpu, problem, iterations, clock, report)?;
        gpu.release_memory();
        Ok(())
    }
}

/// Without the GPU path there is none to open.
#[cfg(not(feature = "gpu"))]
struct Devices;

#[cfg(not(feature = "gpu"))]
impl Devices {
    fn new(_: u32) -> Self {
        Self
    }

    fn open(&self, device: &str) -> DeviceError {
        DeviceError::new(
            DeviceErrorKind::Unavailable,
            format!("{device}: this build has no GPU path (feature `gpu`)"),
        )
    }

    fn measure(
        &mut self,
        device: &str,
        _: &dyn breakeven::kernels::Kernel,
        _: Iterations,
        _: &Clock,
        _: &mut dyn FnMut(breakeven::suite::Event) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        Err(self.open(device))
    }
}
