//! Lists the GPUs of CUDA's driver API, without cudarc, and what prevents their use: the driver,
//! NVRTC, which compiles the kernels, and CUDA's headers, which they include.
//!
//! cudarc panics when the library or one of its symbols is missing, so the same
//! library (by cudarc's own list of names, in its order) is opened here first,
//! and everything that CubeCL will call is looked up before anything calls it. Signatures and
//! numbers are those of CUDA's `cuda.h`; statuses are integers here, as a later driver may
//! return one that no list of today has.

use std::env;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::GpuKind;
use crate::gpu::{AbsentBackend, GpuInfo, pci_address};
use crate::probe::{self, LoadError};
use crate::{Backend, Fact, nvml};

pub(crate) fn expected() -> bool {
    cfg!(any(target_os = "linux", windows))
}

/// Adds to the remedy whether Vulkan has the cards in the meantime.
pub(crate) fn advise(
    mut missing: AbsentBackend,
    cards: &[GpuInfo],
    elsewhere: &[GpuInfo],
) -> AbsentBackend {
    let is_seen = |card: &&GpuInfo| {
        let mut others = elsewhere.iter();
        others.any(|other| other.pci.is_known() && other.pci == card.pci)
    };
    let (seen, unseen): (Vec<_>, Vec<_>) = cards.iter().partition(is_seen);
    if let Some(card) = seen.first() {
        let used = format!("; until then another backend is used for {}", card.name);
        missing.remedy.push_str(&used);
    }
    if let Some(card) = unseen.first() {
        missing.remedy.push_str(&format!(
            "; no other backend sees {} (in an NVIDIA container, \
             NVIDIA_DRIVER_CAPABILITIES=all makes its Vulkan driver visible)",
            card.name
        ));
    }
    missing
}

/// The devices in the order of their ordinals, and what keeps them from being used.
pub(crate) fn list() -> (Vec<GpuInfo>, Option<AbsentBackend>) {
    let driver = Driver::open().map_err(|error| {
        let remedy = "with an NVIDIA GPU, install NVIDIA's driver (in a container, run it with \
                      the NVIDIA container toolkit)";
        let error = shortened(&error, ".so.1");
        unusable(format!("no CUDA driver: {error}"), remedy)
    });
    let listed = driver.and_then(|driver| {
        let version = driver.init()?;
        Ok((driver.devices(version)?, missing(version)))
    });
    listed.unwrap_or_else(|missing| (Vec::new(), Some(missing)))
}

/// What is called here, and what CubeCL 0.10's CUDA runtime and our copies call through cudarc.
pub(crate) const SYMBOLS: &str = "\
    cuInit cuDriverGetVersion cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceGetAttribute \
    cuDeviceGetPCIBusId cuDeviceTotalMem_v2 cuDevicePrimaryCtxRetain cuCtxSetCurrent \
    cuGetErrorName cuGetErrorString cuModuleLoadData cuModuleGetFunction cuFuncSetAttribute \
    cuLaunchKernel cuMemAlloc_v2 cuMemAllocAsync cuMemAllocHost_v2 cuMemFree_v2 cuMemFreeAsync \
    cuMemFreeHost cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuStreamCreate cuStreamSynchronize cuStreamWaitEvent \
    cuEventCreate cuEventRecord cuEventSynchronize cuEventDestroy_v2";

/// The opened library, which has every one of [`SYMBOLS`].
struct Driver {
    name: String,
    /// Never unloaded: once initialised, it may have threads running.
    library: ManuallyDrop<Library>,
}

/// `CUresult`; 0 is success.
type Status = c_int;

/// Calls a function of CUDA's by its name and the types of its parameters: its status, or why
/// it is not there.
macro_rules! call {
    ($library:expr, $name:ident($($argument:expr => $type:ty),*)) => {{
        type Function = unsafe extern "system" fn($($type),*) -> Status;
        // SAFETY: the types at the call are those of cuda.h and nvrtc.h; results are enums of
        // the size of an int.
        let function = unsafe { $library.get::<Function>(stringify!($name)) };
        // SAFETY: no argument is more than a number or a pointer to a local of the type that
        // is written, as long as the call says.
        function.map(|function| unsafe { function($($argument),*) })
    }};
}

