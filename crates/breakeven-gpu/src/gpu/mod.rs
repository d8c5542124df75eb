//! The GPU path: one open device, memory on it, operators started on it, and time
//! taken by its own clock. One CubeCL source runs on CUDA, Vulkan, Metal and DX12.
//!
//! Every call that touches a device returns a [`DeviceError`]; a panic in the
//! driver's library is caught, kept off the terminal and becomes one too.

use std::collections::HashMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cubecl::client::ComputeClient;
use cubecl::cuda::CudaRuntime;
use cubecl::prelude::*;
use cubecl::wgpu::WgpuRuntime;

use crate::device::gpu_spec;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::hardware::{DeviceId, GpuInfo};
use crate::locked;
use crate::plan::GpuSpec;
use crate::tensor::Element;
use crate::tune::{Configuration, Tuned};

mod adopt;
mod buffer;
mod cuda;
mod executor;
mod faults;
mod flight;
mod form;
mod memory;
mod open;
mod properties;
mod ring;
mod run;
mod staging;
mod timing;
mod transfer;
mod tuning;
mod wait;
mod wgsl;

pub use adopt::{DeviceMemory, Lent};
pub use buffer::Buffer;
/// The library that kernels are written in, in the version that this crate uses.
pub use cubecl;
pub(crate) use cuda::PageLockedWords;
/// CUDA's driver, in the version that this crate uses.
pub use cudarc;
pub use executor::OperatorExecutor;
pub use flight::Flight;
pub use form::{DeviceForm, Launch, Output};
pub use memory::{Memory, MemoryStats};
pub use properties::Properties;
pub use run::Call;
pub use timing::KernelClock;
/// The library of Vulkan, Metal and DX12, in the version that this crate uses.
pub use wgpu;
pub use wgsl::WgslOperator;

/// How long a device may take to answer before it counts as hung.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// An open GPU; a clone is the same one. Dropping it leaves the driver's context to
/// the process.
#[derive(Clone)]
pub struct Gpu {
    shared: Arc<Shared>,
    timeout: Duration,
}

struct Shared {
    id: DeviceId,
    info: GpuInfo,
    spec: GpuSpec,
    client: Client,
    copies: transfer::Copies,
    faults: faults::Faults,
    lanes: flight::Lanes,
    ledger: Arc<memory::Ledger>,
    tuned: Mutex<Tuned>,
    /// What was set for kernels, by their names.
    configurations: Mutex<HashMap<String, Configuration>>,
    /// When a call ended last.
    answered: Mutex<Option<Instant>>,
    uploaded: AtomicU64,
    downloaded: AtomicU64,
}

/// The client of one of CubeCL's runtimes; [`with_client!`](crate::with_client) picks.
#[derive(Clone)]
pub enum Client {
    /// Vulkan, Metal or DX12.
    Wgpu(ComputeClient<WgpuRuntime>),
    /// CUDA.
    Cuda(ComputeClient<CudaRuntime>),
}

/// Runs an expression with `$client: &ComputeClient<R>` for a [`Gpu`](crate::gpu::Gpu)'s
/// runtime `R`: the way to launch a CubeCL kernel of one's own.
#[macro_export]
macro_rules! with_client {
    ($gpu:expr, $client:ident => $body:expr) => {
        match $gpu.client() {
            $crate::gpu::Client::Wgpu($client) => $body,
            $crate::gpu::Client::Cuda($client) => $body,
        }
    };
}
pub use crate::with_client;

/// What was copied between the host and a device since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfers {
    /// Host to device.
    pub uploaded_bytes: u64,
    /// Device to host.
    pub downloaded_bytes: u64,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gpu")
            .field("id", self.id())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Wgpu(_) => "Wgpu",
            Self::Cuda(_) => "Cuda",
        })
    }
}

impl Gpu {
    /// Opens the device of that id.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Unavailable`] if there is no such device or its driver does not open one.
    pub fn open(id: &DeviceId) -> Result<Self, DeviceError> {
        let faults = faults::Faults::default();
        let (client, copies, info) = caught(|| open::client(id, &faults))?;
        Ok(Self::of(client, copies, info, faults))
    }

