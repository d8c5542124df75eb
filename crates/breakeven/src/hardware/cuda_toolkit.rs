//! What CubeCL's CUDA side needs beside the driver: NVRTC, which compiles the
//! kernels, and CUDA's headers, which they include.

use std::env;
use std::ffi::c_int;
use std::path::{Path, PathBuf};

use super::AbsentBackend;
use super::cuda_driver::{Version, unusable};
use super::probe::{self, LoadError};

/// What CubeCL 0.10 calls of NVRTC, through cudarc.
pub(super) const SYMBOLS: &str = "\
    nvrtcVersion nvrtcCreateProgram nvrtcCompileProgram nvrtcDestroyProgram nvrtcGetPTXSize \
    nvrtcGetPTX nvrtcGetProgramLogSize nvrtcGetProgramLog nvrtcGetErrorString";

/// The major version of CUDA whose libraries cudarc looks for by number.
const MAJOR: u32 = cudarc::driver::sys::CUDA_VERSION / 1000;

/// The header that every kernel of CubeCL's includes.
const HEADER: &str = "include/cuda_runtime.h";

/// What is missing for compiling kernels that this driver can load.
pub(super) fn missing(driver: Version) -> Option<AbsentBackend> {
    nvrtc(driver)
        .and_then(|()| headers(|name| env::var_os(name).map(PathBuf::from), Path::is_file))
        .err()
}

fn nvrtc(driver: Version) -> Result<(), AbsentBackend> {
    let loaded = probe::load(cudarc::get_lib_name_candidates("nvrtc"), SYMBOLS);
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
    type GetVersion = unsafe extern "system" fn(*mut c_int, *mut c_int) -> c_int;
    let (mut major, mut minor) = (0, 0);
    let status = {
        // SAFETY: `nvrtcResult nvrtcVersion(int *major, int *minor)`, in nvrtc.h;
        // the result is an int-sized enum.
        match unsafe { library.get::<GetVersion>(b"nvrtcVersion") } {
            // SAFETY: the pointers are to locals of the type that is written.
            Ok(get) => unsafe { get(&raw mut major, &raw mut minor) },
            Err(_) => -1,
        }
    };
    let version = Version { major, minor };
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
        // A path that shows that a toolkit is there, and where it is then.
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
pub(super) fn shortened(error: &LoadError, usual: &str) -> String {
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
