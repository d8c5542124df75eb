//! Wrong use: a clear message on stderr, nothing on stdout, exit code 2, at
//! once; no panic and no backtrace.

use std::fs;
use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;

use crate::command::{Breakeven, directory, line};
use crate::engine::vulkan::software_gpu;

/// Detection starts a process and asks drivers; measuring takes longer than this.
const AT_ONCE: Duration = Duration::from_secs(5);

/// What is said, with `directory` and what differs between machines replaced.
#[track_caller]
fn refusal(breakeven: Breakeven, directory: &Path) -> String {
    let ended = breakeven.run();
    assert!(ended.took < AT_ONCE, "{ended:#?}");
    let said = ended.refusal();
    said.replace(directory.to_str().unwrap(), "[dir]")
}

/// The refusal of a command line without files.
#[track_caller]
fn refused(args: &str) -> String {
    refusal(line(args), Path::new("[no directory]"))
}

/// `profile` with a file of this content as an option's value.
#[track_caller]
fn with_file(option: &str, name: &str, content: &[u8]) -> String {
    let directory = directory();
    let path = directory.path().join(name);
    fs::write(&path, content).unwrap();
    let profile = line("profile --device cpu").arg(option).arg(&path);
    refusal(profile, directory.path())
}

#[test]
fn an_unknown_kernel() {
    assert_snapshot!(refused("profile --kernel conv2"), @r#"
    error: invalid value 'conv2' for '--kernel <NAME>': there is no such kernel; did you mean "conv2d"? there are vector_add, vector_add_batch, dot_product, matrix_multiply, tensor_core_matmul, conv2d, pixel_entropy, image_segmentation, ar_forecast, lstm_cell_forward, dendritic_integration

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("profile --kernel zzz"), @r#"
    error: invalid value 'zzz' for '--kernel <NAME>': there is no such kernel; there are vector_add, vector_add_batch, dot_product, matrix_multiply, tensor_core_matmul, conv2d, pixel_entropy, image_segmentation, ar_forecast, lstm_cell_forward, dendritic_integration

    For more information, try '--help'.
    "#);
}

#[test]
fn counts_of_zero_and_worse() {
    assert_snapshot!(refused("profile --iterations 0"), @r#"
    error: invalid value '0' for '--iterations <N>': give a whole number, 1 or more

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("profile --scale 0"), @r#"
    error: invalid value '0' for '--scale <N>': give a whole number, 1 or more

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("profile --runs 0"), @r#"
    error: invalid value '0' for '--runs <N>': give a whole number, 1 or more

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("profile --device-timeout 0s"), @r#"
    error: invalid value '0s' for '--device-timeout <TIME>': give whole seconds, 1s or more

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("profile --iterations many"), @r#"
    error: invalid value 'many' for '--iterations <N>': give a whole number, 1 or more

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("profile --warmup -1"), @r#"
    error: unexpected argument '-1' found

      tip: to pass '-1' as a value, use '-- -1'

    Usage: breakeven profile [OPTIONS] [-- <CMD>...]

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("profile --iterations 4294967296"), @r#"
    error: invalid value '4294967296' for '--iterations <N>': the number is too large

    For more information, try '--help'.
    "#);
}

#[test]
fn a_scale_that_does_not_fit_memory_is_computed_not_tried() {
    insta::with_settings!({filters => vec![
        (r"there are [\d.]+ [KMG]iB", "there are [memory]"),
    ]}, {
        assert_snapshot!(refused("profile --device cpu --kernel conv2d --scale 100000000"), @"error: conv2d (100000000 × 256×256, 3×3 Sobel, stride 1, padding 1) would take 47.7 TiB of memory, and there are [memory]; choose a smaller --scale");
        assert_snapshot!(refused("profile --device cpu --kernel vector_add --scale 1000000000"), @"error: vector_add (100000000000000 elements) would take 1 091 TiB of memory, and there are [memory]; choose a smaller --scale");
    });
    // The first that does not fit, of all kernels.
    let all = refused("profile --scale 1000000000000");
    assert!(all.starts_with("error: vector_add ("), "{all}");
}

/// The commands without a supervisor in front refuse it too, before anything is allocated.
#[test]
fn inputs_that_do_not_fit_memory_are_refused() {
    for line in [
        "tune conv2d --device cpu --scale 100000000000000",
        "ab --kernel conv2d size=4294967295 default",
        "ab --chain conv2d,pixel_entropy size=4294967295 default",
        "plan --chain conv2d --size 4294967295",
        "plan --chain conv2d --tasks 18446744073709551615",
    ] {
        let said = refused(line);
        assert!(said.contains("of memory, and there are"), "{line}: {said}");
    }
}

#[test]
fn slots_and_batches_beyond_all_measure_run() {
    for option in ["--gpu-slots", "--gpu-batch"] {
        let run = "run --cpu true --gpu true --strategy cpu-only -j 1 a";
        let ended = line(run).arg(option).arg("18446744073709551615").run();
        assert_eq!(ended.code, Some(0), "{option}: {ended:?}");
    }
}

#[test]
fn a_scale_past_counting() {
    assert_snapshot!(refused("profile --kernel vector_add --scale 18446744073709551615"), @"error: vector_add at scale 18446744073709551615 is larger than can be counted");
    assert_snapshot!(refused("profile --kernel vector_add --scale 18446744073709551616"), @r#"
    error: invalid value '18446744073709551616' for '--scale <N>': the number is too large

    For more information, try '--help'.
    "#);
    let counted = refused("profile --kernel conv2d --scale 18446744073709551615");
    assert!(counted.starts_with("error: conv2d ("), "{counted}");
}

#[test]
fn an_unknown_device() {
    let said = refused("profile --device cuda:none");
    let start = "error: there is no device \"cuda:none\" here; there are: cpu";
    assert!(said.starts_with(start), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    if let Some(gpu) = software_gpu() {
        assert!(said.contains(gpu), "{said}");
    }
}

#[test]
fn a_list_of_devices() {
    let said = refused("profile --device cpu,cuda:none");
    assert!(said.contains("no device \"cuda:none\" here"), "{said}");
    assert_snapshot!(refused("sweep dot_product --devices cpu,cpu"), @"error: --device cpu,cpu: cpu is given twice; remove one");
    let said = refused("profile --device cpu,");
    assert!(
        said.starts_with("error: there is no device \"\" here; there are: cpu"),
        "{said}"
    );
    if let Some(gpu) = software_gpu() {
        let args = format!("profile --strategy gpu-only --device cpu,{gpu}");
        assert!(refused(&args).contains("name only GPUs"));
    }
}

#[test]
fn an_output_that_cannot_be_written_is_found_before_measuring() {
    let directory = directory();
    let to = |path: &Path| {
        let profile = line("profile -o").arg(path);
        refusal(profile, directory.path())
    };
    assert_snapshot!(to(&directory.path().join("missing/profile.json")), @"error: [dir]/missing/profile.json: the directory [dir]/missing cannot be used: No such file or directory (os error 2)");
    assert_snapshot!(to(directory.path()), @"error: [dir]: is a directory; name a file in it");
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    assert_snapshot!(to(&file.join("profile.json")), @"error: [dir]/file/profile.json: cannot be written: Not a directory (os error 20)");
    let before: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(before.len(), 1, "nothing is left behind: {before:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_does_not_cost_what_was_measured() {
    let profile = "profile --device cpu --kernel vector_add --iterations 2 --warmup 0";
    let ended = line(profile).args("-o /dev/full").run();
    assert!(ended.stderr.contains("/dev/full"), "{ended:#?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("vector_add"), "{ended:#?}");
}

#[test]
fn a_damaged_budget_file() {
    let budget = |text: &str| with_file("--budget", "budget.toml", text.as_bytes());
    assert_snapshot!(budget("[[budget]]\noperation = \"conv2d\nmax = \"2 ms\"\n"), @r#"error: budget file [dir]/budget.toml: line 2, column 20: invalid basic string, expected `"`"#);
    assert_snapshot!(budget("[[budget]]\noperation = \"conv2d\"\nmaximum = \"2 ms\"\n"), @"error: budget file [dir]/budget.toml: line 3, column 1: unknown field `maximum`, expected one of `operation`, `device`, `size`, `max`, `max_memory`, `max_increase`");
    assert_snapshot!(budget("[[budget]]\noperation = \"conv2d\"\nmax = 2\n"), @"error: budget file [dir]/budget.toml: line 3, column 7: invalid type: integer `2`, expected a text in quotes");
    assert_snapshot!(budget("[[budget]]\noperation = \"conv2d\"\nmax = \"2 hours\"\n"), @r#"error: budget file [dir]/budget.toml: budget of "conv2d": "2 hours" is not a duration; write a number and a unit, as in "2 ms" or "800 us""#);
    assert_snapshot!(budget("[[budget]]\noperation = \"conv2d\"\nmax = \"-2 ms\"\n"), @r#"error: budget file [dir]/budget.toml: budget of "conv2d": "-2 ms" is not a duration; write a number and a unit, as in "2 ms" or "800 us""#);
    assert_snapshot!(budget("[[budget]]\nmax = \"2 ms\"\n"), @"error: budget file [dir]/budget.toml: line 1, column 1: missing field `operation`");
    assert_snapshot!(budget(""), @"error: budget file [dir]/budget.toml: there is no [[budget]] in the file; add one with `operation` and `max`, or [thresholds]");
    assert_snapshot!(with_file("--budget", "budget.toml", b"\xff\xfe\0b\0"), @"error: cannot read the budget file [dir]/budget.toml: stream did not contain valid UTF-8");
}

#[test]
fn a_budget_file_that_is_not_there() {
    let directory = directory();
    let path = directory.path().join("missing.toml");
    let profile = line("profile --budget").arg(&path);
    assert_snapshot!(refusal(profile, directory.path()), @"error: cannot read the budget file [dir]/missing.toml: No such file or directory (os error 2)");
    assert_snapshot!(refusal(line("profile --budget").arg(directory.path()), directory.path()), @"error: cannot read the budget file [dir]: Is a directory (os error 21)");
}

#[test]
fn command_lines_that_are_none() {
    assert_snapshot!(refused("profiel"), @r#"
    error: unrecognized subcommand 'profiel'

      tip: a similar subcommand exists: 'profile'

    Usage: breakeven <COMMAND>

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("show"), @r#"
    error: the following required arguments were not provided:
      <FILE>

    Usage: breakeven show <FILE>

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("profile --iteration 3"), @r#"
    error: unexpected argument '--iteration' found

      tip: a similar argument exists: '--iterations'
      tip: to pass '--iteration' as a value, use '-- --iteration'

    Usage: breakeven profile --iterations <N> [-- <CMD>...]

    For more information, try '--help'.
    "#);
    assert_snapshot!(refused("profile --format yaml"), @r#"
    error: invalid value 'yaml' for '--format <FORMAT>'
      [possible values: table, json, markdown, csv]

    For more information, try '--help'.
    "#);
    let nothing = refused("");
    assert!(nothing.contains("Usage: breakeven <COMMAND>"), "{nothing}");
}

#[test]
fn a_worker_that_a_person_starts() {
    assert_snapshot!(refused("worker"), @"error: `breakeven worker` is started by `breakeven profile` and not for direct use: EOF while parsing a value at line 1 column 0");
}
