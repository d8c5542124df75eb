//! The GPU path: one open device, memory on it, launches, and time taken by its
//! own clock. One CubeCL source runs on CUDA, Vulkan, Metal and DX12.
//!
//! Every call that touches a device returns a [`DeviceError`]; a panic in the
//! driver's library is caught, kept off the terminal and becomes one too.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use cubecl::client::ComputeClient;
use cubecl::cuda::CudaRuntime;
use cubecl::wgpu::WgpuRuntime;

use crate::error::{DeviceError, DeviceErrorKind};
use crate::hardware::{DeviceId, GpuInfo};
use crate::kernels::{Element, Kernel};

mod buffer;
mod executor;
mod faults;
mod open;
mod pending;
mod timing;
mod wait;

pub use buffer::{Buffer, Buffers};
pub use executor::{KernelExecutor, KernelsInFlight};
pub use pending::Pending;
pub use timing::KernelClock;

/// How long a device may take to answer before it counts as hung.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// An open GPU. Dropping it leaves the driver's context to the process.
pub struct Gpu {
    id: DeviceId,
    info: GpuInfo,
    client: Client,
    faults: faults::Faults,
    timeout: Duration,
    lanes: pending::Lanes,
}

/// The client of one of the runtimes; [`with_client!`] picks.
#[derive(Clone)]
pub(crate) enum Client {
    Wgpu(ComputeClient<WgpuRuntime>),
    Cuda(ComputeClient<CudaRuntime>),
}

/// Runs an expression with `$client: &ComputeClient<R>` for the device's runtime.
macro_rules! with_client {
    ($gpu:expr, $client:ident => $body:expr) => {
        match $gpu.client() {
            $crate::gpu::Client::Wgpu($client) => $body,
            $crate::gpu::Client::Cuda($client) => $body,
        }
    };
}
pub(crate) use with_client;

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gpu")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Gpu {
    /// Its id.
    pub fn id(&self) -> &DeviceId {
        &self.id
    }

    /// What detection says of it.
    pub fn info(&self) -> &GpuInfo {
        &self.info
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// How long a wait may last before it is a [`DeviceErrorKind::Timeout`].
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Shared memory that one cube may use, bytes.
    pub fn shared_memory_bytes(&self) -> usize {
        with_client!(self, client => client.properties().hardware.max_shared_memory_size)
    }

    /// The largest single buffer, bytes.
    pub fn max_buffer_bytes(&self) -> u64 {
        with_client!(self, client => client.properties().memory.max_page_size)
    }

    /// Fails where a grid has more cubes along a dimension than the device takes.
    pub(crate) fn check_grid(&self, what: &str, count: (u32, u32, u32)) -> Result<(), DeviceError> {
        let max = with_client!(self, client => client.properties().hardware.max_cube_count);
        if count.0 <= max.0 && count.1 <= max.1 && count.2 <= max.2 {
            return Ok(());
        }
        Err(DeviceError::new(
            DeviceErrorKind::NeverFits,
            format!(
                "{what} needs a grid of {count:?} cubes, {} takes {max:?}; split the batch",
                self.id
            ),
        ))
    }

    /// Fails where the buffers could not be allocated: CubeCL would find out on
    /// its own thread, too late for a clear error.
    fn check_fits(&self, sizes: &[u64]) -> Result<(), DeviceError> {
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let limit = self.max_buffer_bytes();
        if largest > limit {
            return Err(DeviceError::new(
                DeviceErrorKind::NeverFits,
                format!(
                    "a buffer of {largest} bytes, {} takes at most {limit} in one",
                    self.id
                ),
            ));
        }
        let total = sizes
            .iter()
            .fold(0_u64, |sum, size| sum.saturating_add(*size));
        match self.info.memory_bytes.get() {
            Some(memory) if total > memory => Err(DeviceError::new(
                DeviceErrorKind::NeverFits,
                format!("{total} bytes in all, {} has {memory}", self.id),
            )),
            _ => Ok(()),
        }
    }

    /// Copies a problem's inputs to the device and makes room for its output.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::NeverFits`] before anything is allocated; others where
    /// the device reports them.
    pub fn upload<E: Element>(
        &self,
        problem: &dyn Kernel<Element = E>,
    ) -> Result<Buffers<E>, DeviceError> {
        self.check_fits(&buffer_sizes(problem))?;
        self.guarded(|| Ok(self.send(problem)))
    }

    /// [`upload`](Gpu::upload) without the checks.
    fn send<E: Element>(&self, problem: &dyn Kernel<Element = E>) -> Buffers<E> {
        let inputs = problem.device_inputs();
        with_client!(self, client => Buffers {
            device: self.id.clone(),
            inputs: inputs
                .iter()
                .map(|input| Buffer::from_bytes(client, input))
                .collect(),
            output: Buffer::empty(client, output_bytes(problem)),
            element: PhantomData,
        })
    }

    /// Starts a problem on buffers that [`upload`](Gpu::upload) made for it.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Launch`] for buffers of another problem or device, and
    /// what the kernel knows before the device runs.
    pub fn launch<E: Element>(
        &self,
        problem: &dyn Kernel<Element = E>,
        buffers: &Buffers<E>,
    ) -> Result<(), DeviceError> {
        buffers.check(&self.id, problem)?;
        if problem.output_len() == 0 {
            return Ok(());
        }
        self.guarded(|| problem.launch(self, &buffers.inputs, &buffers.output))
    }

    /// Waits for all that was started and copies the output back.
    ///
    /// # Errors
    ///
    /// Whatever went wrong on the device since the last wait.
    pub fn download<E: Element>(&self, buffers: &Buffers<E>) -> Result<Vec<E>, DeviceError> {
        self.download_buffer(&buffers.output)
    }

    pub(crate) fn download_buffer<E: Element>(
        &self,
        buffer: &Buffer,
    ) -> Result<Vec<E>, DeviceError> {
        if buffer.bytes() == 0 {
            return Ok(Vec::new());
        }
        let handle = buffer.handle();
        let bytes = self.guarded(|| {
            with_client!(self, client => {
                // A read alone says nothing of a launch that failed before it.
                client.flush()?;
                self.wait(client.read_async(vec![handle]))
            })
        })?;
        elements(bytes.first().map_or(&[], |bytes| bytes), buffer.bytes())
    }

    /// Copies bytes into a new buffer on the device.
    pub(crate) fn upload_bytes(&self, bytes: &[u8]) -> Result<Buffer, DeviceError> {
        self.check_fits(&[bytes.len() as u64])?;
        self.guarded(|| Ok(with_client!(self, client => Buffer::from_bytes(client, bytes))))
    }

    /// Waits until all that was started is done.
    ///
    /// # Errors
    ///
    /// Whatever went wrong on the device since the last wait.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.guarded(|| with_client!(self, client => self.wait(client.sync())))
    }

    /// Uploads, runs and downloads: the whole way of a batch.
    ///
    /// # Errors
    ///
    /// Whatever any of the steps reports.
    pub fn solve<E: Element>(
        &self,
        problem: &dyn Kernel<Element = E>,
    ) -> Result<Vec<E>, DeviceError> {
        let buffers = self.upload(problem)?;
        self.launch(problem, &buffers)?;
        self.download(&buffers)
    }

    /// Gives memory that CubeCL keeps for reuse back to the device.
    pub fn release_memory(&self) {
        let _ = self.guarded(|| {
            with_client!(self, client => client.memory_cleanup());
            Ok(())
        });
    }

    /// Runs device calls: what the device reported meanwhile, or a panic in its
    /// library, becomes an error.
    fn guarded<T>(&self, calls: impl FnOnce() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
        self.faults.check()?;
        let outcome = faults::quietly(|| catch_unwind(AssertUnwindSafe(calls)));
        // The device's own word goes before what it led to.
        self.faults.check()?;
        outcome.unwrap_or_else(|panic| Err(faults::from_panic(&*panic)))
    }
}

