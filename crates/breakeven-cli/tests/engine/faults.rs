//! A GPU that fails in the middle of a kernel costs that kernel's row, not the
//! run: the row says why, nothing else is printed about it, and the exit code
//! is 1. Each run has several faults, each in a kernel of its own.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::command::{Breakeven, Ended, directory, line};
use crate::engine::vulkan::{Layer, software_gpu};

/// Kernels of the suite that the software GPU runs: all but the product on tensor cores.
const KERNELS: usize = breakeven::kernels::NAMES.len() - 1;

/// A finished `profile -o`, and the file that it wrote.
struct Profiled {
    ended: Ended,
    operations: Vec<Value>,
    peaks: usize,
    directory: TempDir,
}

/// Columns in which every message is one line.
const WIDE: &str = "1000";

/// Runs `profile` with few calls and further arguments.
fn profiled(layer: &Layer, faults: &str, args: &str) -> Profiled {
    let directory = directory();
    let path = directory.path().join("profile.json");
    let profile: Breakeven = line("profile --iterations 3 --warmup 1")
        .args(args)
        .arg("-o")
        .arg(&path)
        .env("COLUMNS", WIDE);
    let ended = layer.before(profile, faults).run();
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: {ended:#?}"));
    let file: Value = serde_json::from_str(&text).unwrap();
    Profiled {
        operations: file["operations"].as_array().unwrap().clone(),
        peaks: file["evidence"]["peaks"].as_array().map_or(0, Vec::len),
        ended,
        directory,
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

impl Profiled {
    /// The operations that failed on a GPU, and how. None fails on the CPU.
    #[track_caller]
    fn failures(&self) -> Vec<(&str, String)> {
        let mut failures = Vec::new();
        for operation in &self.operations {
            let failure = &operation["failure"];
            if failure.is_object() {
                assert_ne!(operation["device"], "cpu", "{operation:#}");
                let message = text(&failure["message"]);
                assert_eq!(message.lines().count(), 1, "{message:?}");
                let failure = format!("{}: {message}", text(&failure["kind"]));
                failures.push((text(&operation["name"]), failure));
            }
        }
        failures
    }

    /// Every one of `rows` rows that did not fail has all that was asked for.
    #[track_caller]
    fn rest_is_complete(&self, rows: usize, runs: usize) {
        let all = |value: &Value| value.as_array().is_some_and(|times| times.len() == 3);
        assert_eq!(self.operations.len(), rows, "{:#?}", self.ended);
        let sound = |operation: &&Value| !operation["failure"].is_object();
        for operation in self.operations.iter().filter(sound) {
            let measured = operation["runs"].as_array().unwrap();
            assert_eq!(measured.len(), runs, "{operation:#}");
            for run in measured {
                assert!(all(&run["samples_ns"]), "{operation:#}");
                assert!(run["first_call_ns"].is_number(), "{operation:#}");
                for phase in ["upload", "launch", "kernel", "download"] {
                    let of_gpu = operation["device"] != "cpu";
                    assert_eq!(all(&run["phases_ns"][phase]), of_gpu, "{operation:#}");
                }
            }
        }
    }

    /// `show` prints the failures that `profile` printed, each once.
    #[track_caller]
    fn is_shown(&self) {
        let file = self.directory.path().join("profile.json");
        let shown = line("show")
            .arg(&file)
            .env("COLUMNS", WIDE)
            .run()
            .quietly(0);
        let failed = self.ended.lines_with("  failed: ");
        assert_eq!(shown.lines_with("  failed: "), failed, "{shown:#?}");
        assert_eq!(failed.len(), self.failures().len(), "{:#?}", self.ended);
    }

    /// The one line about peaks that are not there.
    #[track_caller]
    fn note_on_peaks(&self) -> &str {
        let notes = self.ended.lines_with("its peaks could not be measured: ");
        let [note] = notes[..] else {
            panic!("{:#?}", self.ended);
        };
        note
    }
}

const LOST: &str = "device lost: Device is lost";
const SEGMENTATION_FAULT: &str = "crash: the process died of signal 11 (segmentation fault)";

/// Lets the peaks go wrong at once, where they do not matter: on a software GPU
/// they take most of the time.
fn no_peaks(layer: &Layer) -> String {
    format!("vkQueueSubmit -4 once={};", layer.once("peaks"))
}

#[test]
fn a_fault_costs_its_row_and_is_not_tried_again_in_the_next_run() {
    let Some(layer) = Layer::new() else { return };
    let faults = format!(
        "vkQueueSubmit -4 kernel=multiply_tiles once={}; vkQueueSubmit crash kernel=correlate once={}",
        layer.once("matmul"),
        layer.once("correlate")
    );
    let kernels = "--kernel vector_add --kernel matrix_multiply --kernel conv2d";
    let profiled = profiled(&layer, &faults, &format!("{kernels} --runs 2"));
    assert_eq!(
        profiled.failures(),
        [
            ("matrix_multiply", LOST.to_owned()),
            ("conv2d", SEGMENTATION_FAULT.to_owned())
        ]
    );
    profiled.rest_is_complete(6, 2);
    profiled.is_shown();
    assert_eq!(profiled.peaks, 2);
    profiled.ended.quietly(1);
}

#[test]
fn every_way_for_a_driver_to_end() {
    let Some(layer) = Layer::new() else { return };
    let faults = no_peaks(&layer)
        + "vkQueueSubmit abort kernel=add; vkQueueSubmit exit kernel=multiply_tiles; \
           vkQueueSubmit -4 kernel=correlate; vkCreateComputePipelines -13 kernel=slide";
    let profiled = profiled(&layer, &faults, "--device gpu");
    let aborted = "crash: the process died of signal 6 (abort): driver: assertion failed";
    let unknown = "device lost: Unexpected error variant (driver implementation is at fault)";
    assert_eq!(
        profiled.failures(),
        [
            ("vector_add", aborted.to_owned()),
            ("vector_add_batch", aborted.to_owned()),
            (
                "matrix_multiply",
                "crash: the process ended with code 0".to_owned()
            ),
            ("conv2d", LOST.to_owned()),
            ("pixel_entropy", unknown.to_owned()),
        ]
    );
    assert!(profiled.note_on_peaks().ends_with(LOST));
    profiled.is_shown();
    profiled.ended.quietly(1);
}

#[test]
fn a_device_that_is_lost_while_it_is_waited_for_is_not_waited_for_any_longer() {
    let Some(layer) = Layer::new() else { return };
    let faults = no_peaks(&layer) + "vkWaitSemaphores -4 kernel=correlate";
    let args = "--device gpu --kernel conv2d --device-timeout 30s";
    let profiled = profiled(&layer, &faults, args);
    assert_eq!(profiled.failures(), [("conv2d", LOST.to_owned())]);
    let took = profiled.ended.took;
    assert!(took < Duration::from_secs(20), "{took:?}");
    profiled.ended.quietly(1);
}

#[test]
fn a_driver_that_hangs() {
    let Some((gpu, layer)) = software_gpu().zip(Layer::new()) else {
        return;
    };
    let faults = no_peaks(&layer)
        + "vkWaitSemaphores hang kernel=multiply_tiles; vkQueueSubmit hang kernel=correlate";
    let kernels = "--kernel vector_add --kernel matrix_multiply --kernel conv2d";
    let args = format!("{kernels} --device gpu --device-timeout 2s");
    let profiled = profiled(&layer, &faults, &args);
    assert_eq!(
        profiled.failures(),
        [
            (
                "matrix_multiply",
                format!("timeout: {gpu} did not answer within 2s")
            ),
            // No call returns: the supervisor ends it, ten seconds later.
            ("conv2d", "timeout: there was no answer for 12 s".to_owned()),
        ]
    );
    profiled.rest_is_complete(3, 1);
    profiled.is_shown();
    profiled.ended.quietly(1);
}

/// Runs a short sweep of `conv2d` with further arguments; its points.
fn swept(layer: &Layer, faults: &str, args: &str) -> (Ended, Vec<Value>) {
    let sweep = line("sweep conv2d --from 16 --to 64 --rounds 3 --iterations 2");
    let ended = layer.before(sweep.args(args), faults).run();
    let points = ended.json()["points"].as_array().unwrap().clone();
    (ended, points)
}

/// Rounds that a device was measured in at a point, and how it failed.
fn rounds(point: &Value, device: usize) -> (usize, Option<String>) {
    let time = &point["times"][device];
    let failure = &time["failure"];
    let words = failure.is_object().then(|| {
        let [kind, message] = ["kind", "message"].map(|name| text(&failure[name]));
        format!("{kind}: {message}")
    });
    (time["rounds_ns"].as_array().unwrap().len(), words)
}

#[test]
fn a_device_that_is_lost_half_way_costs_that_value_of_a_sweep() {
    let Some(layer) = Layer::new() else { return };
    let fault = format!(
        "vkQueueSubmit -4 kernel=correlate once={}",
        layer.once("lost")
    );
    let (ended, points) = swept(&layer, &fault, "--format json");
    assert_eq!(rounds(&points[0], 1), (0, Some(LOST.to_owned())));
    for point in &points[1..] {
        assert_eq!(rounds(point, 1), (3, None), "{ended:#?}");
    }
    assert!(points.iter().all(|point| rounds(point, 0) == (3, None)));
    // Three short rounds beside other tests may leave two values too close to call.
    let answer = ended.json()["break_even"][0]["answer"].clone();
    assert!(answer == "never" || answer == "unclear", "{ended:#?}");
    ended.quietly(1);
}

#[test]
fn a_device_that_hangs_is_not_waited_for_at_every_value_of_a_sweep() {
    let Some((gpu, layer)) = software_gpu().zip(Layer::new()) else {
        return;
    };
    let hang = "vkWaitSemaphores hang kernel=correlate";
    let (ended, points) = swept(&layer, hang, "--device-timeout 1s --format json");
    let failures: Vec<_> = points.iter().map(|point| rounds(point, 1).1).collect();
    let first = format!("timeout: {gpu} did not answer within 1s");
    let others = Some("not tried: the device hung before".to_owned());
    assert_eq!(failures, [Some(first), others.clone(), others]);
    assert!(points.iter().all(|point| rounds(point, 0) == (3, None)));
    ended.quietly(1);
}

#[test]
fn a_crash_does_not_quote_what_was_said_before_the_kernel_began() {
    let Some(layer) = Layer::new() else { return };
    let faults = no_peaks(&layer) + "vkQueueSubmit crash kernel=correlate";
    let directory = directory();
    let path = directory.path().join("profile.json");
    // Without the variable Mesa complains when the device is opened, which is
    // for vector_add.
    let profile = line("profile --device gpu --kernel vector_add --kernel conv2d --iterations 1")
        .env_remove("XDG_RUNTIME_DIR")
        .arg("-o")
        .arg(&path);
    layer.before(profile, &faults).run().quietly(1);
    let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(
        file["operations"][1]["failure"]["message"],
        "the process died of signal 11 (segmentation fault)",
        "{file:#}"
    );
}

#[test]
fn a_device_without_memory_costs_every_row_of_it() {
    let Some(layer) = Layer::new() else { return };
    // Opening it takes one allocation; VK_ERROR_OUT_OF_DEVICE_MEMORY.
    let faults = "vkAllocateMemory -2 after=1";
    let profiled = profiled(&layer, faults, "--device gpu");
    let failures = profiled.failures();
    assert_eq!(failures.len(), KERNELS, "{failures:?}");
    for (_, failure) in failures {
        assert!(failure.starts_with("out of memory: "), "{failure}");
    }
    let note = profiled.note_on_peaks();
    assert!(note.contains(": out of memory: "), "{note}");
    profiled.is_shown();
    profiled.ended.quietly(1);
}

#[test]
fn peaks_that_could_not_be_measured_cost_no_row() {
    let Some(layer) = Layer::new() else { return };
    let faults = format!("vkAllocateMemory -2 after=1 once={}", layer.once("memory"));
    let profiled = profiled(&layer, &faults, "--device gpu");
    assert_eq!(profiled.failures(), []);
    profiled.rest_is_complete(KERNELS, 1);
    let note = profiled.note_on_peaks();
    assert!(note.contains(": out of memory: "), "{note}");
    profiled.ended.quietly(1);
}

#[test]
fn memory_that_runs_out_inside_of_a_call_is_not_a_lost_device() {
    let Some(layer) = Layer::new() else { return };
    // wgpu gives the device up for these. The allocations are those behind an
    // upload; one that fails once is tried again, smaller, by wgpu itself.
    for fault in [
        "vkAllocateMemory -2 after=2",
        "vkAllocateMemory -2 after=4",
        "vkCreateComputePipelines -2",
    ] {
        let profiled = profiled(&layer, fault, "--device gpu --kernel vector_add");
        let note = profiled.note_on_peaks();
        assert!(note.contains(": out of memory: "), "{fault}: {note}");
        for (_, failure) in profiled.failures() {
            assert!(failure.starts_with("out of memory: "), "{fault}: {failure}");
        }
    }
}

#[test]
fn a_device_that_does_not_open() {
    let Some(layer) = Layer::new() else { return };
    // VK_ERROR_INITIALIZATION_FAILED.
    let profiled = profiled(&layer, "vkCreateDevice -3", "--device gpu --kernel conv2d");
    let failures = profiled.failures();
    assert!(
        matches!(&failures[..], [("conv2d", why)] if why.starts_with("unavailable: ")),
        "{failures:?}"
    );
    profiled.is_shown();
    profiled.ended.quietly(1);
}

#[test]
fn a_driver_that_writes_to_the_terminal_changes_nothing() {
    let Some(layer) = Layer::new() else { return };
    let args = "--device gpu --kernel conv2d --kernel vector_add";
    let profiled = profiled(&layer, "vkQueueSubmit noise", args);
    assert_eq!(profiled.failures(), []);
    profiled.rest_is_complete(2, 1);
    assert_eq!(profiled.peaks, 1, "{:#?}", profiled.ended);
    for noise in ["no end of line", "\"note\": \"debug\""] {
        assert!(!profiled.ended.stdout.contains(noise), "{noise}");
    }
    profiled.ended.quietly(0);
}

#[test]
fn devices_says_why_the_peaks_of_a_gpu_are_not_there() {
    let Some((gpu, layer)) = software_gpu().zip(Layer::new()) else {
        return;
    };
    let ended = layer
        .before(line("devices --measure"), "vkCreateDevice crash")
        .run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(
        ended.stderr,
        format!("{gpu} (software): its peaks could not be measured: {SEGMENTATION_FAULT}\n")
    );
    assert_eq!(ended.lines_with("arithmetic").len(), 1, "{ended:#?}");
}
