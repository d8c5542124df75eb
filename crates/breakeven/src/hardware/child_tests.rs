//! Detection as a process of its own meets it: with drivers that are missing,
//! broken, or made up in C for the purpose. The driver libraries are found
//! through the environment of a process, so each case is a child process.

#![allow(clippy::print_stdout, reason = "the child reports on stdout")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::made_up_drivers::{CUDA, NVML, TWO_CARDS, compile, cuda_driver, nvrtc, skipped};
use super::*;

/// Set in the child.
const CHILD: &str = "BREAKEVEN_HARDWARE_TEST_CHILD";

/// What the child saw.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    machine: HardwareCapabilities,
    load: SystemLoad,
    /// What opening each listed GPU gave: an adapter's name or an ordinal.
    opened: Vec<String>,
}

impl Report {
    fn absent(&self, backend: Backend) -> String {
        let absent = &self.machine.absent;
        let entry = absent.iter().find(|a| a.backend == Some(backend));
        entry
            .unwrap_or_else(|| panic!("{backend} is not absent: {self:?}"))
            .to_string()
    }
}

/// The child's part; does nothing when it is run as a test.
#[test]
fn report() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let machine = HardwareCapabilities::detect();
    let open = |gpu: &GpuInfo| match open::open(&gpu.id) {
        Ok((open::Handle::Wgpu { adapter, .. }, _)) => adapter.get_info().name,
        Ok((open::Handle::Cuda { ordinal }, _)) => ordinal.to_string(),
        Err(error) => format!("error: {error}"),
    };
    let opened = machine.gpus.iter().map(open).collect();
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
    let this_test = module_path!()
        .split_once("::")
        .expect("a module in a crate")
        .1;
    let mut child = Command::new(std::env::current_exe().expect("this binary"));
    child
        .args([&format!("{this_test}::report"), "--exact", "--nocapture"])
        .env(CHILD, "1")
        .env_remove("CUDA_PATH")
        .envs(variables.iter().copied());
    let output = child.output().expect("a child process");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stderr, "", "nothing is printed");
    let json = stdout.lines().find_map(|line| line.strip_prefix("REPORT "));
    let json = json.unwrap_or_else(|| panic!("no report in {stdout}"));
    serde_json::from_str(json).expect("the child's report")
}

const NO_VULKAN: (&str, &str) = ("VK_ICD_FILENAMES", "/nonexistent/icd.json");

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
    if vulkan::loader().is_err() {
        skipped("no Vulkan loader here (Debian: libvulkan1)");
        return;
    }
    let reason = detect_with(&[NO_VULKAN]).absent(Backend::Vulkan);
    assert!(
        reason.contains("VK_ICD_FILENAMES is set to /nonexistent/icd.json"),
        "{reason}"
    );
}

#[test]
fn a_text_file_in_place_of_a_library_is_no_driver() {
    let directory = directory();
    for name in CUDA
        .into_iter()
        .chain(["libvulkan.so.1", "libnvidia-ml.so.1"])
    {
        fs::write(directory.path().join(name), "not a library\n").expect("a file");
    }
    let report = detect_in(directory.path(), &[]);
    let cuda = report.absent(Backend::Cuda);
    assert!(
        cuda.contains("no CUDA driver: libcuda.so could not be loaded"),
        "{cuda}"
    );
    let vulkan = report.absent(Backend::Vulkan);
    assert!(
        vulkan.contains("no Vulkan loader: libvulkan.so.1 could not be loaded"),
        "{vulkan}"
    );
    assert!(report.machine.gpus.is_empty());
    assert!(report.load.gpus.is_empty());
}

#[test]
fn an_empty_file_in_place_of_the_cuda_driver_is_none() {
    let directory = directory();
    for name in CUDA {
        fs::write(directory.path().join(name), "").expect("a file");
    }
    let reason = detect_in(directory.path(), &[]).absent(Backend::Cuda);
    assert!(
        reason.contains("no CUDA driver: libcuda.so could not be loaded"),
        "{reason}"
    );
}

#[test]
fn another_library_of_the_same_name_is_no_driver() {
    let directory = directory();
    let names = [
        "libcuda.so",
        "libcuda.so.1",
        "libvulkan.so.1",
        "libnvidia-ml.so.1",
    ];
    let Some(()) = compile(directory.path(), &names, "") else {
        return;
    };
    let report = detect_in(directory.path(), &[]);
    let cuda = report.absent(Backend::Cuda);
    assert!(cuda.contains("libcuda.so has no symbol cuInit"), "{cuda}");
    let vulkan = report.absent(Backend::Vulkan);
    assert!(
        vulkan.contains("libvulkan.so.1 has no symbol vkGetInstanceProcAddr"),
        "{vulkan}"
    );
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
        let reason = detect_in(directory.path(), &[]).absent(Backend::Cuda);
        assert!(
            reason.contains(&format!("cuInit of libcuda.so returned {status}")),
            "{reason}"
        );
        assert!(reason.contains(says), "{reason}");
    }
}

