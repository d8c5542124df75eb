//! Where our kernels run: on this process's threads or on a GPU, with what a
//! problem needs there made before anything is timed.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

#[cfg(feature = "gpu")]
use breakeven::gpu::Gpu;
#[cfg(feature = "gpu")]
use breakeven::hardware::HardwareCapabilities;
use breakeven::kernels::NAMES;
use breakeven::{Operator, Tensor, View};
use serde::Serialize;

#[cfg(feature = "gpu")]
#[path = "../../../../bench/gpu.rs"]
mod gpu;
#[cfg(feature = "gpu")]
#[path = "../../../../bench/room.rs"]
mod room;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

pub(crate) enum Side {
    Cpu,
    #[cfg(feature = "gpu")]
    Gpu(Gpu),
}

/// Where problems are solved.
#[derive(Serialize)]
pub(crate) struct About {
    /// The device's id, as profiles have it.
    device: String,
    /// A GPU's name, as its driver has it.
    name: Option<String>,
    /// A GPU's PCI address, if the driver reports it: `0000:01:00.0`.
    pci: Option<String>,
    /// Bytes that a problem's inputs and output may take on a GPU.
    room: Option<u64>,
    /// Threads of a problem on the CPU.
    workers: usize,
    /// All kernels there are.
    kernels: &'static [&'static str],
}

/// A problem that is ready to be solved again and again.
pub(crate) trait Solve {
    /// Solves it once and gives its output.
    fn output(&mut self) -> Outcome<Vec<u8>>;

    /// What `calls` calls in a row took, until all of them were done.
    fn lot(&mut self, calls: usize) -> Outcome<Duration>;
}

impl Side {
    /// What the command line asks for: `--gpu` or nothing.
    pub(crate) fn asked_for() -> Outcome<Self> {
        if !std::env::args().any(|argument| argument == "--gpu") {
            return Ok(Self::Cpu);
        }
        #[cfg(feature = "gpu")]
        {
            let hardware = HardwareCapabilities::detect();
            let info = gpu::device(&hardware)?;
            Ok(Self::Gpu(Gpu::open(&info.id)?))
        }
        #[cfg(not(feature = "gpu"))]
        Err("built without GPUs: leave out --no-default-features".into())
    }

    pub(crate) fn about(&self) -> About {
        let workers = rayon::current_num_threads();
        match self {
            Self::Cpu => About {
                device: "cpu".to_owned(),
                name: None,
                pci: None,
                room: None,
                workers,
                kernels: &NAMES,
            },
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => About {
                device: gpu.id().to_string(),
                name: Some(gpu.info().name.clone()),
                pci: gpu.info().pci.known().cloned(),
                room: Some(room::on_device(gpu)),
                workers,
                kernels: &NAMES,
            },
        }
    }

    /// A kernel with all that it needs on this side.
    pub(crate) fn hold<O: Operator + 'static>(
        &self,
        operator: O,
        inputs: Vec<Tensor<'static, O::In>>,
    ) -> Outcome<Box<dyn Solve>> {
        Ok(match self {
            Self::Cpu => {
                let output = operator.on_cpu(&inputs)?.into_vec()?;
                Box::new(OnCpu {
                    operator,
                    inputs,
                    output,
                })
            }
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => {
                // What the last problem held.
                gpu.memory().trim();
                let inputs = inputs.iter().map(|input| input.to(gpu));
                Box::new(OnGpu {
                    inputs: inputs.collect::<Result<_, _>>()?,
                    gpu: gpu.clone(),
                    operator,
                })
            }
        })
    }
}

/// A kernel, its inputs and room for its output, whatever that is made of.
struct OnCpu<O: Operator> {
    operator: O,
    inputs: Vec<Tensor<'static, O::In>>,
    output: Vec<O::Out>,
}

impl<O: Operator> OnCpu<O> {
    fn views<'i>(inputs: &'i [Tensor<'static, O::In>]) -> Outcome<Vec<View<'i, O::In>>> {
        let mut views = Vec::new();
        for input in inputs {
            let (shape, values) = (input.shape(), input.host()?);
            views.push(View { shape, values });
        }
        Ok(views)
    }
}

impl<O: Operator> Solve for OnCpu<O> {
    fn output(&mut self) -> Outcome<Vec<u8>> {
        let views = Self::views(&self.inputs)?;
        self.operator.cpu(&views, &mut self.output)?;
        Ok(bytemuck::cast_slice(&self.output).to_vec())
    }

    fn lot(&mut self, calls: usize) -> Outcome<Duration> {
        let views = Self::views(&self.inputs)?;
        let start = Instant::now();
        for _ in 0..calls {
            self.operator.cpu(&views, black_box(&mut self.output))?;
            black_box(&self.output);
        }
        Ok(start.elapsed())
    }
}

/// A kernel with its inputs on the device.
#[cfg(feature = "gpu")]
struct OnGpu<O: Operator> {
    gpu: Gpu,
    operator: O,
    inputs: Vec<Tensor<'static, O::In>>,
}

#[cfg(feature = "gpu")]
impl<O: Operator> Solve for OnGpu<O> {
    fn output(&mut self) -> Outcome<Vec<u8>> {
        let output = self.gpu.run(&self.operator, &self.inputs)?;
        Ok(bytemuck::cast_slice(output.host()?).to_vec())
    }

    fn lot(&mut self, calls: usize) -> Outcome<Duration> {
        let call = self.gpu.prepare(&self.operator, &self.inputs)?;
        self.gpu.synchronize()?;
        let start = Instant::now();
        for _ in 0..calls {
            call.launch()?;
        }
        self.gpu.synchronize()?;
        Ok(start.elapsed())
    }
}
