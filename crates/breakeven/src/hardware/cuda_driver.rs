//! Calls into CUDA's driver library, each looked up by name in what was opened.
//! Signatures and numbers are those of CUDA's `cuda.h`.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt;
use std::mem::ManuallyDrop;

use libloading::Library;

use super::gpu::{AbsentBackend, GpuInfo, GpuKind};
use super::identify::pci_address;
use super::probe::{self, LoadError};
use super::{Backend, Fact, nvml};

/// What is called here, and what CubeCL 0.10's CUDA runtime and our copies call through cudarc.
pub(super) const SYMBOLS: &str = "\
    cuInit cuDriverGetVersion cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceGetAttribute \
    cuDeviceGetPCIBusId cuDeviceTotalMem_v2 cuDevicePrimaryCtxRetain cuCtxSetCurrent \
    cuGetErrorName cuGetErrorString cuModuleLoadData cuModuleGetFunction cuFuncSetAttribute \
    cuLaunchKernel cuMemAlloc_v2 cuMemAllocAsync cuMemAllocHost_v2 cuMemFree_v2 cuMemFreeAsync \
    cuMemFreeHost cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuStreamCreate cuStreamSynchronize cuStreamWaitEvent \
    cuEventCreate cuEventRecord cuEventSynchronize cuEventDestroy_v2";

/// The opened library, which has every one of [`SYMBOLS`].
pub(super) struct Driver {
    name: String,
    /// Never unloaded: once initialised, it may have threads running.
    library: ManuallyDrop<Library>,
}

/// `CUresult`; 0 is success.
type Status = c_int;

impl Driver {
    /// Opens the library that cudarc will open: the first of its names that loads.
    pub(super) fn open() -> Result<Self, LoadError> {
        let names = ["cuda", "nvcuda"].into_iter();
        let names = names.flat_map(cudarc::get_lib_name_candidates);
        let (name, library) = probe::load(names, SYMBOLS)?;
        Ok(Driver {
            name,
            library: ManuallyDrop::new(library),
        })
    }

    /// The address of a function.
    ///
    /// # Safety
    ///
    /// `F` has to be the type of the C function of that name.
    unsafe fn function<F: Copy>(&self, name: &str) -> Result<F, AbsentBackend> {
        // SAFETY: the caller vouches for the type.
        match unsafe { self.library.get::<F>(name.as_bytes()) } {
            Ok(function) => Ok(*function),
            Err(error) => Err(self.failed(name, &error.to_string())),
        }
    }

    fn failed(&self, call: &str, why: &str) -> AbsentBackend {
        let remedy = "check with `nvidia-smi` that NVIDIA's driver works";
        unusable(format!("{call} of {} failed: {why}", self.name), remedy)
    }

    /// Initialises CUDA; the version of CUDA that the driver understands.
    pub(super) fn init(&self) -> Result<Version, AbsentBackend> {
        // SAFETY: `CUresult cuInit(unsigned int)`, in cuda.h.
        let init =
            unsafe { self.function::<unsafe extern "system" fn(c_uint) -> Status>("cuInit") }?;
        // SAFETY: may be called at any time; the flags have to be 0.
        match unsafe { init(0) } {
            0 => {}
            status => return Err(init_failed(&self.name, status)),
        }
        type GetVersion = unsafe extern "system" fn(*mut c_int) -> Status;
        // SAFETY: `CUresult cuDriverGetVersion(int *)`, in cuda.h.
        let get = unsafe { self.function::<GetVersion>("cuDriverGetVersion") }?;
        let mut version = 0;
        // SAFETY: the pointer is to a local of the type that is written.
        match unsafe { get(&raw mut version) } {
            0 => Ok(Version::from_number(version)),
            status => Err(self.failed("cuDriverGetVersion", &format!("error {status}"))),
        }
    }

    /// The devices, each with its ordinal; an error when there is none.
    pub(super) fn devices(&self, version: Version) -> Result<Vec<(GpuInfo, usize)>, AbsentBackend> {
        type GetCount = unsafe extern "system" fn(*mut c_int) -> Status;
        // SAFETY: `CUresult cuDeviceGetCount(int *)`, in cuda.h.
        let get = unsafe { self.function::<GetCount>("cuDeviceGetCount") }?;
        let mut count = 0;
        // SAFETY: the pointer is to a local of the type that is written.
        let status = unsafe { get(&raw mut count) };
        if status != 0 {
            return Err(self.failed("cuDeviceGetCount", &format!("error {status}")));
        }
        let driver = match nvml::driver_version() {
            Fact::Known(release) => format!("NVIDIA {release}, CUDA {version}"),
            Fact::Unknown => format!("CUDA {version}"),
        };
        let devices = (0..count).zip(0..);
        let devices = devices.map(|(ordinal, at)| Ok((self.device(ordinal, &driver)?, at)));
        let devices = devices.collect::<Result<Vec<_>, _>>()?;
        if devices.is_empty() {
            // CUDA_VISIBLE_DEVICES can hide every one of them.
            return Err(init_failed(&self.name, NO_DEVICE));
        }
        Ok(devices)
    }

