//! Your own GPU code behind `execute` without anything of ours: a compute shader in
//! plain `wgpu`, on a device, a queue and buffers of its own. breakeven sees a
//! `GpuExecutor`.
//!
//! A task is a number; its result is how many steps the Collatz sequence takes
//! from there to 1. The same function in Rust is what the CPU runs.
//!
//! Run it with `cargo run --example 11c_own_executor`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use breakeven::execute::{GpuExecutor, RayonCpu, StrategyManager};
use breakeven::plan::GpuSpec;
use breakeven::{DeviceError, DeviceErrorKind};
use wgpu::BufferUsages as Usage;

const SHADER: &str = "
@group(0) @binding(0) var<storage, read> numbers: array<u32>;
@group(0) @binding(1) var<storage, read_write> steps: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&numbers) { return; }
    var n = numbers[id.x];
    var count = 0u;
    while n > 1u {
        n = select(n / 2u, 3u * n + 1u, n % 2u == 1u);
        count += 1u;
    }
    steps[id.x] = count;
}";

/// What the CPU runs.
fn steps(number: &u32) -> Result<u32, std::convert::Infallible> {
    let (mut n, mut count) = (*number, 0);
    while n > 1 {
        n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
        count += 1;
    }
    Ok(count)
}

struct CollatzGpu {
    spec: GpuSpec,
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipeline: wgpu::ComputePipeline,
    /// What the device reported on the side. It stays: this executor makes no
    /// second attempt after an error that wgpu could not return.
    fault: Arc<OnceLock<DeviceError>>,
}

/// A batch on the device: where its output will be, and whether it is.
struct InFlight {
    device: wgpu::Device,
    fault: Arc<OnceLock<DeviceError>>,
    output: wgpu::Buffer,
    mapped: Arc<OnceLock<Result<(), wgpu::BufferAsyncError>>>,
}

impl CollatzGpu {
    /// The first adapter that there is, real or software.
    fn open() -> Result<Self, Box<dyn std::error::Error>> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            flags: wgpu::InstanceFlags::empty(),
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapter = pollster::block_on(instance.request_adapter(&Default::default()))?;
        let (device, queue) = pollster::block_on(adapter.request_device(&Default::default()))?;
        let fault = Arc::<OnceLock<DeviceError>>::default();
        let reports = Arc::clone(&fault);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let kind = match error {
                wgpu::Error::OutOfMemory { .. } => DeviceErrorKind::OutOfMemory,
                _ => DeviceErrorKind::Other,
            };
            let _ = reports.set(DeviceError::new(kind, error.to_string()));
        }));
        let shader = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &shader,
            entry_point: None,
            compilation_options: Default::default(),
            cache: None,
        });
        Ok(Self {
            spec: GpuSpec::named(adapter.get_info().name),
            device,
            queue,
            pipeline,
            fault,
        })
    }

    fn buffer(&self, size: u64, usage: Usage) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation: false,
        })
    }
}

fn check(fault: &OnceLock<DeviceError>) -> Result<(), DeviceError> {
    fault.get().cloned().map_or(Ok(()), Err)
}

/// wgpu wakes nobody by itself: who drives a device looks every millisecond at the latest.
impl Future for InFlight {
    type Output = Result<Vec<u32>, DeviceError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let failed = |text: String| Err(DeviceError::new(DeviceErrorKind::Other, text));
        if let Err(error) = self.device.poll(wgpu::PollType::Poll) {
            return Poll::Ready(failed(error.to_string()));
        }
        check(&self.fault)?;
        match self.mapped.get() {
            None => Poll::Pending,
            Some(Err(error)) => Poll::Ready(failed(error.to_string())),
            Some(Ok(())) => {
                let bytes = self.output.get_mapped_range(..);
                let words = bytes.chunks_exact(4);
                let number = |word: &[u8]| u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                Poll::Ready(Ok(words.map(number).collect()))
            }
        }
    }
}

fn bind(binding: u32, buffer: &wgpu::Buffer) -> wgpu::BindGroupEntry<'_> {
    wgpu::BindGroupEntry {
        binding,
        resource: buffer.as_entire_binding(),
    }
}

impl GpuExecutor<u32, u32> for CollatzGpu {
    type Flight = InFlight;

    /// Copies the numbers, starts the shader, asks for the output; waits for none of it.
    fn start(&self, numbers: &[u32]) -> Result<InFlight, DeviceError> {
        let size = 4 * numbers.len() as u64;
        let input = self.buffer(size, Usage::STORAGE | Usage::COPY_DST);
        let result = self.buffer(size, Usage::STORAGE | Usage::COPY_SRC);
        let output = self.buffer(size, Usage::MAP_READ | Usage::COPY_DST);
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.queue.write_buffer(&input, 0, &bytes);
        let bindings = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &[bind(0, &input), bind(1, &result)],
        });
        let mut commands = self.device.create_command_encoder(&Default::default());
        {
            let mut pass = commands.begin_compute_pass(&Default::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &bindings, &[]);
            let groups = numbers.len().div_ceil(64);
            pass.dispatch_workgroups(u32::try_from(groups).unwrap_or(u32::MAX), 1, 1);
        }
        commands.copy_buffer_to_buffer(&result, 0, &output, 0, size);
        self.queue.submit([commands.finish()]);
        let mapped = Arc::<OnceLock<_>>::default();
        let arrived = Arc::clone(&mapped);
        output.map_async(wgpu::MapMode::Read, .., move |outcome| {
            let _ = arrived.set(outcome);
        });
        check(&self.fault)?;
        Ok(InFlight {
            device: self.device.clone(),
            fault: Arc::clone(&self.fault),
            output,
            mapped,
        })
    }

    fn device(&self) -> Option<&GpuSpec> {
        Some(&self.spec)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<u32> = (1..=100_000).collect();
    let cpu = Arc::new(RayonCpu::current());
    let steps_of_all = match CollatzGpu::open() {
        Ok(gpu) => {
            // Half and half, so that both are seen at work; `Auto` is the default.
            let manager =
                StrategyManager::new(cpu, Arc::new(gpu)).with_strategy("hybrid:50/50".parse()?);
            let result = manager.operation("collatz").execute(&numbers, steps)?;
            println!("{}", result.explain());
            result.outputs
        }
        Err(error) => {
            println!("no GPU here ({error}): the CPU does it all");
            let manager = StrategyManager::cpu_only(cpu);
            manager
                .operation("collatz")
                .execute(&numbers, steps)?
                .outputs
        }
    };
    let (number, most) = (1..)
        .zip(&steps_of_all)
        .max_by_key(|(_, steps)| **steps)
        .expect("numbers");
    println!("up to 100 000, {number} takes longest: {most} steps");
    assert_eq!((number, *most), (77_031, 350));
    Ok(())
}