#[test]
fn a_driver_that_fails_after_cuinit_is_reported() {
    let directory = directory();
    let Some(()) = cuda_driver(directory.path(), "int cuInit(unsigned f) { return 0; }\n") else {
        return;
    };
    let reason = detect_in(directory.path(), &[]).absent(Backend::Cuda);
    assert!(
        reason.contains("cuDriverGetVersion of libcuda.so failed: error 1"),
        "{reason}"
    );
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
    let reason = report.absent(Backend::Cuda);
    assert!(
        reason.contains("no NVRTC to compile kernels with"),
        "{reason}"
    );
    assert!(
        reason.contains("no other backend sees Made-up C1"),
        "{reason}"
    );
    assert!(!report.machine.gpu_available);

    let newer = self::directory();
    cuda_driver(newer.path(), TWO_CARDS).expect("compiled above");
    nvrtc(newer.path(), 13, 0).expect("compiled above");
    let reason = detect_in(newer.path(), &[]).absent(Backend::Cuda);
    assert!(
        reason.contains("is NVRTC 13.0, and the driver loads kernels up to CUDA 12.8"),
        "{reason}"
    );

    nvrtc(newer.path(), 12, 8).expect("compiled above");
    let reason = detect_in(newer.path(), &[("CUDA_PATH", "/nonexistent")]).absent(Backend::Cuda);
    assert!(
        reason.contains("/nonexistent/include/cuda_runtime.h is missing"),
        "{reason}"
    );
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
    let report = detect_in(
        path,
        &[("CUDA_PATH", path.to_str().expect("a path in UTF-8"))],
    );

    let machine = &report.machine;
    let ids: Vec<_> = machine.gpus.iter().map(|gpu| gpu.id.as_str()).collect();
    assert_eq!(ids, ["cuda:made-up-c1", "cuda:made-up-c1#2"], "{machine:?}");
    assert_eq!(report.opened, ["1", "0"], "by address, not by ordinal");
    assert!(machine.gpu_available);
    assert_eq!(machine.gpu_memory_bytes, Fact::Known(3 << 30));
    let gpu = &machine.gpus[1];
    assert_eq!(gpu.kind, GpuKind::Discrete);
    assert_eq!(gpu.architecture, Fact::Known("sm_90".to_owned()));
    assert_eq!(
        gpu.driver,
        Fact::Known("NVIDIA 570.1, CUDA 12.8".to_owned())
    );

    let load = report.load.gpu(gpu);
    assert_eq!(load.gpu_use, Fact::Known(0.25));
    assert_eq!(load.memory_used_bytes, Fact::Known(1024));
    assert_eq!(load.memory_total_bytes, Fact::Known(4096));
    assert_eq!(
        load.temperature_celsius,
        Fact::Unknown,
        "NVML lacks the function"
    );
    assert_eq!(report.load.gpu(&machine.gpus[0]), GpuLoad::unknown());
}

#[test]
fn the_software_gpu_is_found_described_and_opened() {
    if let Err(absent) = vulkan::loader() {
        skipped(&format!("no Vulkan here: {absent}"));
        return;
    }
    let machine = HardwareCapabilities::detect();
    let software: Vec<_> = machine
        .gpus
        .iter()
        .filter(|g| g.kind == GpuKind::Software)
        .collect();
    let Some(gpu) = software.first() else {
        skipped("Vulkan has no software GPU here (Debian: mesa-vulkan-drivers)");
        return;
    };
    assert_eq!(gpu.backend, Backend::Vulkan);
    assert!(
        gpu.memory_bytes.get().is_some_and(|bytes| bytes > 0),
        "{gpu:?}"
    );
    assert!(
        gpu.driver.known().is_some_and(|driver| !driver.is_empty()),
        "{gpu:?}"
    );
    assert!(gpu.preferred);
    let opened = open::open(&gpu.id);
    let Ok((open::Handle::Wgpu { instance, adapter }, _)) = opened else {
        panic!("{:?}", opened.err());
    };
    drop(instance);
    assert_eq!(adapter.get_info().name, gpu.name);
    let again = HardwareCapabilities::detect();
    assert_eq!(again.gpus, machine.gpus, "the same on every call");
}