impl Driver {
    /// Opens the library that cudarc will open: the first of its names that loads.
    fn open() -> Result<Self, LoadError> {
        let names = ["cuda", "nvcuda"].into_iter();
        let names = names.flat_map(cudarc::get_lib_name_candidates);
        let (name, library) = probe::load(names, SYMBOLS)?;
        let library = ManuallyDrop::new(library);
        Ok(Driver { name, library })
    }

    /// Converts a return code other than 0 to an error.
    fn checked(
        &self,
        call: &str,
        status: Result<Status, libloading::Error>,
    ) -> Result<(), AbsentBackend> {
        let why = match status {
            Ok(0) => return Ok(()),
            Ok(status) => format!("error {status}"),
            Err(error) => error.to_string(),
        };
        let remedy = "check with `nvidia-smi` that NVIDIA's driver works";
        let reason = format!("{call} of {} failed: {why}", self.name);
        Err(unusable(reason, remedy))
    }

    /// Initialises CUDA; the version of CUDA that the driver understands.
    fn init(&self) -> Result<Version, AbsentBackend> {
        // May be called at any time; the flags have to be 0.
        match call!(self.library, cuInit(0 => c_uint)) {
            Ok(status) if status != 0 => return Err(init_failed(&self.name, status)),
            status => self.checked("cuInit", status)?,
        }
        let mut version = 0;
        let status = call!(self.library, cuDriverGetVersion(&raw mut version => *mut c_int));
        self.checked("cuDriverGetVersion", status)?;
        Ok(Version(version))
    }

    /// The devices in the order of their ordinals; an error when there is none.
    fn devices(&self, version: Version) -> Result<Vec<GpuInfo>, AbsentBackend> {
        let mut count = 0;
        let status = call!(self.library, cuDeviceGetCount(&raw mut count => *mut c_int));
        self.checked("cuDeviceGetCount", status)?;
        let driver = match nvml::driver_version() {
            Fact::Known(release) => format!("NVIDIA {release}, CUDA {version}"),
            Fact::Unknown => format!("CUDA {version}"),
        };
        let devices = (0..count).map(|ordinal| self.device(ordinal, &driver));
        let devices = devices.collect::<Result<Vec<_>, _>>()?;
        if devices.is_empty() {
            // CUDA_VISIBLE_DEVICES can hide every one of them.
            return Err(init_failed(&self.name, NO_DEVICE));
        }
        Ok(devices)
    }

    fn device(&self, ordinal: c_int, driver: &str) -> Result<GpuInfo, AbsentBackend> {
        let library = &self.library;
        let mut device = 0;
        let status = call!(library, cuDeviceGet(&raw mut device => *mut c_int, ordinal => c_int));
        self.checked("cuDeviceGet", status)?;
        let (mut name, mut pci) = ([0_u8; 256], [0_u8; 256]);
        let named = call!(library, cuDeviceGetName(
            name.as_mut_ptr().cast() => *mut c_char, 256 => c_int, device => c_int
        ));
        let located = call!(library, cuDeviceGetPCIBusId(
            pci.as_mut_ptr().cast() => *mut c_char, 256 => c_int, device => c_int
        ));
        let text = |buffer: &[u8], status| {
            let text = CStr::from_bytes_until_nul(buffer).ok()?;
            matches!(status, Ok(0)).then(|| text.to_string_lossy().trim().to_owned())
        };
        let mut bytes = 0_usize;
        let sized = call!(
            library,
            cuDeviceTotalMem_v2(&raw mut bytes => *mut usize, device => c_int)
        );
        let attribute = |which: c_int| {
            let mut value = 0;
            let status = call!(library, cuDeviceGetAttribute(
                &raw mut value => *mut c_int, which => c_int, device => c_int
            ));
            matches!(status, Ok(0)).then_some(value)
        };
        // CU_DEVICE_ATTRIBUTE_{INTEGRATED, COMPUTE_CAPABILITY_MAJOR, …_MINOR}.
        let (integrated, major, minor) = (attribute(18), attribute(75), attribute(76));
        let kind = match integrated {
            Some(0) => GpuKind::Discrete,
            Some(_) => GpuKind::Integrated,
            None => GpuKind::Other,
        };
        let capability = major.zip(minor);
        Ok(GpuInfo {
            memory_bytes: Some(bytes as u64).filter(|_| matches!(sized, Ok(0))).into(),
            driver: Fact::Known(driver.to_owned()),
            pci: text(&pci, located).map_or(Fact::Unknown, |pci| pci_address(&pci)),
            architecture: capability
                .map(|(major, minor)| format!("sm_{major}{minor}"))
                .into(),
            ..GpuInfo::named(Backend::Cuda, text(&name, named).unwrap_or_default(), kind)
        })
    }
}

