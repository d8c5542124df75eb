//! Detection as a process of its own meets it: with drivers that are missing,
//! broken, or made up in C for the purpose. The driver libraries are found
//! through the environment of a process, so each case is a child process.

#![allow(clippy::print_stdout, reason = "the child reports on stdout")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::drivers::{LIBRARIES, NVML, TWO_CARDS, cuda_driver, nvrtc};
use super::{compile, skipped};
use crate::{
    Backend, Fact, GpuInfo, GpuKind, GpuLoad, Handle, HardwareCapabilities, SystemLoad, adapters,
    open,
};

const CHILD: &str = "BREAKEVEN_HARDWARE_TEST_CHILD";

#[derive(Debug, Serialize, Deserialize)]
struct Report {
    machine: HardwareCapabilities,
    load: SystemLoad,
    /// What opening each listed GPU gave: an adapter's name or an ordinal.
    opened: Vec<String>,
}

impl Report {
    /// Looks whether the backend is absent for a reason that has these words in it.
    fn assert_absent(&self, backend: Backend, words: &str) {
        let absent = &self.machine.absent;
        let entry = absent.iter().find(|a| a.backend == Some(backend));
        let reason = entry.unwrap_or_else(|| panic!("{backend} is not absent: {self:?}"));
        assert!(reason.to_string().contains(words), "{reason}");
    }
}

/// The child process; does nothing when it is run as a test.
#[test]
fn report() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let machine = HardwareCapabilities::detect();
    let opened = |gpu: &GpuInfo| match open(&gpu.id) {
        Ok((Handle::Wgpu { adapter, .. }, _)) => adapter.get_info().name,
        Ok((Handle::Cuda { ordinal }, _)) => ordinal.to_string(),
        Err(error) => format!("error: {error}"),
    };
    let opened = machine.gpus.iter().map(opened).collect();
    let load = SystemLoad::sample();
    let report = Report {
        machine,
        load,
        opened,
    };
    let json = serde_json::to_string(&report).expect("a report is JSON");
    println!("\nREPORT {json}");
}

/// Runs detection in a child with these variables. It has to succeed and to
/// print nothing on stderr.
fn detect_with(variables: &[(&str, &str)]) -> Report {
    let (_, this_test) = module_path!()
        .split_once("::")
        .expect("a module in a crate");
    let mut child = Command::new(std::env::current_exe().expect("this binary"));
    child
        .args([&format!("{this_test}::report"), "--exact", "--nocapture"])
        .env(CHILD, "1")
        .env_remove("CUDA_PATH")
        .envs(variables.iter().copied());
    let output = child.output().expect("a child process");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|all| String::from_utf8_lossy(all));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stderr, "", "nothing is printed");
    let json = stdout.lines().find_map(|line| line.strip_prefix("REPORT "));
    let json = json.unwrap_or_else(|| panic!("no report in {stdout}"));
    serde_json::from_str(json).expect("the child's report")
}

const NO_VULKAN: (&str, &str) = ("VK_ICD_FILENAMES", "/proc/nonexistent/icd.json");

