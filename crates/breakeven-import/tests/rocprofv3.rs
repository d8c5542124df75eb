//! Files of rocprofv3, made by their documented schemas.

use std::fs;

use breakeven_import::{Options, read};
use breakeven_profile::profile::{Activity, Copies};
use insta::assert_snapshot;

use crate::nsys::story;
use crate::support::{data, imported, paths, summary};

/// The story as rocprofv3 records it: it has no fills.
fn without_fills(activity: Activity) -> Activity {
    let fills = 3 * 2_000;
    let mut activity = Activity {
        device: "rocm:0".to_owned(),
        // The last step ends with the copy back, 10 µs before its fill.
        span_ns: activity.span_ns - 12_000,
        busy_ns: activity.busy_ns - fills,
        copy_ns: activity.copy_ns - fills,
        ..activity
    };
    activity.copies.retain(|copies| copies.direction != "fill");
    for stream in &mut activity.streams {
        if stream.stream == "7" {
            stream.busy_ns -= fills;
            stream.copies = 0;
        }
    }
    activity
}

#[test]
fn json() {
    let imported = imported("rocprofv3/4242_results.json");
    assert_snapshot!(format!(
        "{}{}",
        summary(&imported),
        paths(&imported.profile)
    ));
    assert_eq!(imported.profile.activity, [without_fills(story())]);
    let gpu = imported.profile.gpu("rocm:0").expect("a GPU");
    assert_eq!(gpu.name.as_deref(), Some("AMD Instinct MI300X"));
}

#[test]
fn a_folder_of_csv_files() {
    let imported = imported("rocprofv3/csv");
    assert_snapshot!(format!(
        "{}{}",
        summary(&imported),
        paths(&imported.profile)
    ));
    let mut expected = without_fills(story());
    // The number of the agent; and CSV has no bytes.
    expected.device = "rocm:2".to_owned();
    let unknown = |copies: Copies| Copies {
        bytes: None,
        ..copies
    };
    expected.copies = expected.copies.into_iter().map(unknown).collect();
    assert_eq!(imported.profile.activity, [expected]);
}

#[test]
fn a_file_alone_says_what_it_lacks() {
    let kernels = imported("rocprofv3/csv/4242_kernel_trace.csv");
    assert_snapshot!(summary(&kernels));
    let calls = imported("rocprofv3/csv/4242_hip_api_trace.csv");
    assert_snapshot!(summary(&calls));
}

#[test]
fn a_folder_with_a_file_that_was_cut_off() {
    let directory = tempfile::tempdir().expect("a folder");
    let whole = fs::read(data("rocprofv3/csv/4242_kernel_trace.csv")).expect("the file");
    fs::write(
        directory.path().join("1_kernel_trace.csv"),
        &whole[..whole.len() / 2],
    )
    .expect("a file");
    let imported = read(directory.path(), &Options::default()).expect("the rows before");
    assert_snapshot!(summary(&imported));
}