/// Why CUDA is not used, and what to do.
fn unusable(reason: String, remedy: impl Into<String>) -> AbsentBackend {
    AbsentBackend::new(Backend::Cuda, reason, remedy)
}

/// A version of CUDA, which numbers itself 1000 × major + 10 × minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(c_int);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
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

/// What CubeCL 0.10 calls of NVRTC, through cudarc.
pub(crate) const NVRTC_SYMBOLS: &str = "\
    nvrtcVersion nvrtcCreateProgram nvrtcCompileProgram nvrtcDestroyProgram nvrtcGetPTXSize \
    nvrtcGetPTX nvrtcGetProgramLogSize nvrtcGetProgramLog nvrtcGetErrorString";

/// The major version of CUDA whose libraries cudarc looks for by number.
const MAJOR: u32 = cudarc::driver::sys::CUDA_VERSION / 1000;

/// The header that every kernel of CubeCL's includes.
const HEADER: &str = "include/cuda_runtime.h";

/// What is missing for compiling kernels that this driver can load.
fn missing(driver: Version) -> Option<AbsentBackend> {
    nvrtc(driver)
        .and_then(|()| headers(|name| env::var_os(name).map(PathBuf::from), Path::is_file))
        .err()
}

fn nvrtc(driver: Version) -> Result<(), AbsentBackend> {
    let loaded = probe::load(cudarc::get_lib_name_candidates("nvrtc"), NVRTC_SYMBOLS);
    let (name, library) = loaded.map_err(|error| {
        let error = shortened(&error, &format!(".{MAJOR}"));
        unusable(
            format!("no NVRTC to compile kernels with: {error}"),
            format!(
                "install CUDA's NVRTC {MAJOR}.x, not newer than {driver}, and have it on the \
                 library path"
            ),
        )
    })?;
    let (mut major, mut minor) = (0, 0);
    let status = call!(
        library,
        nvrtcVersion(&raw mut major => *mut c_int, &raw mut minor => *mut c_int)
    );
    let status = status.unwrap_or(-1);
    let version = Version(1000 * major + 10 * minor);
    if status != 0 {
        let reason = format!("nvrtcVersion of {name} failed with {status}");
        return Err(unusable(reason, "reinstall CUDA's NVRTC"));
    }
    if version > driver {
        // cuModuleLoadData: CUDA_ERROR_UNSUPPORTED_PTX_VERSION.
        return Err(unusable(
            format!("{name} is NVRTC {version}, and the driver loads kernels up to CUDA {driver}"),
            format!("update NVIDIA's driver, or install NVRTC {driver} or older"),
        ));
    }
    Ok(())
}

/// Looks for the headers where CubeCL 0.10 looks: in `CUDA_PATH` if that is set,
/// else in the first of the usual places that exists (`cubecl_cuda::install`).
fn headers(
    variable: impl Fn(&str) -> Option<PathBuf>,
    is_file: impl Fn(&Path) -> bool,
) -> Result<(), AbsentBackend> {
    let toolkit = variable("CUDA_PATH").or_else(|| {
        if cfg!(windows) {
            return Some("C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA/".into());
        }
        // A path that shows that a toolkit is installed, and its location.
        let mut usual = [
            ("/usr/local/cuda", "/usr/local/cuda"),
            ("/opt/cuda", "/opt/cuda"),
            ("/usr/bin/nvcc", "/usr"),
        ]
        .into_iter();
        let (_, toolkit) = usual.find(|(sign, _)| Path::new(sign).exists())?;
        Some(toolkit.into())
    });
    let has_headers = |toolkit: &PathBuf| is_file(&toolkit.join(HEADER));
    if toolkit.as_ref().is_some_and(has_headers) {
        return Ok(());
    }
    let header = toolkit.map(|toolkit| toolkit.join(HEADER));
    let reason = match &header {
        Some(header) => format!("no CUDA headers: {} is missing", header.display()),
        None => "no CUDA headers: CUDA_PATH is not set, and neither /usr/local/cuda \
                 nor /opt/cuda nor /usr/bin/nvcc exists"
            .to_owned(),
    };
    // CubeCL does not look at these, and people set them.
    let elsewhere = ["CUDA_HOME", "CUDA_ROOT"]
        .into_iter()
        .find_map(|name| Some((name, variable(name).filter(has_headers)?)));
    let remedy = match elsewhere {
        Some((name, path)) => format!("set CUDA_PATH to {}, as {name} is", path.display()),
        None => format!(
            "install the CUDA toolkit's headers, and set CUDA_PATH to the directory that has {HEADER}"
        ),
    };
    Err(unusable(reason, remedy))
}

