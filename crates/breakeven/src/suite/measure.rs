//! The measuring loops: the same way of a call on every device, from inputs in
//! host memory to the output in host memory.

use std::hint::black_box;
use std::ops::ControlFlow;

use breakeven_profile::recorder::Clock;
use bytemuck::Zeroable;

use super::event::Event;
#[cfg(feature = "gpu")]
use super::event::Phase;
#[cfg(feature = "gpu")]
use crate::error::DeviceError;
#[cfg(feature = "gpu")]
use crate::gpu::Gpu;
use crate::kernels::{Kernel, Work};

/// How often a workload is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iterations {
    /// Calls before measuring; the first of them is reported apart.
    pub warmup: u32,
    /// Measured calls.
    pub measured: u32,
}

/// A kernel's problem, whatever its output is made of: what the suite holds and
/// measures. Every [`Kernel`] is one.
pub trait Problem: Send + Sync {
    /// What one call does.
    fn work(&self) -> Work;

    /// Bytes that the problem holds in memory: inputs and output.
    fn memory_bytes(&self) -> u64;

    /// Measures the CPU form on the current rayon pool. `report` gets every time
    /// as it is taken and may break off.
    fn measure_cpu(
        &self,
        iterations: Iterations,
        clock: &Clock,
        report: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> ControlFlow<()>;

    /// Measures the GPU form: whole calls (upload, kernel, download), and after
    /// each one the parts of a call with a wait after every part.
    ///
    /// # Errors
    ///
    /// Whatever the device reports; what was measured before has been reported.
    #[cfg(feature = "gpu")]
    fn measure_gpu(
        &self,
        gpu: &Gpu,
        iterations: Iterations,
        clock: &Clock,
        report: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, DeviceError>;
}

impl<K: Kernel> Problem for K {
    fn work(&self) -> Work {
        Kernel::work(self)
    }

    fn memory_bytes(&self) -> u64 {
        Kernel::memory_bytes(self)
    }

    fn measure_cpu(
        &self,
        iterations: Iterations,
        clock: &Clock,
        report: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut out = vec![K::Element::zeroed(); self.output_len()];
        let mut call = || {
            let start = clock.now();
            self.cpu_into(black_box(&mut out));
            let ns = clock.ns_since(start);
            black_box(&out);
            ns
        };
        for call_index in 0..iterations.warmup {
            report(warm_up(call_index, call()))?;
        }
        for _ in 0..iterations.measured {
            report(Event::Sample(call()))?;
        }
        ControlFlow::Continue(())
    }

    #[cfg(feature = "gpu")]
    fn measure_gpu(
        &self,
        gpu: &Gpu,
        iterations: Iterations,
        clock: &Clock,
        report: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, DeviceError> {
        let call = || -> Result<u64, DeviceError> {
            let start = clock.now();
            let output = gpu.solve(black_box(self))?;
            let ns = clock.ns_since(start);
            black_box(&output);
            Ok(ns)
        };
        for call_index in 0..iterations.warmup {
            if report(warm_up(call_index, call()?)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let scratch = gpu.upload_bytes(&[0; 4])?;
        if iterations.warmup > 0 {
            let _ = parts(gpu, self, clock, &scratch, &mut |_| {
                ControlFlow::Continue(())
            })?;
        }
        for _ in 0..iterations.measured {
            if report(Event::Sample(call()?)).is_break()
                || parts(gpu, self, clock, &scratch, report)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn warm_up(index: u32, ns: u64) -> Event {
    match index {
        0 => Event::FirstCall(ns),
        _ => Event::WarmUp(ns),
    }
}

/// One call in its parts, each reported as soon as it is done.
#[cfg(feature = "gpu")]
fn parts<K: Kernel>(
    gpu: &Gpu,
    problem: &K,
    clock: &Clock,
    scratch: &crate::gpu::Buffer,
    report: &mut dyn FnMut(Event) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, DeviceError> {
    let start = clock.now();
    let buffers = gpu.upload(black_box(problem))?;
    gpu.synchronize()?;
    let mut flow = report(Event::Phase(Phase::Upload, clock.ns_since(start)));
    if flow.is_continue() {
        let launch = gpu.empty_launch(scratch, clock)?;
        flow = report(Event::Phase(Phase::Launch, launch));
    }
    if flow.is_continue() {
        let kernel = gpu.kernel_time(problem, &buffers)?.as_nanos();
        let kernel = u64::try_from(kernel).unwrap_or(u64::MAX);
        flow = report(Event::Phase(Phase::Kernel, kernel));
    }
    if flow.is_continue() {
        let start = clock.now();
        black_box(gpu.download(&buffers)?);
        flow = report(Event::Phase(Phase::Download, clock.ns_since(start)));
    }
    Ok(flow)
}
