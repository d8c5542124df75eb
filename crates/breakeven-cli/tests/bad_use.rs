//! Wrong use: a clear message on stderr, nothing on stdout, exit code 2, at
//! once; no panic and no backtrace.

use std::fs;
use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;

use crate::command::{Breakeven, directory, line};
use crate::vulkan::software_gpu;

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
    assert_snapshot!(refused("profile --kernel conv2"), @"");
    assert_snapshot!(refused("profile --kernel zzz"), @"");
}

#[test]
fn counts_of_zero_and_worse() {
    assert_snapshot!(refused("profile --iterations 0"), @"");
    assert_snapshot!(refused("profile --scale 0"), @"");
    assert_snapshot!(refused("profile --runs 0"), @"");
    assert_snapshot!(refused("profile --device-timeout 0"), @"");
    assert_snapshot!(refused("profile --iterations many"), @"");
    assert_snapshot!(refused("profile --warmup -1"), @"");
    assert_snapshot!(refused("profile --iterations 4294967296"), @"");
}

#[test]
fn a_scale_that_does_not_fit_memory_is_computed_not_tried() {
    insta::with_settings!({filters => vec![
        (r"there are [\d.]+ [KMG]iB", "there are [memory]"),
        (r"--scale \d+", "--scale [n]"),
    ]}, {
        assert_snapshot!(refused("profile --device cpu --kernel conv2d --scale 100000000"), @"");
        assert_snapshot!(refused("profile --kernel vector_add --scale 1000000000"), @"");
    });
    // The first that does not fit, of all kernels.
    let all = refused("profile --scale 1000000000000");
    assert!(all.starts_with("error: vector_add ("), "{all}");
}

