//! Wrong use of `profile --strategy`: a clear message on stderr, exit code 2.

use insta::assert_snapshot;

use crate::command::line;

#[track_caller]
fn refused(args: &str) -> String {
    line("profile").args(args).run().refusal()
}

#[test]
fn a_strategy_that_is_none() {
    assert_snapshot!(refused("--strategy gpu"), @r#"
    error: invalid value 'gpu' for '--strategy <STRATEGY>': "gpu" is not a strategy; give auto, cpu-only, gpu-only or hybrid:GPU/CPU in percent, as in hybrid:60/40

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("--strategy hybrid:60/60"), @r#"
    error: invalid value 'hybrid:60/60' for '--strategy <STRATEGY>': hybrid:60/60 sums to 120 %; the GPU's and the CPU's percentages must sum to 100

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("--strategy hybrid:60"), @r#"
    error: invalid value 'hybrid:60' for '--strategy <STRATEGY>': "hybrid:60" is not a strategy; give auto, cpu-only, gpu-only or hybrid:GPU/CPU in percent, as in hybrid:60/40

    For more information, try '--help'.
    "#);
}

#[test]
fn tasks_that_cannot_be() {
    assert_snapshot!(refused("--strategy auto --tasks 0"), @r#"
    error: invalid value '0' for '--tasks <N>': give a whole number, 1 or more

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("--tasks 8"), @r#"
    error: the following required arguments were not provided:
      --strategy <STRATEGY>

    Usage: breakeven profile --strategy <STRATEGY> --tasks <N> [-- <CMD>...]

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("--strategy auto --tasks 8 --scale 2"), @r#"
    error: the argument '--tasks <N>' cannot be used with '--scale <N>'

    Usage: breakeven profile --strategy <STRATEGY> --tasks <N> [-- <CMD>...]

    For more information, try '--help'.
    "#);
}

#[test]
fn options_that_say_nothing_of_a_batch() {
    assert_snapshot!(refused("--strategy gpu-only --device cpu"), @"error: --strategy gpu-only needs a GPU, and --device cpu excludes all; remove one of them");
}

#[test]
fn a_gpu_that_is_not_there_was_asked_for() {
    let said = refused("--strategy gpu-only --device cuda:none");
    let start = "error: there is no device \"cuda:none\" here; there are: cpu";
    assert!(said.starts_with(start), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn batches_that_do_not_fit_memory_are_computed_not_tried() {
    insta::with_settings!({filters => vec![
        (r"there are [\d.]+ [KMG]iB", "there are [memory]"),
        (r"[\d ]+ TiB", " [n] TiB"),
    ]}, {
        assert_snapshot!(refused("--strategy cpu-only --kernel conv2d --tasks 4000000000"), @"error: conv2d (4000000000 tasks of 256×256, 3×3 Sobel, stride 1, padding 1) would take [n] TiB of memory, and there are [memory]; choose a smaller --tasks");
        assert_snapshot!(refused("--strategy auto --scale 1000000000"), @"error: vector_add (100000000000 tasks of 1000 elements) would take [n] TiB of memory, and there are [memory]; choose a smaller --scale");
    });
    let counted = refused("--strategy auto --kernel conv2d --scale 18446744073709551615");
    assert_snapshot!(counted, @"error: conv2d at scale 18446744073709551615 has more tasks than can be counted");
}

#[test]
fn a_budget_of_what_is_not_executed() {
    let directory = crate::command::directory();
    let budget = directory.path().join("budget.toml");
    let write = |text: &str| std::fs::write(&budget, text).unwrap();
    let profile = |args: &str| {
        let profile = line("profile --iterations 2 --warmup 0 --strategy cpu-only");
        profile.args(args).arg("--budget").arg(&budget).run()
    };
    write("[[budget]]\noperation = \"conv2d\"\nsize = 65536\nmax = \"2 s\"\n");
    let said = profile("--kernel conv2d").refusal();
    assert!(
        said.contains("its operation will not be measured"),
        "{said}"
    );
    write("[[budget]]\noperation = \"vector_add\"\nsize = 7\nmax = \"2 s\"\n");
    let within = profile("--kernel vector_add --tasks 7").quietly(0);
    assert_eq!(within.lines_with("within").len(), 1, "{within:#?}");
}

#[test]
fn objectives_that_are_none() {
    let said = refused("--strategy auto --objective fast");
    assert!(
        said.contains("\"fast\" is no objective; give time, energy, cost or"),
        "{said}"
    );
    let said = refused("--strategy auto --objective cost --prices none.toml");
    assert!(
        said.contains("none.toml: the prices cannot be read"),
        "{said}"
    );
    let said = refused("--objective energy");
    assert!(said.contains("--strategy <STRATEGY>"), "{said}");
}