/// Bytes of a problem's output on a device.
fn output_bytes<E: Element>(problem: &dyn Kernel<Element = E>) -> usize {
    std::mem::size_of::<E>() * problem.output_len()
}

/// Bytes of each buffer that a problem takes on a device, the output's last.
fn buffer_sizes<E: Element>(problem: &dyn Kernel<Element = E>) -> Vec<u64> {
    let inputs = problem.device_inputs();
    let mut sizes: Vec<u64> = inputs.iter().map(|input| input.len() as u64).collect();
    sizes.push(output_bytes(problem) as u64);
    sizes
}

/// What a device returned of a buffer of `size` bytes, as elements.
fn elements<E: Element>(bytes: &[u8], size: usize) -> Result<Vec<E>, DeviceError> {
    if bytes.len() != size {
        return Err(DeviceError::new(
            DeviceErrorKind::Other,
            format!("the device returned {} bytes of {size}", bytes.len()),
        ));
    }
    Ok(bytemuck::pod_collect_to_vec(bytes))
}

/// A grid of one-dimensional cubes over `elements`; wide problems spread over
/// the second dimension, where the device's limit of 65 535 allows 4·10^9 cubes.
pub(crate) fn grid(elements: usize, units: u32) -> cubecl::CubeCount {
    let cubes = elements.div_ceil(units as usize).max(1);
    let rows = cubes.div_ceil(65_535);
    let row = cubes.div_ceil(rows);
    cubecl::CubeCount::Static(saturating(row), saturating(rows), 1)
}

fn saturating(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A size that a kernel counts in 32 bits.
pub(crate) fn as_u32(what: &str, size: usize) -> Result<u32, DeviceError> {
    u32::try_from(size).map_err(|_| {
        DeviceError::new(
            DeviceErrorKind::NeverFits,
            format!(
                "{what} of {size}: the kernel counts to {}; split the batch",
                u32::MAX
            ),
        )
    })
}