/// Detection with this directory in front of the system's libraries, and no
/// Vulkan driver that could print something of its own.
fn detect_in(directory: &Path, more: &[(&str, &str)]) -> Report {
    let path = directory.to_str().expect("a path in UTF-8");
    let mut variables = vec![NO_VULKAN, ("LD_LIBRARY_PATH", path)];
    variables.extend_from_slice(more);
    detect_with(&variables)
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

#[test]
fn a_vulkan_loader_without_drivers_says_which_variable_hides_them() {
    if adapters::vulkan_loader().is_err() {
        skipped("no Vulkan loader here (Debian: libvulkan1)");
        return;
    }
    let hidden = "VK_ICD_FILENAMES is set to /proc/nonexistent/icd.json";
    detect_with(&[NO_VULKAN]).assert_absent(Backend::Vulkan, hidden);
}

#[test]
fn a_text_or_an_empty_file_in_place_of_a_library_is_no_driver() {
    for content in ["not a library\n", ""] {
        let directory = directory();
        for name in LIBRARIES {
            fs::write(directory.path().join(name), content).expect("a file");
        }
        let report = detect_in(directory.path(), &[]);
        let cuda = "no CUDA driver: libcuda.so could not be loaded";
        report.assert_absent(Backend::Cuda, cuda);
        let vulkan = "no Vulkan loader: libvulkan.so.1 could not be loaded";
        report.assert_absent(Backend::Vulkan, vulkan);
        assert!(report.machine.gpus.is_empty() && report.load.gpus.is_empty());
    }
}

#[test]
fn another_library_of_the_same_name_is_no_driver() {
    let directory = directory();
    let Some(()) = compile(directory.path(), &LIBRARIES, "") else {
        return;
    };
    let report = detect_in(directory.path(), &[]);
    report.assert_absent(Backend::Cuda, "libcuda.so has no symbol cuInit");
    let vulkan = "libvulkan.so.1 has no symbol vkGetInstanceProcAddr";
    report.assert_absent(Backend::Vulkan, vulkan);
    assert!(report.load.gpus.is_empty());
}

#[test]
fn what_cuinit_refuses_with_is_reported() {
    for (status, says) in [
        (100, "sees no CUDA device"),
        (34, "stub"),
        (999, "CUresult"),
    ] {
        let directory = directory();
        let code = format!("int cuInit(unsigned f) {{ return {status}; }}\n");
        let Some(()) = cuda_driver(directory.path(), &code) else {
            return;
        };
        let report = detect_in(directory.path(), &[]);
        let returned = format!("cuInit of libcuda.so returned {status}");
        report.assert_absent(Backend::Cuda, &returned);
        report.assert_absent(Backend::Cuda, says);
    }
}

#[test]
fn a_driver_that_fails_after_cuinit_is_reported() {
    let directory = directory();
    let Some(()) = cuda_driver(directory.path(), "int cuInit(unsigned f) { return 0; }\n") else {
        return;
    };
    let failed = "cuDriverGetVersion of libcuda.so failed: error 1";
    detect_in(directory.path(), &[]).assert_absent(Backend::Cuda, failed);
}

#[test]
fn cards_without_a_compiler_for_their_kernels_are_not_offered() {
    let directory = directory();
    let Some(()) = cuda_driver(directory.path(), TWO_CARDS) else {
        return;
    };
    for name in cudarc::get_lib_name_candidates("nvrtc") {
        fs::write(directory.path().join(name), "").expect("a file");
    }
    let report = detect_in(directory.path(), &[]);
    report.assert_absent(Backend::Cuda, "no NVRTC to compile kernels with");
    report.assert_absent(Backend::Cuda, "no other backend sees Made-up C1");
    assert!(!report.machine.gpu_available);

    let newer = self::directory();
    cuda_driver(newer.path(), TWO_CARDS).expect("compiled above");
    nvrtc(newer.path(), 13, 0).expect("compiled above");
    let too_new = "is NVRTC 13.0, and the driver loads kernels up to CUDA 12.8";
    detect_in(newer.path(), &[]).assert_absent(Backend::Cuda, too_new);

    nvrtc(newer.path(), 12, 8).expect("compiled above");
    let report = detect_in(newer.path(), &[("CUDA_PATH", "/proc/nonexistent")]);
    let header = "/proc/nonexistent/include/cuda_runtime.h is missing";
    report.assert_absent(Backend::Cuda, header);
}

#[test]
fn a_whole_cuda_installation_offers_its_cards() {
    let directory = directory();
    let path = directory.path();
    let Some(()) = cuda_driver(path, TWO_CARDS) else {
        return;
    };
    nvrtc(path, 12, 8).expect("compiled above");
    compile(path, &["libnvidia-ml.so.1"], NVML).expect("compiled above");
    fs::create_dir(path.join("include")).expect("a directory");
    fs::write(path.join("include/cuda_runtime.h"), "").expect("a file");
    let toolkit = ("CUDA_PATH", path.to_str().expect("a path in UTF-8"));
    let report = detect_in(path, &[toolkit]);

    let machine = &report.machine;
    let ids: Vec<_> = machine.gpus.iter().map(|gpu| gpu.id.as_str()).collect();
    assert_eq!(ids, ["cuda:made-up-c1", "cuda:made-up-c1#2"], "{machine:?}");
    assert_eq!(report.opened, ["1", "0"], "by address, not by ordinal");
    assert!(machine.gpu_available);
    assert_eq!(machine.gpu_memory_bytes, Fact::Known(3 << 30));
    let gpu = &machine.gpus[1];
    assert_eq!(gpu.kind, GpuKind::Discrete);
    assert_eq!(gpu.architecture, Fact::Known("sm_90".to_owned()));
    let driver = "NVIDIA 570.1, CUDA 12.8".to_owned();
    assert_eq!(gpu.driver, Fact::Known(driver));

    let load = report.load.gpu(gpu);
    assert_eq!(load.gpu_use, Fact::Known(0.25));
    assert_eq!(load.memory_used_bytes, Fact::Known(1024));
    assert_eq!(load.memory_total_bytes, Fact::Known(4096));
    // NVML lacks the function.
    assert_eq!(load.temperature_celsius, Fact::Unknown);
    assert_eq!(report.load.gpu(&machine.gpus[0]), GpuLoad::default());
}

#[test]
fn the_software_gpu_is_found_described_and_opened() {
    if let Err(absent) = adapters::vulkan_loader() {
        skipped(&format!("no Vulkan here: {absent}"));
        return;
    }
    let machine = HardwareCapabilities::detect();
    let mut gpus = machine.gpus.iter();
    let Some(gpu) = gpus.find(|gpu| gpu.kind == GpuKind::Software) else {
        skipped("Vulkan has no software GPU here (Debian: mesa-vulkan-drivers)");
        return;
    };
    let (memory, driver) = (gpu.memory_bytes.get(), gpu.driver.known());
    assert!(memory.is_some_and(|bytes| bytes > 0), "{gpu:?}");
    assert!(driver.is_some_and(|driver| !driver.is_empty()), "{gpu:?}");
    assert!(gpu.preferred && gpu.backend == Backend::Vulkan);
    let opened = open(&gpu.id);
    let Ok((Handle::Wgpu { instance, adapter }, _)) = opened else {
        panic!("{:?}", opened.err());
    };
    drop(instance);
    assert_eq!(adapter.get_info().name, gpu.name);
    let again = HardwareCapabilities::detect();
    assert_eq!(again.gpus, machine.gpus, "the same on every call");
}
