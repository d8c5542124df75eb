//! Devices and memory that the program has: a device adopted, a tensor's memory lent, a tensor of
//! the program's memory.
//!
//! CubeCL allocates what it computes on and takes no memory of others, so a tensor of the program's
//! memory is a copy, which the device makes.

use cudarc::driver::CudaContext;
use cudarc::driver::sys::CUdeviceptr;

use super::faults::Faults;
use super::transfer::Copies;
use super::{Buffer, Gpu, caught, open};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::hardware::{cuda_id, described};
use crate::tensor::{Element, Tensor, shape};

/// Where a tensor's bytes are on a device.
#[derive(Debug, Clone)]
pub enum DeviceMemory {
    /// Vulkan, Metal or DX12.
    Wgpu {
        /// The buffer; others may have sections of it.
        buffer: wgpu::Buffer,
        /// The first byte.
        offset: u64,
    },
    /// CUDA.
    Cuda {
        /// The first byte's address, in the device's primary context.
        pointer: CUdeviceptr,
    },
}

/// A tensor's memory on a device, for the program's own commands; see [`Tensor::lend`].
#[derive(Debug)]
#[must_use = "the memory is kept for as long as this lives"]
pub struct Lent {
    memory: DeviceMemory,
    buffer: Buffer,
}

impl Lent {
    /// Where it is.
    pub fn memory(&self) -> &DeviceMemory {
        &self.memory
    }

    /// Its size, bytes.
    pub fn bytes(&self) -> usize {
        self.buffer.bytes()
    }
}

impl Gpu {
    /// What to request a wgpu device with that [`from_wgpu`](Gpu::from_wgpu) will adopt: the
    /// adapter's limits, and its features but for experimental ones.
    pub fn wgpu_descriptor(adapter: &wgpu::Adapter) -> wgpu::DeviceDescriptor<'static> {
        wgpu::DeviceDescriptor {
            label: Some("breakeven"),
            required_features: adapter
                .features()
                .difference(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS)
                .difference(wgpu::Features::all_experimental_mask()),
            required_limits: adapter.limits(),
            // CubeCL pools its buffers itself.
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        }
    }

    /// Adopts a wgpu device of the program's, with its queue. Work is in the order in which it was
    /// submitted to the queue, by the program or by this crate.
    ///
    /// To be called once for a device: clones of the result are the same one. It takes the place of
    /// the device's handlers of uncaptured errors and of its loss, and keeps the device until the
    /// process ends.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Unsupported`] if it is a device of OpenGL or WebGPU, or was requested
    /// with less than kernels are compiled for; see [`wgpu_descriptor`](Gpu::wgpu_descriptor).
    pub fn from_wgpu(
        adapter: wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
    ) -> Result<Self, DeviceError> {
        check_requested(&adapter, &device)?;
        let faults = Faults::default();
        let (client, copies, info) = caught(|| {
            let info = described(&adapter)?;
            // CubeCL asks for an instance and uses none.
            let none = wgpu::InstanceDescriptor {
                backends: wgpu::Backends::empty(),
                ..wgpu::InstanceDescriptor::new_without_display_handle()
            };
            let instance = wgpu::Instance::new(none);
            let (client, copies) = open::adopt(instance, adapter, device, queue, &faults);
            Ok((client, copies, info))
        })?;
        Ok(Self::of(client, copies, info, faults))
    }

    /// Opens the device of a CUDA context of the program's. CubeCL computes in the device's primary
    /// context, which is the one of CUDA's runtime, of PyTorch, and of [`CudaContext::new`]:
    /// pointers of one are valid in the others. Streams are not in order with each other: wait for
    /// what the program started.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Unsupported`] for a context that is not the primary one; as
    /// [`open`](Gpu::open).
    pub fn from_cuda(context: &CudaContext) -> Result<Self, DeviceError> {
        let gpu = Self::open(&caught(|| cuda_id(context.ordinal()))?)?;
        match &gpu.shared.copies {
            Copies::Cuda(copies) if copies.is_in(context.cu_ctx()) => Ok(gpu),
            _ => Err(unsupported(format!(
                "the context is not the primary one of {}; make it with `CudaContext::new`",
                gpu.id()
            ))),
        }
    }
}

/// What of a device CubeCL asks its adapter for.
const ASKED_OF_THE_ADAPTER: wgpu::Features = wgpu::Features::TIMESTAMP_QUERY
    .union(wgpu::Features::SUBGROUP)
    .union(wgpu::Features::SHADER_INT64)
    .union(wgpu::Features::SHADER_F64)
    .union(wgpu::Features::SHADER_F16)
    .union(wgpu::Features::SHADER_FLOAT32_ATOMIC);

