//! A driver that breaks while the machine is looked at costs the GPUs; the CPU
//! is profiled.

use std::fs;
use std::process::Command;

use crate::command::{Ended, directory, line, skipped};
use crate::engine::vulkan::Layer;

const PROFILE: &str = "profile --kernel vector_add --iterations 3 --warmup 1 --device-timeout 1s";

/// The machine is described without GPUs, and one line says what broke.
#[track_caller]
fn breaks(does: &str, why: &str) {
    let Some(layer) = Layer::new() else { return };
    let faults = format!("vkCreateInstance {does}");
    let devices = layer.before(line("devices --format json"), &faults);
    let document = devices.run().quietly(0).json();
    assert!(document["cpu_cores"].is_number(), "{document:#}");
    assert_eq!(document["gpus"], serde_json::json!([]));
    let absent = document["absent"].as_array().unwrap();
    assert_eq!(absent.len(), 1, "{document:#}");
    let reason = absent[0]["reason"].as_str().unwrap();
    assert!(reason.contains(why), "{reason}");
    assert_eq!(reason.lines().count(), 1, "{reason}");
}

#[test]
fn a_driver_that_crashes() {
    breaks(
        "crash",
        "the process died of signal 11 (segmentation fault)",
    );
}

#[test]
fn a_driver_that_ends_the_process() {
    breaks("exit", "the process ended with code 0");
}

#[test]
fn the_cpu_is_profiled_and_the_table_says_why_only_the_cpu() {
    let Some(layer) = Layer::new() else { return };
    let ended = layer
        .before(line(PROFILE), "vkCreateInstance abort")
        .run()
        .quietly(0);
    let said = ended.lines_with("a GPU driver failed");
    assert_eq!(said.len(), 1, "{ended:#?}");
    assert!(ended.stdout.contains("vector_add"), "{ended:#?}");
    assert!(ended.lines_with("  failed: ").is_empty(), "{ended:#?}");
}

#[test]
fn a_driver_that_hangs_where_only_a_gpu_is_asked_for() {
    let Some(layer) = Layer::new() else { return };
    let profile = line(PROFILE).args("--device gpu");
    let refusal = layer
        .before(profile, "vkCreateInstance hang")
        .run()
        .refusal();
    assert!(
        refusal.contains("there was no answer for 11 s"),
        "{refusal}"
    );
    assert_eq!(refusal.lines().count(), 1, "{refusal}");
}

#[test]
fn a_driver_that_writes_to_the_terminal_is_found() {
    let Some(layer) = Layer::new() else { return };
    let devices = line("devices --format json");
    let ended = layer.before(devices, "vkCreateInstance noise").run();
    let gpus = ended.quietly(0).json()["gpus"].clone();
    assert!(!gpus.as_array().unwrap().is_empty());
}

/// Makes NVIDIA's management library of C, and runs the command with it in front.
fn with_nvml(code: &str, args: &str) -> Option<Ended> {
    let directory = directory();
    let source = directory.path().join("nvml.c");
    fs::write(&source, code).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o"])
        .arg(directory.path().join("libnvidia-ml.so.1"))
        .arg(&source)
        .status();
    match compiled {
        Ok(status) => assert!(status.success()),
        Err(error) => {
            skipped(&format!("a made-up NVML needs a C compiler: cc: {error}"));
            return None;
        }
    }
    fs::copy(
        directory.path().join("libnvidia-ml.so.1"),
        directory.path().join("libnvidia-ml.so"),
    )
    .unwrap();
    Some(
        line(args)
            .env("LD_LIBRARY_PATH", directory.path())
            .env("VK_ICD_FILENAMES", "/proc/nonexistent/icd.json")
            .run(),
    )
}

#[test]
fn an_nvml_that_crashes_does_not_end_the_profile() {
    let code = "#include <stdlib.h>\nint nvmlInit_v2(void) { abort(); }\n";
    let profile = format!("{PROFILE} --device cpu --format json");
    if let Some(ended) = with_nvml(code, &profile) {
        let document = ended.quietly(0).json();
        assert_eq!(document["operations"][0]["figures"]["summary"]["count"], 3);
    }
}

#[test]
fn an_nvml_that_crashes_does_not_end_the_list_of_devices() {
    let code = "#include <stdlib.h>\nint nvmlInit_v2(void) { abort(); }\n";
    if let Some(ended) = with_nvml(code, "devices --format json") {
        assert!(ended.quietly(0).json()["cpu_cores"].is_number());
    }
}

#[test]
fn an_nvml_that_writes_to_the_terminal_does_not_damage_the_output() {
    let code = "#include <unistd.h>\n\
                int nvmlInit_v2(void) { write(1, \"NVML: oh\\n\", 9); write(2, \"NVML: oh\\n\", 9); return 999; }\n";
    if let Some(ended) = with_nvml(code, "devices --format json") {
        assert!(ended.quietly(0).json()["cpu_cores"].is_number());
    }
}