    fn of(client: Client, copies: transfer::Copies, info: GpuInfo, faults: faults::Faults) -> Self {
        let shared = Shared {
            id: info.id.clone(),
            spec: gpu_spec(&info, None),
            info,
            client,
            copies,
            faults,
            lanes: flight::Lanes::default(),
            ledger: Arc::default(),
            tuned: Mutex::new(Tuned::open_default()),
            configurations: Mutex::default(),
            answered: Mutex::default(),
            uploaded: AtomicU64::new(0),
            downloaded: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Its id.
    pub fn id(&self) -> &DeviceId {
        &self.shared.id
    }

    /// What detection says of it.
    pub fn info(&self) -> &GpuInfo {
        &self.shared.info
    }

    /// CubeCL's client, for [`with_client!`](crate::with_client).
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Returns true if both are the same opening of the device, and share its memory.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// How long a wait by way of this clone may last before it is a
    /// [`DeviceErrorKind::Timeout`]. While other calls end on the device, it begins anew.
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

    /// At multiples of how many bytes a kernel's argument may begin in a buffer.
    pub(crate) fn alignment(&self) -> u64 {
        with_client!(self, client => client.properties().memory.alignment)
    }

    /// Returns true if it has tensor cores that multiply half precision into f32, which the kernel
    /// `tensor_core_matmul` needs.
    pub fn has_tensor_cores(&self) -> bool {
        let half = half::f16::as_type_native_unchecked().storage_type();
        let single = f32::as_type_native_unchecked().storage_type();
        with_client!(self, client => {
            let cores = client.properties().features.matmul.cmma.iter();
            let mut types = cores.map(|core| [core.a_type, core.b_type, core.cd_type]);
            types.any(|types| types == [half, half, single])
        })
    }

    /// What was copied to and from the device since it was opened.
    pub fn transfers(&self) -> Transfers {
        Transfers {
            uploaded_bytes: self.shared.uploaded.load(Ordering::Relaxed),
            downloaded_bytes: self.shared.downloaded.load(Ordering::Relaxed),
        }
    }

    /// Fails if a grid has more cubes along a dimension than the device allows.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::NeverFits`].
    pub fn check_grid(&self, what: &str, count: (u32, u32, u32)) -> Result<(), DeviceError> {
        let max = with_client!(self, client => client.properties().hardware.max_cube_count);
        if count.0 <= max.0 && count.1 <= max.1 && count.2 <= max.2 {
            return Ok(());
        }
        Err(never_fits(format!(
            "{what} needs a grid of {count:?} cubes, {} takes {max:?}; split the batch",
            self.id()
        )))
    }

    /// Fails if the buffers could not be allocated: CubeCL would find out on its own thread, too
    /// late for a clear error.
    fn check_fits(&self, sizes: &[u64]) -> Result<(), DeviceError> {
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let limit = self.max_buffer_bytes();
        if largest > limit {
            let id = self.id();
            let message = format!("a buffer of {largest} bytes, {id} takes at most {limit} in one");
            return Err(never_fits(message));
        }
        let total = sizes.iter().copied().fold(0, u64::saturating_add);
        match self.info().memory_bytes.get() {
            Some(memory) if total > memory => {
                let id = self.id();
                Err(never_fits(format!(
                    "{total} bytes in all, {id} has {memory}"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Fails if there is no room for a buffer of so many bytes.
    fn check_room(&self, bytes: u64) -> Result<(), DeviceError> {
        self.check_fits(&[bytes])?;
        self.check_limit(bytes)
    }

    /// Copies bytes into a new buffer on the device, and waits until they are there.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::NeverFits`] before anything is allocated; errors that the device reports.
    pub fn upload(&self, bytes: &[u8]) -> Result<Buffer, DeviceError> {
        self.check_room(bytes.len() as u64)?;
        self.guarded(|| {
            let buffer = self.send(bytes)?;
            self.settle(self.patiently())?;
            Ok(buffer)
        })
    }

    /// Waits for all that was started and copies a buffer to the host.
    pub(crate) fn download<E: Element>(&self, buffer: &Buffer) -> Result<Vec<E>, DeviceError> {
        if buffer.bytes() == 0 {
            return Ok(Vec::new());
        }
        let found = self.guarded(|| self.bring(&[buffer], self.patiently()));
        Ok(found?.0.swap_remove(0))
    }

    /// A copy of `len` elements of a buffer, made by the device.
    pub(crate) fn copy(&self, from: &Buffer, first: u32, len: usize) -> Buffer {
        let to = self.empty(4 * len);
        with_client!(self, client => {
            copy::launch(client, grid(len, 256), CubeDim::new_1d(256), from.array(), to.array(), first);
        });
        to
    }

    /// Waits until all that was started is done.
    ///
    /// # Errors
    ///
    /// Whatever went wrong on the device since the last wait.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.guarded(|| self.settle(self.patiently()))
    }

    /// Runs device calls: what the device reported meanwhile, or a panic in its
    /// library, becomes an error.
    fn guarded<T>(&self, calls: impl FnOnce() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
        self.shared.faults.check()?;
        let outcome = caught(calls);
        // The device's own word goes before what it led to.
        self.shared.faults.check()?;
        outcome
    }

    /// Waits for what the device does, for as long as its timeout is.
    fn wait<T, E: faults::Failure>(
        &self,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T, DeviceError> {
        wait::until_ready(future, self.patiently())
    }

    /// Patience for a wait that begins now.
    fn patiently(&self) -> impl FnMut() -> Result<Duration, DeviceError> {
        let start = Instant::now();
        move || {
            // A lost device sends no wake-up.
            self.shared.faults.pending()?;
            self.patience(start)
        }
    }

    /// For how long to sleep before looking again at what was started then. What the device
    /// did before it does not count.
    fn patience(&self, start: Instant) -> Result<Duration, DeviceError> {
        let since = locked(&self.shared.answered).map_or(start, |answered| answered.max(start));
        let left = self.timeout.saturating_sub(since.elapsed());
        if !left.is_zero() {
            return Ok(left.min(wait::LOOK));
        }
        Err(DeviceError::new(
            DeviceErrorKind::Timeout,
            format!("{} did not answer within {:?}", self.id(), self.timeout),
        ))
    }
}

/// Runs device calls; a panic in the driver's library becomes an error.
fn caught<T>(calls: impl FnOnce() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
    faults::quietly(|| catch_unwind(AssertUnwindSafe(calls)))
        .unwrap_or_else(|panic| Err(faults::from_panic(&*panic)))
}

#[cube(launch)]
fn copy(from: &Array<u32>, to: &mut Array<u32>, first: u32) {
    if ABSOLUTE_POS < to.len() {
        to[ABSOLUTE_POS] = from[ABSOLUTE_POS + first as usize];
    }
}

/// Returns a grid of one-dimensional cubes over `elements`; large problems use the second
/// dimension, for which the device's limit of 65 535 allows 4·10^9 cubes.
pub fn grid(elements: usize, units: u32) -> CubeCount {
    let cubes = elements.div_ceil(units as usize).max(1);
    let rows = cubes.div_ceil(65_535);
    let count = [cubes.div_ceil(rows), rows].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    CubeCount::Static(count[0], count[1], 1)
}

/// A size that a kernel counts in 32 bits.
///
/// # Errors
///
/// [`DeviceErrorKind::NeverFits`].
pub fn as_u32(what: &str, size: usize) -> Result<u32, DeviceError> {
    u32::try_from(size).map_err(|_| {
        let most = u32::MAX;
        never_fits(format!(
            "{what} of {size}: the kernel counts to {most}; split the batch"
        ))
    })
}

fn never_fits(message: String) -> DeviceError {
    DeviceError::new(DeviceErrorKind::NeverFits, message)
}