    fn device(&self, ordinal: c_int, driver: &str) -> Result<GpuInfo, AbsentBackend> {
        type Get = unsafe extern "system" fn(*mut c_int, c_int) -> Status;
        type GetText = unsafe extern "system" fn(*mut c_char, c_int, c_int) -> Status;
        type GetBytes = unsafe extern "system" fn(*mut usize, c_int) -> Status;
        type GetAttribute = unsafe extern "system" fn(*mut c_int, c_int, c_int) -> Status;
        // SAFETY: `CUresult cuDeviceGet(CUdevice *, int)`, CUdevice being an int.
        let get = unsafe { self.function::<Get>("cuDeviceGet") }?;
        // SAFETY: `CUresult cuDeviceGetName(char *, int length, CUdevice)`.
        let get_name = unsafe { self.function::<GetText>("cuDeviceGetName") }?;
        // SAFETY: `CUresult cuDeviceGetPCIBusId(char *, int length, CUdevice)`.
        let get_pci = unsafe { self.function::<GetText>("cuDeviceGetPCIBusId") }?;
        // SAFETY: `CUresult cuDeviceTotalMem_v2(size_t *, CUdevice)`.
        let get_memory = unsafe { self.function::<GetBytes>("cuDeviceTotalMem_v2") }?;
        // SAFETY: `CUresult cuDeviceGetAttribute(int *, CUdevice_attribute, CUdevice)`.
        let get_attribute = unsafe { self.function::<GetAttribute>("cuDeviceGetAttribute") }?;
        let mut device = 0;
        // SAFETY: the pointer is to a local of the type that is written.
        let status = unsafe { get(&raw mut device, ordinal) };
        if status != 0 {
            return Err(self.failed("cuDeviceGet", &format!("error {status} for {ordinal}")));
        }
        let text = |get: GetText| {
            let mut buffer = [0_u8; 256];
            // SAFETY: the buffer is as long as is said, and the call ends what it
            // writes with a zero byte within it.
            let status = unsafe { get(buffer.as_mut_ptr().cast(), 256, device) };
            let text = CStr::from_bytes_until_nul(&buffer).ok()?;
            (status == 0).then(|| text.to_string_lossy().trim().to_owned())
        };
        let attribute = |which: c_int| {
            let mut value = 0;
            // SAFETY: the pointer is to a local of the type that is written.
            let status = unsafe { get_attribute(&raw mut value, which, device) };
            (status == 0).then_some(value)
        };
        let mut bytes = 0_usize;
        // SAFETY: the pointer is to a local of the type that is written.
        let status = unsafe { get_memory(&raw mut bytes, device) };
        let memory = (status == 0).then(|| u64::try_from(bytes).ok()).flatten();
        // CU_DEVICE_ATTRIBUTE_{INTEGRATED, COMPUTE_CAPABILITY_MAJOR, …_MINOR}.
        let (integrated, major, minor) = (attribute(18), attribute(75), attribute(76));
        let kind = match integrated {
            Some(0) => GpuKind::Discrete,
            Some(_) => GpuKind::Integrated,
            None => GpuKind::Other,
        };
        let capability = major.zip(minor);
        Ok(GpuInfo {
            memory_bytes: memory.into(),
            driver: Fact::Known(driver.to_owned()),
            pci: text(get_pci).map_or(Fact::Unknown, |pci| pci_address(&pci)),
            architecture: capability
                .map(|(major, minor)| format!("sm_{major}{minor}"))
                .into(),
            ..GpuInfo::named(Backend::Cuda, text(get_name).unwrap_or_default(), kind)
        })
    }
}

/// Why CUDA is not used, and what to do.
pub(super) fn unusable(reason: String, remedy: impl Into<String>) -> AbsentBackend {
    AbsentBackend::new(Backend::Cuda, reason, remedy)
}

/// A version of CUDA, which numbers itself 1000 × major + 10 × minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) major: c_int,
    pub(super) minor: c_int,
}

impl Version {
    fn from_number(number: c_int) -> Self {
        Version {
            major: number / 1000,
            minor: number % 1000 / 10,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: Status = 100;

/// The statuses with which `cuInit` refuses, from cuda.h's `CUresult`.
fn init_failed(library: &str, status: Status) -> AbsentBackend {
    let (reason, remedy) = match status {
        34 => (
            "it is the stub that the CUDA toolkit has for linking, not the driver",
            "take the toolkit's `stubs` directory off the library path, and install NVIDIA's driver",
        ),
        NO_DEVICE => (
            "it sees no CUDA device",
            "check with `nvidia-smi` that there is one, and that CUDA_VISIBLE_DEVICES does not hide it",
        ),
        802 => (
            "the system is not ready",
            "start the fabric manager (`nvidia-fabricmanager`) and wait until it is up",
        ),
        803 => (
            "the driver's library and its kernel module are of different versions",
            "restart the machine, or reinstall NVIDIA's driver",
        ),
        804 => (
            "the compatibility library does not support this GPU",
            "take CUDA's `compat` directory off the library path, or update NVIDIA's driver",
        ),
        _ => (
            "see `CUresult` in CUDA's documentation",
            "check with `nvidia-smi` that NVIDIA's driver works",
        ),
    };
    unusable(
        format!("cuInit of {library} returned {status}: {reason}"),
        remedy,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_as_cuda_numbers_them() {
        let version = Version::from_number(12080);
        assert_eq!(version.to_string(), "12.8");
        assert!(version < Version::from_number(13000));
        assert_eq!(Version::from_number(11040).to_string(), "11.4");
    }

    #[test]
    fn a_refusal_names_the_library_the_status_and_a_remedy() {
        for status in [34, 100, 802, 803, 804, 999] {
            let refusal = init_failed("libcuda.so.1", status);
            let start = format!("cuInit of libcuda.so.1 returned {status}: ");
            assert!(refusal.reason.starts_with(&start), "{refusal:?}");
            assert!(!refusal.remedy.is_empty());
        }
    }
}