#[test]
fn a_scale_past_counting() {
    assert_snapshot!(refused("profile --kernel vector_add --scale 18446744073709551615"), @"");
    assert_snapshot!(refused("profile --kernel vector_add --scale 18446744073709551616"), @"");
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
fn an_image_that_is_none() {
    let directory = directory();
    let of = |path: &Path| {
        let profile = line("profile --device cpu --image").arg(path);
        refusal(profile, directory.path())
    };
    assert_snapshot!(of(&directory.path().join("missing.png")), @"");
    assert_snapshot!(of(directory.path()), @"");
    assert_snapshot!(with_file("--image", "text.png", b"not an image\n"), @"");
    assert_snapshot!(with_file("--image", "empty.jpg", b""), @"");
    let cut_off = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01";
    assert_snapshot!(with_file("--image", "cut.png", cut_off), @"");
}

#[test]
fn an_image_for_kernels_that_take_none() {
    let directory = directory();
    let path = directory.path().join("grey.png");
    image::GrayImage::new(8, 8).save(&path).unwrap();
    let profile = line("profile --device cpu --kernel vector_add --image").arg(&path);
    assert_snapshot!(refusal(profile, directory.path()), @"");
}

#[test]
fn an_output_that_cannot_be_written_is_found_before_measuring() {
    let directory = directory();
    let to = |path: &Path| {
        let profile = line("profile -o").arg(path);
        refusal(profile, directory.path())
    };
    assert_snapshot!(to(&directory.path().join("missing/profile.json")), @"");
    assert_snapshot!(to(directory.path()), @"");
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    assert_snapshot!(to(&file.join("profile.json")), @"");
    assert_snapshot!(refused("profile -o /proc/profile.json"), @"");
    let before: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(before.len(), 1, "nothing is left behind: {before:?}");
}

#[test]
#[cfg(unix)]
fn a_read_only_output_directory() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = directory();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(directory.path().join("root"), "").is_ok() {
        crate::command::skipped("the superuser may write to a read-only directory");
        return;
    }
    let profile = line("profile -o").arg(directory.path().join("profile.json"));
    assert_snapshot!(refusal(profile, directory.path()), @"");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_does_not_cost_what_was_measured() {
    let profile = "profile --device cpu --kernel vector_add --iterations 2 --warmup 0";
    let ended = line(profile).args("-o /dev/full").run();
    assert!(ended.stderr.contains("/dev/full"), "{ended:#?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    assert_ne!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stdout.contains("vector_add"), "{ended:#?}");
}

#[test]
fn a_damaged_budget_file() {
    let budget = |text: &str| with_file("--budget", "budget.toml", text.as_bytes());
    assert_snapshot!(budget("[[budget]]\noperation = \"conv2d\nmax = \"2 ms\"\n"), @"");
    assert_snapshot!(budget("[[budget]]\noperation = \"conv2d\"\nmaximum = \"2 ms\"\n"), @"");
    assert_snapshot!(budget("[[budget]]\noperation = \"conv2d\"\nmax = 2\n"), @"");
    assert_snapshot!(budget("[[budget]]\noperation = \"conv2d\"\nmax = \"2 hours\"\n"), @"");
    assert_snapshot!(budget("[[budget]]\noperation = \"conv2d\"\nmax = \"-2 ms\"\n"), @"");
    assert_snapshot!(budget("[[budget]]\nmax = \"2 ms\"\n"), @"");
    assert_snapshot!(budget(""), @"");
    assert_snapshot!(with_file("--budget", "budget.toml", b"\xff\xfe\0b\0"), @"");
}

#[test]
fn a_budget_file_that_is_not_there() {
    let directory = directory();
    let path = directory.path().join("missing.toml");
    let profile = line("profile --budget").arg(&path);
    assert_snapshot!(refusal(profile, directory.path()), @"");
    assert_snapshot!(refusal(line("profile --budget").arg(directory.path()), directory.path()), @"");
}

/// What `show` says of a file of this content.
#[track_caller]
fn shown(content: &[u8]) -> String {
    let directory = directory();
    let path = directory.path().join("profile.json");
    fs::write(&path, content).unwrap();
    refusal(line("show").arg(&path), directory.path())
}

#[test]
fn a_damaged_profile_file() {
    let profile = |operations: &str| {
        let text = format!(
            "{{\n \"format\": \"breakeven-profile\",\n \"version\": 1,\n \"operations\": [\n{operations}"
        );
        shown(text.as_bytes())
    };
    assert_snapshot!(profile("  {\"name\": \"f\", \"samples_ns\": [1, -2]}\n ]}\n"), @"");
    assert_snapshot!(profile("  {\"name\": \"f\", \"samples_ns\": [1, 2]},\n  {\"name\": 7}\n ]}\n"), @"");
    assert_snapshot!(profile("  {\"name\": \"f\", \"samples_ns\": [1, 2"), @"");
    assert_snapshot!(profile("  {\"name\": \"f\" \"samples_ns\": [1, 2]}\n ]}\n"), @"");
    assert_snapshot!(shown(b""), @"");
    assert_snapshot!(shown(b"mean,median\n1,2\n"), @"");
    assert_snapshot!(shown(b"{\"format\": \"breakeven-profile\", \"version\": 99}\n"), @"");
    assert_snapshot!(shown(b"{}\n"), @"");
    assert_snapshot!(shown(b"\x1f\x8b\x08\x00binary\xff"), @"");
}

#[test]
fn a_profile_file_that_is_not_there() {
    let directory = directory();
    let path = directory.path().join("missing.json");
    assert_snapshot!(refusal(line("show").arg(&path), directory.path()), @"");
    assert_snapshot!(refusal(line("show").arg(directory.path()), directory.path()), @"");
}

#[test]
fn command_lines_that_are_none() {
    assert_snapshot!(refused("profiel"), @"");
    assert_snapshot!(refused("show"), @"");
    assert_snapshot!(refused("profile --iteration 3"), @"");
    assert_snapshot!(refused("profile --format yaml"), @"");
    let nothing = refused("");
    assert!(nothing.contains("Usage: breakeven <COMMAND>"), "{nothing}");
}

#[test]
fn a_worker_that_a_person_starts() {
    assert_snapshot!(refused("worker"), @"");
}
