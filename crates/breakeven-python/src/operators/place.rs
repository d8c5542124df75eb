//! Where operators run: the CPU, and the GPUs of this machine, detected and opened on first use.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use breakeven::execute::{RayonCpu, StrategyManager};
#[cfg(feature = "gpu")]
use breakeven::gpu::Gpu;
use breakeven::hardware::HardwareCapabilities;
#[cfg(feature = "gpu")]
use breakeven::hardware::{GpuInfo, GpuKind};
use breakeven::plan::ExecutionStrategy;
use pyo3::prelude::*;

use crate::errors::{InvalidError, raised};
use crate::locked;

/// An executor of operators.
pub(super) enum Manager {
    /// The CPU alone.
    Cpu(StrategyManager<RayonCpu>),
    /// The CPU and GPUs.
    #[cfg(feature = "gpu")]
    Gpu(StrategyManager<RayonCpu, Gpu>),
}

/// This machine, detected once per process.
fn hardware(py: Python<'_>) -> &'static HardwareCapabilities {
    static FOUND: OnceLock<HardwareCapabilities> = OnceLock::new();
    py.detach(|| FOUND.get_or_init(HardwareCapabilities::detect))
}

/// The GPUs of this machine: name and kind (`discrete`, `integrated`, `software`, …).
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<(String, String)> {
    let gpus = hardware(py).gpus.iter();
    gpus.map(|gpu| (gpu.id.to_string(), gpu.kind.to_string()))
        .collect()
}

/// The executor of that strategy, on the CPU and the named GPU; without a name, all that are not
/// software.
pub(super) fn manager(
    py: Python<'_>,
    strategy: &str,
    device: Option<&str>,
) -> PyResult<Arc<Manager>> {
    type Made = HashMap<(ExecutionStrategy, Option<String>), Arc<Manager>>;
    static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);
    let strategy: ExecutionStrategy = strategy.parse().map_err(raised)?;
    let key = (strategy, device.map(str::to_owned));
    if let Some(manager) = locked(&MADE).get(&key) {
        return Ok(Arc::clone(manager));
    }
    let manager = match strategy {
        ExecutionStrategy::CpuOnly => on_cpu(strategy),
        _ => with_gpus(py, strategy, device)?,
    };
    // Another thread may have created it meanwhile: all share one.
    let mut made = locked(&MADE);
    Ok(Arc::clone(made.entry(key).or_insert(Arc::new(manager))))
}

fn on_cpu(strategy: ExecutionStrategy) -> Manager {
    let cpu = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
    Manager::Cpu(cpu.with_strategy(strategy))
}

#[cfg(not(feature = "gpu"))]
fn with_gpus(
    _: Python<'_>,
    strategy: ExecutionStrategy,
    device: Option<&str>,
) -> PyResult<Manager> {
    match (strategy, device) {
        (ExecutionStrategy::Auto, None) => Ok(on_cpu(strategy)),
        _ => Err(InvalidError::new_err(
            "this package was built without GPU kernels (--no-default-features); use the strategy \
             auto or cpu-only and no device",
        )),
    }
}

#[cfg(feature = "gpu")]
fn with_gpus(
    py: Python<'_>,
    strategy: ExecutionStrategy,
    device: Option<&str>,
) -> PyResult<Manager> {
    let gpus = &hardware(py).gpus;
    let wanted = |gpu: &&GpuInfo| match device {
        Some(device) => gpu.id.as_str() == device,
        None => gpu.preferred && gpu.kind != GpuKind::Software,
    };
    let mut manager = None;
    for gpu in gpus.iter().filter(wanted) {
        let opened = py.detach(|| Gpu::open(&gpu.id));
        let opened = Arc::new(opened.map_err(raised)?);
        let cpu = Arc::new(RayonCpu::current());
        manager = Some(match manager {
            None => StrategyManager::new(cpu, opened),
            Some(manager) => StrategyManager::with_gpu(manager, opened),
        });
    }
    match manager {
        // A named device is used even if it is software.
        Some(manager) => Ok(Manager::Gpu(match device {
            Some(_) => manager.allow_software_gpu().with_strategy(strategy),
            None => manager.with_strategy(strategy),
        })),
        None if device.is_none() && strategy == ExecutionStrategy::Auto => Ok(on_cpu(strategy)),
        None => {
            let ids: Vec<&str> = gpus.iter().map(|gpu| gpu.id.as_str()).collect();
            let what = device.map_or(
                "there is no GPU other than software GPUs".to_owned(),
                |device| format!("there is no device {device:?}"),
            );
            let message = match ids.is_empty() {
                true => format!("{what}: no GPU was found; use the strategy auto or cpu-only"),
                false => format!("{what}; name one by device=: {}", ids.join(", ")),
            };
            Err(InvalidError::new_err(message))
        }
    }
}
