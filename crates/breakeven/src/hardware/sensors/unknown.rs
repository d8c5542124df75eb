//! Why joules are not known.

use std::path::PathBuf;

use thiserror::Error;

/// Why energy is not known, and what would make it so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EnergyUnknown {
    /// The machine has no counter that the system shows.
    #[error(
        "no energy counter of the processor: neither /sys/class/powercap/intel-rapl:* nor amd_energy \
         is there (load the module intel_rapl_msr; virtual machines have none)"
    )]
    NoCounter,
    /// Only the administrator may read it.
    #[error(
        "{path}: permission denied; allow it with `sudo chmod a+r {path}` (until the next start)",
        path = path.display()
    )]
    Permission {
        /// The file.
        path: PathBuf,
    },
    /// The counter cannot be read.
    #[error("{path}: {why}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The counter may have gone round more than once between two readings.
    #[error("{path}: was not read for so long that it may have gone round twice", path = path.display())]
    Rounds {
        /// The file.
        path: PathBuf,
    },
    /// No driver here tells of the GPU.
    #[error("nothing counts it here (NVML does for NVIDIA's GPUs, sysfs for AMD's and Intel's)")]
    NoDriver,
    /// The GPU's driver tells neither energy nor power.
    #[error("the driver of the GPU at {pci} tells neither its energy nor its power")]
    Untold {
        /// Its address.
        pci: String,
    },
    /// The GPU's driver stopped to answer.
    #[error("the driver of the GPU at {pci} does not answer")]
    Silent {
        /// Its address.
        pci: String,
    },
}