/// cudarc tries a dozen names; the first one and the one that installations
/// have, which ends like this, say it.
fn shortened(error: &LoadError, usual: &str) -> String {
    match error {
        LoadError::NotFound(names) if names.len() > 2 => {
            let installed = names.iter().skip(1).find(|name| name.ends_with(usual));
            let shown = names.iter().take(1).chain(installed);
            let shown: Vec<_> = shown.map(String::as_str).collect();
            format!(
                "no library named {} (or one of {} similar names) was found",
                shown.join(" or "),
                names.len() - shown.len()
            )
        }
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_says_what_becomes_of_the_card() {
        let card = |backend, pci: &str| {
            let mut card = GpuInfo::named(backend, "NVIDIA H200".to_owned(), GpuKind::Discrete);
            card.pci = pci_address(pci);
            [card]
        };
        let cuda = card(Backend::Cuda, "0000:01:00.0");
        let remedy = |cards: &[_], elsewhere: &[_]| {
            advise(unusable(String::new(), "do"), cards, elsewhere).remedy
        };
        let seen = remedy(&cuda, &card(Backend::Vulkan, "0000:01:00.0"));
        assert_eq!(
            seen,
            "do; until then another backend is used for NVIDIA H200"
        );
        let unseen = remedy(&cuda, &card(Backend::Vulkan, ""));
        assert!(unseen.contains("no other backend sees NVIDIA H200"));
        assert_eq!(remedy(&[], &[]), "do");
    }

    #[test]
    fn versions_read_as_cuda_numbers_them() {
        let version = Version(12080);
        assert_eq!(version.to_string(), "12.8");
        assert!(version < Version(13000));
        assert_eq!(Version(11040).to_string(), "11.4");
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

    fn found_at(good: &'static str) -> impl Fn(&Path) -> bool {
        move |path| path == Path::new(good)
    }

    #[test]
    fn of_a_dozen_names_the_telling_ones_are_shown() {
        let names = cudarc::get_lib_name_candidates("no-such-thing");
        let error = probe::load(names, "").expect_err("not there");
        let text = shortened(&error, ".1");
        if cfg!(target_os = "linux") {
            let start = "no library named libno-such-thing.so or libno-such-thing.so.1 (or one of ";
            assert!(text.starts_with(start), "{text}");
        }
    }

    #[test]
    fn cuda_path_is_where_the_headers_have_to_be() {
        let path = |name: &str| (name == "CUDA_PATH").then(|| PathBuf::from("/cuda"));
        assert!(headers(path, found_at("/cuda/include/cuda_runtime.h")).is_ok());
        let missing = headers(path, |_| false).expect_err("no such file");
        let header = "/cuda/include/cuda_runtime.h is missing";
        assert!(missing.reason.contains(header), "{missing}");
    }

    #[test]
    fn a_variable_that_cubecl_ignores_is_pointed_out() {
        let path = |name: &str| (name == "CUDA_HOME").then(|| PathBuf::from("/usr/cuda"));
        let found = headers(path, found_at("/usr/cuda/include/cuda_runtime.h"));
        let missing = found.expect_err("CUDA_PATH is not set");
        assert_eq!(
            missing.remedy,
            "set CUDA_PATH to /usr/cuda, as CUDA_HOME is"
        );
    }
}
