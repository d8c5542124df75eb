//! A wgpu device of the program's, adopted: its buffers as tensors, tensors' buffers lent to it.

use std::sync::mpsc;

use breakeven::gpu::cubecl::future::block_on;
use breakeven::gpu::{DeviceMemory, Gpu, Lent, Output, wgpu};
use breakeven::kernels::VectorAdd;
use breakeven::{DeviceErrorKind, Tensor};
use wgpu::BufferUsages;
use wgpu::util::{BufferInitDescriptor, DeviceExt as _};

use crate::device::first_for_shaders;

/// A program with a device of its own.
struct Program {
    adapter: wgpu::Adapter,
    device: wgpu::Device,
    queue: wgpu::Queue,
}

impl Program {
    /// A device requested with that description, or the loud line that there is none.
    fn with(describe: impl Fn(&wgpu::Adapter) -> wgpu::DeviceDescriptor<'static>) -> Option<Self> {
        first_for_shaders()?;
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::PRIMARY,
            flags: wgpu::InstanceFlags::empty(),
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapter = block_on(instance.request_adapter(&Default::default())).unwrap();
        let (device, queue) = block_on(adapter.request_device(&describe(&adapter))).unwrap();
        Some(Self {
            adapter,
            device,
            queue,
        })
    }

    fn adopted(&self) -> Result<Gpu, breakeven::DeviceError> {
        Gpu::from_wgpu(
            self.adapter.clone(),
            self.device.clone(),
            self.queue.clone(),
        )
    }

    fn buffer(&self, values: &[f32], usage: BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer_init(&BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(values),
            usage,
        })
    }

    /// What is lent, read by the program's own queue.
    fn read(&self, lent: &Lent) -> Vec<f32> {
        let DeviceMemory::Wgpu { buffer, offset } = lent.memory() else {
            panic!("{lent:?} of a device of wgpu");
        };
        let bytes = lent.bytes() as u64;
        let to = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(buffer, *offset, &to, 0, bytes);
        self.queue.submit([encoder.finish()]);
        let (mapped, arrival) = mpsc::channel();
        to.map_async(wgpu::MapMode::Read, .., move |outcome| {
            mapped.send(outcome).unwrap();
        });
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .unwrap();
        arrival.recv().unwrap().unwrap();
        let view = to.get_mapped_range(..);
        bytemuck::pod_collect_to_vec(&view)
    }
}

#[test]
fn an_operator_runs_between_the_programs_own_commands() {
    let Some(program) = Program::with(Gpu::wgpu_descriptor) else {
        return;
    };
    let gpu = program.adopted().unwrap();
    // Small ones, and such as are moved by blocks of several MiB.
    for len in [3, 3 << 20] {
        let numbers: Vec<f32> = (0..len).map(|at| (at % 1000) as f32).collect();
        let empty = vec![0.0; len];
        let ours = program.buffer(&empty, BufferUsages::COPY_SRC | BufferUsages::COPY_DST);
        program
            .queue
            .write_buffer(&ours, 0, bytemuck::cast_slice(&numbers));
        let tensor = Tensor::from_wgpu(&gpu, &ours, 0, &[1, len]).unwrap();
        let sum = gpu.start(
            &VectorAdd,
            &[&tensor, &Tensor::new(&numbers, &[1, len]).unwrap()],
            Output::OnDevice,
        );
        let sum = sum.unwrap().wait().unwrap();
        let lent = sum.lend(&gpu).unwrap();
        let doubled: Vec<f32> = numbers.iter().map(|number| 2.0 * number).collect();
        assert!(program.read(&lent) == doubled, "{len} elements");
        assert!(sum.host().unwrap() == doubled, "{len} elements");
        assert!(tensor.host().unwrap() == numbers, "{len} elements");
    }
}

#[test]
fn memory_that_is_lent_is_not_used_for_anything_else() {
    let Some(program) = Program::with(Gpu::wgpu_descriptor) else {
        return;
    };
    let gpu = program.adopted().unwrap();
    let before = gpu.memory().get_stats().bytes_in_use;
    let values: Vec<f32> = (0..4096_u16).map(f32::from).collect();
    let tensor = Tensor::new(values.clone(), &[16, 256]).unwrap();
    let lent = tensor.items(2..16).unwrap().lend(&gpu).unwrap();
    drop(tensor);
    for _ in 0..4 {
        drop(gpu.upload(&[7; 4 * 4096]).unwrap());
    }
    assert_eq!(program.read(&lent), values[512..]);
    drop(lent);
    assert_eq!(gpu.memory().get_stats().bytes_in_use, before);
}

#[test]
fn what_cannot_be_adopted_is_an_error() {
    let Some(poor) = Program::with(|_| wgpu::DeviceDescriptor::default()) else {
        return;
    };
    let error = poor.adopted().unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::Unsupported);
    assert!(error.message.contains("Gpu::wgpu_descriptor"), "{error}");

    let program = Program::with(Gpu::wgpu_descriptor).unwrap();
    let gpu = program.adopted().unwrap();
    let values = [1.0; 8];
    let ours = program.buffer(&values, BufferUsages::COPY_SRC);
    let closed = program.buffer(&values, BufferUsages::STORAGE);
    for (buffer, offset, shape, expected) in [
        (&ours, 4, &[8][..], "ends at byte 32; the shape needs 36"),
        (&ours, 2, &[4], "byte 2; give a multiple of 4"),
        (&closed, 0, &[8], "COPY_SRC"),
    ] {
        let error = Tensor::<f32>::from_wgpu(&gpu, buffer, offset, shape).unwrap_err();
        assert_eq!(error.kind, DeviceErrorKind::Refused);
        assert!(error.message.contains(expected), "{error}");
    }
    let none = Tensor::<f32>::from_wgpu(&gpu, &ours, 32, &[0, 3]).unwrap();
    assert_eq!(none.host(), Ok(&[][..]));

    // Another device's, which wgpu reports on the side.
    let (device, queue) = block_on(program.adapter.request_device(&Default::default())).unwrap();
    let other = Program {
        adapter: program.adapter.clone(),
        device,
        queue,
    };
    let theirs = other.buffer(&values, BufferUsages::COPY_SRC);
    let error = Tensor::<f32>::from_wgpu(&gpu, &theirs, 0, &[8]).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::Launch, "{error}");
    let again = Tensor::<f32>::from_wgpu(&gpu, &ours, 0, &[8]).unwrap();
    assert_eq!(
        again.host(),
        Ok(&values[..]),
        "the device is as usable as before"
    );
}
