//! A GPU that fails in the middle of a kernel costs that kernel's row, not the
//! run: the row says why, nothing else is printed about it, and the exit code
//! is 1.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::command::{Breakeven, Ended, directory, line, show};
use crate::vulkan::{Layer, software_gpu};

/// What is profiled on every device: two kernels, three calls.
const TWO_KERNELS: &str = "profile --kernel conv2d --kernel vector_add --iterations 3 --warmup 1 \
                           --device-timeout 2";

/// The names of conv2d's GPU kernel has this in it.
const CONV2D: &str = "correlate";

/// A finished `profile -o`, and the file that it wrote.
struct Profiled {
    ended: Ended,
    file: Value,
    directory: TempDir,
}

fn profiled(breakeven: Breakeven) -> Profiled {
    let directory = directory();
    let path = directory.path().join("profile.json");
    let ended = breakeven.arg("-o").arg(&path).run();
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: {ended:#?}"));
    let file = serde_json::from_str(&text).unwrap();
    Profiled {
        ended,
        file,
        directory,
    }
}

impl Profiled {
    fn operations(&self) -> &Vec<Value> {
        self.file["operations"].as_array().unwrap()
    }

    /// Kind and message of each failure, by operation and device.
    fn failures(&self) -> Vec<(String, String)> {
        let failed = |operation: &Value| {
            let failure = operation.get("failure")?.as_object()?;
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let device = if operation["device"] == "cpu" {
                "cpu"
            } else {
                "gpu"
            };
            let name = text(&operation["name"]);
            let (kind, message) = (text(&failure["kind"]), text(&failure["message"]));
            assert_eq!(message.lines().count(), 1, "{message:?}");
            Some((format!("{name} on {device}"), format!("{kind}: {message}")))
        };
        self.operations().iter().filter_map(failed).collect()
    }

    /// Every row without a failure has all that was asked for.
    #[track_caller]
    fn rest_is_complete(&self) {
        let all = |value: &Value| value.as_array().is_some_and(|times| times.len() == 3);
        assert_eq!(self.operations().len(), 4, "{:#?}", self.ended);
        for operation in self.operations() {
            if operation.get("failure").is_some_and(Value::is_object) {
                continue;
            }
            let run = &operation["runs"][0];
            assert!(all(&run["samples_ns"]), "{operation:#}");
            assert!(run["first_call_ns"].is_number(), "{operation:#}");
            if operation["device"] != "cpu" {
                for phase in ["upload", "launch", "kernel", "download"] {
                    assert!(all(&run["phases_ns"][phase]), "{phase}: {operation:#}");
                }
            }
        }
    }

    /// `show` prints the failures that `profile` printed, and finds nothing amiss.
    #[track_caller]
    fn is_shown(&self) {
        let shown = show(&self.directory.path().join("profile.json"), "").quietly(0);
        let failed = self.ended.lines_with("failed ");
        assert_eq!(shown.lines_with("failed "), failed, "{shown:#?}");
        assert_eq!(failed.len(), self.failures().len(), "{:#?}", self.ended);
    }
}

/// Lets conv2d go wrong on the GPU: its row fails as `expected` says and all
/// else is as ever.
#[track_caller]
fn costs_one_row(call: &str, does: &str, expected: &str) {
    let Some(layer) = Layer::new() else { return };
    let breakeven = layer
        .before(line(TWO_KERNELS), call, does)
        .env("FAULTY_KERNEL", CONV2D);
    let mut profiled = profiled(breakeven);
    profiled.ended = profiled.ended.quietly(1);
    let failures = profiled.failures();
    assert_eq!(
        failures,
        [("conv2d on gpu".to_owned(), expected.to_owned())]
    );
    profiled.rest_is_complete();
    profiled.is_shown();
}

#[test]
fn a_lost_device() {
    costs_one_row("vkQueueSubmit", "-4", "device lost: Device is lost");
}

#[test]
fn a_lost_device_that_is_found_out_while_waiting() {
    costs_one_row("vkWaitSemaphores", "-4", "device lost: Device is lost");
}

#[test]
fn a_driver_that_crashes() {
    costs_one_row(
        "vkQueueSubmit",
        "crash",
        "crash: the process died of signal 11 (segmentation fault)",
    );
}

#[test]
fn a_driver_that_aborts_with_a_last_word() {
    costs_one_row(
        "vkQueueSubmit",
        "abort",
        "crash: the process died of signal 6 (abort): driver: assertion failed",
    );
}

#[test]
fn a_driver_that_ends_the_process() {
    costs_one_row(
        "vkQueueSubmit",
        "exit",
        "crash: the process ended with code 0",
    );
}

#[test]
fn a_submission_that_never_returns() {
    // Two seconds of --device-timeout, and ten that the supervisor adds.
    costs_one_row(
        "vkQueueSubmit",
        "hang",
        "timeout: nothing came back for 12 s",
    );
}

#[test]
fn a_kernel_that_does_not_compile_for_lack_of_memory() {
    // VK_ERROR_OUT_OF_DEVICE_MEMORY; wgpu gives the device up for it.
    costs_one_row(
        "vkCreateComputePipelines",
        "-2",
        "out of memory: Out of memory",
    );
}

#[test]
fn a_wait_that_never_returns_is_a_timeout_of_the_device() {
    let Some((gpu, layer)) = software_gpu().zip(Layer::new()) else {
        return;
    };
    let expected = format!("timeout: {gpu} did not answer within 2s");
    drop(layer);
    costs_one_row("vkWaitSemaphores", "hang", &expected);
}

#[test]
fn a_crash_does_not_quote_what_was_said_before_the_kernel_began() {
    let Some(layer) = Layer::new() else { return };
    // Without the variable Mesa complains when the device is opened, which is
    // for the peaks, long before conv2d.
    let breakeven = layer
        .before(line(TWO_KERNELS), "vkQueueSubmit", "crash")
        .env("FAULTY_KERNEL", CONV2D)
        .env_remove("XDG_RUNTIME_DIR");
    let failures = profiled(breakeven).failures();
    let expected = "crash: the process died of signal 11 (segmentation fault)";
    assert_eq!(
        failures,
        [("conv2d on gpu".to_owned(), expected.to_owned())]
    );
}

#[test]
fn a_device_without_memory_costs_every_row_of_it() {
    let Some(layer) = Layer::new() else { return };
    // Opening it takes one allocation; VK_ERROR_OUT_OF_DEVICE_MEMORY.
    let breakeven = layer
        .before(line(TWO_KERNELS), "vkAllocateMemory", "-2")
        .env("FAULTY_AFTER", "1");
    let mut profiled = profiled(breakeven);
    profiled.ended = profiled.ended.quietly(1);
    let failures = profiled.failures();
    assert_eq!(failures.len(), 2, "{failures:?}");
    for (row, failure) in failures {
        assert!(row.ends_with(" on gpu"), "{row}");
        assert!(failure.starts_with("out of memory: "), "{failure}");
    }
    profiled.rest_is_complete();
    profiled.is_shown();
    let peaks = profiled.ended.lines_with("peaks could not be measured");
    assert!(
        matches!(peaks[..], [line] if line.contains("out of memory: ")),
        "{:#?}",
        profiled.ended
    );
}

#[test]
fn peaks_that_could_not_be_measured_cost_no_row_and_say_why() {
    let Some(layer) = Layer::new() else { return };
    let once = directory();
    // The third allocation of a process is the second of the first buffers.
    let breakeven = layer
        .before(line(TWO_KERNELS), "vkAllocateMemory", "-2")
        .env("FAULTY_AFTER", "2")
        .env("FAULTY_ONCE", once.path().join("once"));
    let mut profiled = profiled(breakeven);
    profiled.ended = profiled.ended.quietly(1);
    assert_eq!(profiled.failures(), []);
    profiled.rest_is_complete();
    let peaks = profiled.ended.lines_with("peaks could not be measured");
    assert!(
        matches!(peaks[..], [line] if line.contains("out of memory: ")),
        "{:#?}",
        profiled.ended
    );
}

#[test]
fn a_kernel_that_failed_in_one_run_is_left_out_of_the_next() {
    let Some(layer) = Layer::new() else { return };
    let once = directory();
    let breakeven = layer
        .before(line(TWO_KERNELS).args("--runs 2"), "vkQueueSubmit", "crash")
        .env("FAULTY_KERNEL", CONV2D)
        .env("FAULTY_ONCE", once.path().join("once"));
    let mut profiled = profiled(breakeven);
    profiled.ended = profiled.ended.quietly(1);
    assert_eq!(profiled.failures().len(), 1);
    profiled.rest_is_complete();
    for operation in profiled.operations() {
        let runs = operation["runs"].as_array().map_or(0, Vec::len);
        let failed = operation.get("failure").is_some_and(Value::is_object);
        assert!(failed && runs <= 1 || !failed && runs == 2, "{operation:#}");
    }
}

#[test]
fn a_driver_that_writes_to_the_terminal_changes_nothing() {
    let Some(layer) = Layer::new() else { return };
    let breakeven = layer.before(line(TWO_KERNELS), "vkQueueSubmit", "noise");
    let mut profiled = profiled(breakeven);
    profiled.ended = profiled.ended.quietly(0);
    assert_eq!(profiled.failures(), []);
    profiled.rest_is_complete();
    let peaks = profiled.file["evidence"]["peaks"].as_array().unwrap();
    assert_eq!(peaks.len(), 2, "{:#?}", profiled.ended);
    assert!(!profiled.ended.stdout.contains("driver:"));
}

#[test]
fn devices_says_why_the_peaks_of_a_gpu_are_not_there() {
    let Some((gpu, layer)) = software_gpu().zip(Layer::new()) else {
        return;
    };
    let ended = layer
        .before(line("devices --measure"), "vkCreateDevice", "crash")
        .run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(
        ended.stderr,
        format!(
            "{gpu} (software): its peaks could not be measured: \
             crash: the process died of signal 11 (segmentation fault)\n"
        )
    );
    assert_eq!(ended.lines_with("arithmetic").len(), 1, "{ended:#?}");
}
