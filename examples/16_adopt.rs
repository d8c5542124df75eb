//! breakeven on the wgpu device that a program has: an operator reads the program's buffer, and the
//! program's own queue reads the operator's output. Run it with `cargo run --example 16_adopt`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;
use std::sync::mpsc;

use breakeven::gpu::cubecl::future::block_on;
use breakeven::gpu::{DeviceMemory, Gpu, Output, wgpu};
use breakeven::kernels::VectorAdd;
use breakeven::{Tensor, hardware};
use wgpu::util::DeviceExt as _;

fn main() -> Result<(), Box<dyn Error>> {
    // The program's device, requested with all that the kernels may use.
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::PRIMARY,
        flags: wgpu::InstanceFlags::empty(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let Ok(adapter) = block_on(instance.request_adapter(&Default::default())) else {
        println!("{:#?}", hardware::HardwareCapabilities::detect().absent);
        return Ok(());
    };
    let (device, queue) = block_on(adapter.request_device(&Gpu::wgpu_descriptor(&adapter)))?;
    let gpu = Gpu::from_wgpu(adapter, device.clone(), queue.clone())?;

    // A buffer of the program's as a tensor: one copy, made by the device.
    let ours = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: None,
        contents: bytemuck::cast_slice(&[1.0_f32, 2.0, 3.0, 4.0]),
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
    });
    let values = Tensor::from_wgpu(&gpu, &ours, 0, &[2, 2])?;
    let doubled = gpu.start(&VectorAdd, &[&values, &values], Output::OnDevice)?;
    let doubled = doubled.wait()?;

    // The output's memory for a command of the program's: here a copy, for the host.
    let lent = doubled.lend(&gpu)?;
    let DeviceMemory::Wgpu { buffer, offset } = lent.memory() else {
        return Err("a device of wgpu has its memory in buffers".into());
    };
    let bytes = lent.bytes() as u64;
    let for_the_host = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, *offset, &for_the_host, 0, bytes);
    queue.submit([encoder.finish()]);
    let (mapped, arrival) = mpsc::channel();
    for_the_host.map_async(wgpu::MapMode::Read, .., move |outcome| {
        let _ = mapped.send(outcome);
    });
    device.poll(wgpu::PollType::wait_indefinitely())?;
    arrival.recv()??;
    let view = for_the_host.get_mapped_range(..);
    let found: &[f32] = bytemuck::cast_slice(&view);
    assert_eq!(found, [2.0, 4.0, 6.0, 8.0]);
    println!("{}: {found:?}", gpu.id());
    Ok(())
}
