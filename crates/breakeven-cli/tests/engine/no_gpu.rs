//! No GPU, no driver, no toolkit, a broken driver: the program starts, says so
//! in one line per backend, and profiles the CPU. A software GPU is called one
//! wherever it is named.

use std::fs;

use crate::command::{Breakeven, Ended, directory, line, skipped};
use crate::engine::vulkan::software_gpu;

const PROFILE: &str = "profile --kernel vector_add --iterations 3 --warmup 1";

fn without_vulkan(breakeven: Breakeven) -> Breakeven {
    breakeven
        .env("VK_ICD_FILENAMES", "/proc/nonexistent/icd.json")
        .env("VK_DRIVER_FILES", "/proc/nonexistent/icd.json")
}

/// True where the build has the GPU path and the machine a Vulkan loader.
fn has_a_loader() -> bool {
    let devices = line("devices --format json").run().quietly(0).json();
    let none = devices["absent"].as_array().unwrap().iter().any(|absent| {
        let reason = absent["reason"].as_str().unwrap();
        reason.contains("no Vulkan loader") || absent["backend"].is_null()
    });
    if none {
        skipped("no Vulkan loader here (Debian: libvulkan1), or a build without `gpu`");
    }
    !none
}

/// The CPU's row is there and complete, and there is no other.
#[track_caller]
fn only_the_cpu(document: &serde_json::Value) {
    let operations = document["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 1, "{document:#}");
    assert_eq!(operations[0]["device"], "cpu");
    assert_eq!(operations[0]["figures"]["software_gpu"], false);
    assert_eq!(operations[0]["figures"]["summary"]["count"], 3);
    assert!(operations[0]["failure"].is_null());
}

/// Why a backend is not there; each is named once.
#[track_caller]
fn reason(document: &serde_json::Value, backend: &str) -> String {
    let absent = document["absent"].as_array().unwrap();
    let reasons: Vec<_> = absent
        .iter()
        .filter(|absent| absent["backend"] == backend)
        .map(|absent| absent["reason"].as_str().unwrap())
        .collect();
    let [reason] = reasons[..] else {
        panic!("{backend}: {document:#}");
    };
    assert_eq!(reason.lines().count(), 1, "{reason}");
    reason.to_owned()
}

#[test]
fn vulkan_without_a_driver() {
    if !has_a_loader() {
        return;
    }
    let ended = without_vulkan(line(PROFILE).args("--format json")).run();
    let document = ended.quietly(0).json();
    only_the_cpu(&document);
    let vulkan = reason(&document, "vulkan");
    assert!(
        vulkan.contains("VK_ICD_FILENAMES is set to /proc/nonexistent/icd.json"),
        "{vulkan}"
    );
    let ended = without_vulkan(line(PROFILE)).run().quietly(0);
    assert_eq!(ended.lines_with(" vulkan: ").len(), 1, "{ended:#?}");
    let devices = without_vulkan(line("devices")).run().quietly(0);
    assert!(devices.stdout.contains("VK_ICD_FILENAMES"), "{devices:#?}");
}

#[test]
fn asking_for_a_gpu_that_is_not_there() {
    if !has_a_loader() {
        return;
    }
    let asked = without_vulkan(line(PROFILE).args("--device gpu"));
    let refusal = asked.run().refusal();
    assert!(
        refusal.starts_with("error: there is no GPU here: "),
        "{refusal}"
    );
    assert!(
        refusal.contains("VK_ICD_FILENAMES is set to /proc/nonexistent/icd.json"),
        "{refusal}"
    );
    assert_eq!(refusal.lines().count(), 1, "{refusal}");
}

/// Runs with a file of this content as CUDA's driver.
fn with_libcuda(content: &[u8], args: &str) -> Ended {
    let directory = directory();
    for name in ["libcuda.so", "libcuda.so.1"] {
        fs::write(directory.path().join(name), content).unwrap();
    }
    without_vulkan(line(args))
        .env("LD_LIBRARY_PATH", directory.path())
        .run()
}

#[test]
fn a_text_file_as_cuda_driver() {
    if !has_a_loader() {
        return;
    }
    let profile = format!("{PROFILE} --format json");
    let document = with_libcuda(b"not a library\n", &profile).quietly(0).json();
    only_the_cpu(&document);
    let cuda = reason(&document, "cuda");
    assert!(cuda.contains("libcuda.so could not be loaded"), "{cuda}");
    let gpu_only = format!("{PROFILE} --device gpu");
    let refusal = with_libcuda(b"not a library\n", &gpu_only).refusal();
    assert!(
        refusal.contains("libcuda.so could not be loaded"),
        "{refusal}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn another_library_as_cuda_driver() {
    if !has_a_loader() {
        return;
    }
    // A library that is on every machine that runs this test: the one that
    // carries this process.
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let library = maps
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .find(|path| path.contains("/libc.so") || path.contains("/libm.so"));
    let Some(library) = library else {
        skipped("this process has no shared libraries");
        return;
    };
    let profile = format!("{PROFILE} --format json");
    let ended = with_libcuda(&fs::read(library).unwrap(), &profile);
    let document = ended.quietly(0).json();
    only_the_cpu(&document);
    let cuda = reason(&document, "cuda");
    assert!(cuda.contains("has no symbol cuInit"), "{cuda}");
}

#[test]
fn next_to_nothing_in_the_environment() {
    let mut bare = line(PROFILE).args("--device cpu --format json");
    bare.command.env_clear().env("PATH", "");
    only_the_cpu(&bare.run().quietly(0).json());
    let devices = line("devices --format json")
        .env("PATH", "")
        .env_remove("HOME")
        .env_remove("XDG_RUNTIME_DIR")
        .env_remove("TMPDIR");
    assert!(devices.run().quietly(0).json()["cpu_cores"].is_number());
}

#[test]
fn the_software_gpu_without_home_and_runtime_directory() {
    let Some(gpu) = software_gpu() else { return };
    // Mesa writes of the missing directory to stderr; nobody sees it.
    let ended = line(PROFILE)
        .args("--format json --device")
        .arg(gpu)
        .env("PATH", "")
        .env_remove("HOME")
        .env_remove("XDG_RUNTIME_DIR")
        .run()
        .quietly(0);
    let document = ended.json();
    let operations = document["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 1, "{document:#}");
    assert_eq!(operations[0]["figures"]["summary"]["count"], 3);
    // Here the device is opened in the command's own process.
    let plan = line("plan --chain vector_add --size 1000 --measure --device gpu --format json");
    plan.env_remove("XDG_RUNTIME_DIR").run().quietly(0);
}

/// Every line that names the GPU says what it is.
#[track_caller]
fn labelled(text: &str, gpu: &str) {
    let named: Vec<_> = text.lines().filter(|line| line.contains(gpu)).collect();
    assert!(!named.is_empty(), "{text}");
    for line in named {
        let label = format!("{gpu} (software)");
        let rest = line.replace(&label, "");
        assert!(!rest.contains(gpu), "unlabelled: {line}");
    }
}

#[test]
fn the_software_gpu_is_called_one_wherever_it_is_named() {
    let Some(gpu) = software_gpu() else { return };
    let directory = directory();
    let file = directory.path().join("profile.json");
    let ended = line(PROFILE).arg("-o").arg(&file).run().quietly(0);
    labelled(&ended.stdout, gpu);
    let show = |format: &str| {
        let shown = line("show").arg(&file).args("--format").arg(format).run();
        shown.quietly(0)
    };
    labelled(&show("table").stdout, gpu);
    labelled(&show("markdown").stdout, gpu);
    labelled(&line("devices").run().quietly(0).stdout, gpu);

    let json = show("json").json();
    for operation in json["operations"].as_array().unwrap() {
        let software_gpu = &operation["figures"]["software_gpu"];
        assert_eq!(*software_gpu, operation["device"] == gpu, "{operation:#}");
    }
    let csv = show("csv").stdout;
    let mut lines = csv.lines();
    let heads: Vec<_> = lines.next().unwrap().split(',').collect();
    let column = heads.iter().position(|head| *head == "software_gpu");
    for line in lines {
        let cells: Vec<_> = line.split(',').collect();
        let expected = (cells[1] == gpu).to_string();
        assert_eq!(cells[column.unwrap()], expected, "{line}");
    }
}

#[test]
fn the_software_gpu_in_messages() {
    let Some(gpu) = software_gpu() else { return };
    let refusal = line(PROFILE).args("--device other").run().refusal();
    labelled(&refusal, gpu);
}
