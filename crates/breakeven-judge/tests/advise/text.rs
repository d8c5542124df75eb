//! What the library prints and writes.

use breakeven_judge::advise::ProfilerOptimizer;
use breakeven_profile::profile::Profile;
use insta::assert_snapshot;

use super::{MS, around, benchmark, gpu, operation, peak, profile, recorded};

fn example() -> Profile {
    let mut blur = operation("blur", "cpu", around(12.0 * MS, 20));
    blur.size = Some(4096);
    blur.memory_bytes = Some(200_000_000);
    let mut on_gpu = operation("blur", "cuda:0", around(3.0 * MS, 20));
    on_gpu.size = Some(4096);
    on_gpu.gpu_use = Some(0.3);
    let look_up = operation("look\u{1b}up", "vulkan:0", vec![40_000.0; 500]);
    let mut profile = recorded(profile(vec![blur, on_gpu, look_up]));
    profile.environment.gpus = vec![gpu("cuda:0", "discrete"), gpu("vulkan:0", "software")];
    let mut launch = peak("vulkan:0");
    launch.launch_ns = Some(9_000.0);
    profile.evidence.peaks = vec![launch];
    profile
}

fn printed(print: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut text = Vec::new();
    print(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn suggestions() {
    let optimizer = ProfilerOptimizer::new(&example());
    assert_snapshot!(printed(|out| optimizer.print_suggestions(4, out)));
}

#[test]
fn summaries() {
    let summary = |profile: &Profile| {
        let optimizer = ProfilerOptimizer::new(profile);
        printed(|out| optimizer.print_summary(out))
    };
    assert_snapshot!(summary(&example()));
    assert_snapshot!(
        summary(&Profile::default()),
        @"No advice: the profile has no operation that can be judged."
    );
    let quick = profile(vec![operation("f", "cpu", vec![1_000.0; 3])]);
    assert_snapshot!(
        summary(&quick),
        @"No advice: 7 rules examined 1 operation, and none applied."
    );
    assert_snapshot!(summary(&benchmark(quick)), @r"
    No advice: 7 rules examined 1 operation, and none applied.
    The samples are iterations of a benchmark: fractions are of the measured time,
    and batching or caching the iterations is not advised.
    ");
    let unmarked = profile(vec![operation("f", "cpu", vec![1_000.0; 300])]);
    assert_snapshot!(summary(&unmarked), @r"
    The profile has no data from which to estimate the gain.
    The file does not say whether its samples are calls of a program or iterations
    of a benchmark; for a benchmark, ignore BATCHING and CACHING.
    ");
}

#[test]
fn json() {
    let optimizer = ProfilerOptimizer::new(&example());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("advice.json");
    optimizer.export_suggestions(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, printed(|out| optimizer.write_suggestions(out)));
    assert_snapshot!(text);
}

#[test]
fn a_place_that_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("none").join("advice.json");
    let error = ProfilerOptimizer::new(&example())
        .export_suggestions(&path)
        .unwrap_err();
    assert!(error.to_string().contains("cannot be used"), "{error}");
}