fn check_requested(adapter: &wgpu::Adapter, device: &wgpu::Device) -> Result<(), DeviceError> {
    let features = (adapter.features() & ASKED_OF_THE_ADAPTER).difference(device.features());
    let [has, requested] = [adapter.limits(), device.limits()].map(|limits| {
        [
            limits.max_compute_workgroups_per_dimension,
            limits.max_compute_invocations_per_workgroup,
            limits.max_compute_workgroup_size_x,
            limits.max_compute_workgroup_size_y,
            limits.max_compute_workgroup_size_z,
        ]
    });
    let lacks = match features.is_empty() {
        false => format!("without {features}"),
        true if has != requested => {
            format!("with limits of compute shaders {requested:?} of {has:?}")
        }
        true => return Ok(()),
    };
    Err(unsupported(format!(
        "the wgpu device was requested {lacks}, for which kernels are compiled; request it with \
         `Gpu::wgpu_descriptor(&adapter)`"
    )))
}

impl<E: Element> Tensor<'_, E> {
    /// Lends its memory on that device, after copying it there if it is not. The memory is not used
    /// for anything else while the result lives. It is only to be read: a tensor's values never
    /// change.
    ///
    /// What the program submits to wgpu's queue meanwhile finds the values, and may end later. On
    /// CUDA the values are there when this returns, and the program waits for its commands before
    /// it drops the result.
    ///
    /// # Errors
    ///
    /// As [`to`](Tensor::to).
    pub fn lend(&self, gpu: &Gpu) -> Result<Lent, DeviceError> {
        self.to(gpu)?;
        gpu.guarded(|| {
            let buffer = self.buffer(gpu)?;
            let memory = match &gpu.shared.copies {
                Copies::Wgpu(staging) => {
                    let (buffer, offset) = staging.place(&buffer)?;
                    DeviceMemory::Wgpu { buffer, offset }
                }
                Copies::Cuda(copies) => {
                    let pointer = copies.place(&buffer)?;
                    gpu.settle(gpu.patiently())?;
                    DeviceMemory::Cuda { pointer }
                }
            };
            Ok(Lent { memory, buffer })
        })
    }
}

impl<E: Element> Tensor<'static, E> {
    /// A tensor of the values from byte `offset` on of a buffer of the program's, which the device
    /// copies: after what was submitted to its queue before, and before what is submitted later.
    /// The buffer is one of this device: wgpu does not notice one of another `wgpu::Instance`.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Refused`] if the buffer ends before the shape does, cannot be copied from
    /// (`COPY_SRC`), or `offset` is no multiple of four; [`DeviceErrorKind::Unsupported`] on CUDA;
    /// [`DeviceErrorKind::Launch`] for a buffer of another device of the same instance.
    pub fn from_wgpu(
        gpu: &Gpu,
        buffer: &wgpu::Buffer,
        offset: u64,
        shape: &[usize],
    ) -> Result<Self, DeviceError> {
        let len = shape::product("the tensor", shape)?;
        let end = offset.saturating_add(4 * len as u64);
        let wrong = match buffer.size() {
            size if end > size => format!("ends at byte {size}; the shape needs {end}"),
            _ if !offset.is_multiple_of(4) => {
                format!("cannot be copied from byte {offset}; give a multiple of 4")
            }
            _ if !buffer.usage().contains(wgpu::BufferUsages::COPY_SRC) => {
                "cannot be copied from; create it with `BufferUsages::COPY_SRC`".to_owned()
            }
            _ => String::new(),
        };
        if !wrong.is_empty() {
            return Err(DeviceError::new(
                DeviceErrorKind::Refused,
                format!("the buffer {wrong}"),
            ));
        }
        let Copies::Wgpu(staging) = &gpu.shared.copies else {
            return Err(unsupported(format!("{} is not a device of wgpu", gpu.id())));
        };
        gpu.check_room(4 * len as u64)?;
        let copied = gpu.guarded(|| {
            let copied = gpu.empty(4 * len);
            if len > 0 {
                let (to, first) = staging.place(&copied)?;
                staging.copy((buffer, offset), (&to, first), 4 * len as u64);
            }
            Ok(copied)
        })?;
        Ok(Self::on_device(gpu, copied, shape))
    }

    /// A tensor of the values at a device pointer, which the device copies before this returns.
    ///
    /// # Safety
    ///
    /// At that address, in the device's primary context, there are as many elements, which nothing
    /// writes meanwhile.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Unsupported`] on a device that is not CUDA's; whatever the device reports.
    pub unsafe fn from_cuda(
        gpu: &Gpu,
        pointer: CUdeviceptr,
        shape: &[usize],
    ) -> Result<Self, DeviceError> {
        let len = shape::product("the tensor", shape)?;
        let Copies::Cuda(copies) = &gpu.shared.copies else {
            return Err(unsupported(format!("{} is not a device of CUDA", gpu.id())));
        };
        gpu.check_room(4 * len as u64)?;
        let copied = gpu.guarded(|| {
            let copied = gpu.empty(4 * len);
            if len > 0 {
                let place = copies.place(&copied)?;
                // Whatever used this memory before has to be done.
                gpu.settle(gpu.patiently())?;
                // SAFETY: the caller vouches for what is copied; the buffer has as many bytes.
                unsafe { copies.on_device(place, pointer, 4 * len) }?;
            }
            Ok(copied)
        })?;
        Ok(Self::on_device(gpu, copied, shape))
    }
}

fn unsupported(message: String) -> DeviceError {
    DeviceError::new(DeviceErrorKind::Unsupported, message)
}
