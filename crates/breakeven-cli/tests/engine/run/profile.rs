//! What a run leaves in a profile.

use super::{ended, fed, numbers, run};
use crate::command::{directory, line, show};

#[test]
fn a_profile_has_jobs_and_decisions_and_is_read_by_the_other_commands() {
    let directory = directory();
    let profile = |name: &str, seconds: &str| {
        let file = directory.path().join(name);
        let cpu = format!("sleep {seconds}; true {{}}");
        let args = [
            "--gpu",
            "sleep 0.02; true {}",
            "--name",
            "thumbnails",
            "--jobs",
            "2",
        ];
        let child = fed(run(&cpu, args).arg("--profile").arg(&file), &numbers(60));
        let ended = ended(child);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        file
    };
    let (before, after) = (profile("a.json", "0.02"), profile("b.json", "0.06"));
    let document = show(&before, "--format json").quietly(0).json();
    let operations = document["operations"].as_array().unwrap();
    let jobs = |device: &str| {
        let is_it = |each: &&serde_json::Value| {
            each["name"] == "thumbnails:job" && each["device"] == device
        };
        let found = operations
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{document:#}"));
        found["figures"]["summary"]["count"].as_u64().unwrap()
    };
    assert_eq!(jobs("cpu") + jobs("gpu:0"), 60);
    let batch = operations
        .iter()
        .find(|each| each["name"] == "thumbnails")
        .unwrap();
    assert_eq!(batch["size"], 60);
    assert_eq!(batch["executions"]["decided"], "rule");
    let compared = line("compare --baseline")
        .arg(&before)
        .arg("--current")
        .arg(&after)
        .run();
    assert_eq!(compared.code, Some(0), "{compared:#?}");
    assert!(compared.stdout.contains("thumbnails:job"), "{compared:#?}");
    let advised = line("advise").arg(&before).run();
    assert_eq!(advised.code, Some(0), "{advised:#?}");
}

#[test]
fn what_was_decided_is_explained() {
    let args = ["--gpu", "true", "--explain", "--name", "explained"];
    let ended = ended(fed(run("true", args), &numbers(20)));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(
        ended.stderr.contains("explained: 20 tasks in "),
        "{ended:#?}"
    );
    assert!(
        ended.stderr.contains("why: rule; every device began"),
        "{ended:#?}"
    );
}

/// It was wrong use, 2.
#[test]
fn a_profile_that_a_full_disk_has_no_room_for_is_a_failure() {
    if !std::path::Path::new("/dev/full").exists() {
        return crate::command::skipped("there is no /dev/full");
    }
    let ended = ended(fed(run("true", ["--profile", "/dev/full"]), &numbers(3)));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
}
