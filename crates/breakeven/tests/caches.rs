//! Files of the cache: nothing that was learned is lost, and nobody waits for them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::{Costs, ErrorKind};
use breakeven_profile::profile::Peak;
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("costs.json");
    (directory, path)
}

fn manager(path: &Path) -> StrategyManager<RayonCpu> {
    let costs = Arc::new(Costs::load(path).0);
    StrategyManager::cpu_only(Arc::new(RayonCpu::current())).with_costs(costs)
}

fn learn(manager: &StrategyManager<RayonCpu>, operation: &str) {
    let tasks: Vec<u64> = (0..100).collect();
    let result = manager.operation(operation).map(&tasks, |task| task + 1);
    assert_eq!(result.unwrap().outputs.len(), 100);
}

fn known(path: &Path) -> Vec<String> {
    let (costs, warning) = Costs::load(path);
    assert_eq!(warning, None);
    costs.operations()
}

fn peak(device: &str) -> Peak {
    Peak {
        device: device.to_owned(),
        flops_per_s: Some(1.0),
        ..Peak::default()
    }
}

#[test]
fn peaks_that_are_kept_at_once_are_all_kept() {
    let (_directory, path) = place();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let costs = Costs::load(path).0;
                for number in 0..5 {
                    let device = format!("device {thread}.{number}");
                    costs.keep_peaks(&[peak(&device)]).unwrap();
                }
            });
        }
    });
    assert_eq!(Costs::load(&path).0.peaks().len(), 40);
}

#[test]
fn peaks_of_a_newer_version_are_left_alone_and_damage_is_put_aside() {
    let (_directory, path) = place();
    let file = path.with_file_name("peaks.json");
    let newer = r#"{"format":"breakeven-peaks","version":2,"peaks":{}}"#;
    fs::write(&file, newer).unwrap();
    let costs = Costs::load(&path).0;
    let error = costs.keep_peaks(&[peak("cpu")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::File);
    assert!(
        error.to_string().contains("peaks.json: is of version 2"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), newer);
    assert_eq!(*costs.peaks(), [peak("cpu")], "in memory all the same");

    fs::write(&file, "{").unwrap();
    costs.keep_peaks(&[peak("cpu")]).unwrap();
    assert_eq!(*Costs::load(&path).0.peaks(), [peak("cpu")]);
    let aside = path.with_file_name("peaks.json.damaged-1");
    assert_eq!(fs::read_to_string(aside).unwrap(), "{");
}

#[test]
fn what_was_learned_is_on_disk_when_the_manager_has_ended() {
    let (_directory, path) = place();
    let manager = manager(&path);
    learn(&manager, "first");
    learn(&manager, "second");
    drop(manager);
    assert_eq!(known(&path), ["first", "second"]);
}

/// Not a test: a process that ends and leaves its manager.
#[test]
#[ignore = "run by what_was_learned_is_on_disk_when_the_process_ends_before_its_manager"]
fn end_before_the_manager() {
    let path = env::var_os("BREAKEVEN_TEST_COSTS").unwrap();
    let manager = manager(Path::new(&path));
    learn(&manager, "learned");
    std::mem::forget(manager);
    std::process::exit(0);
}

#[cfg(unix)]
#[test]
fn what_was_learned_is_on_disk_when_the_process_ends_before_its_manager() {
    let (_directory, path) = place();
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["caches::end_before_the_manager", "--exact", "--ignored"]);
    assert!(
        child
            .env("BREAKEVEN_TEST_COSTS", &path)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(known(&path), ["learned"]);
}

#[test]
fn what_is_learned_is_written_about_once_a_second() {
    let (_directory, path) = place();
    let manager = manager(&path);
    let mut writes: Vec<SystemTime> = Vec::new();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(3_500) {
        learn(&manager, "often");
        let written = fs::metadata(&path).and_then(|found| found.modified());
        writes.extend(written.ok().filter(|at| writes.last() != Some(at)));
    }
    assert!((1..=4).contains(&writes.len()), "{writes:?}");
    assert_eq!(known(&path), ["often"]);
    drop(manager);
    // Managers that come and go share that second.
    let costs = Arc::new(Costs::load(&path).0);
    let (mut writes, start) = (Vec::new(), Instant::now());
    while start.elapsed() < Duration::from_millis(1_500) {
        let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
        learn(&manager.with_costs(Arc::clone(&costs)), "often");
        let written = fs::metadata(&path)
            .and_then(|found| found.modified())
            .unwrap();
        writes.extend(Some(written).filter(|at| writes.last() != Some(at)));
    }
    assert!(writes.len() <= 4, "{writes:?}");
}

#[test]
fn a_batch_does_not_wait_for_a_file_that_another_process_holds() {
    let (_directory, path) = place();
    let held = fs::File::create(path.with_file_name("costs.json.lock")).unwrap();
    held.lock().unwrap();
    let manager = manager(&path);
    let start = Instant::now();
    let mut times = Vec::new();
    while start.elapsed() < Duration::from_millis(2_500) {
        let start = Instant::now();
        learn(&manager, "held up");
        times.push(start.elapsed());
    }
    times.sort_unstable();
    // One in a hundred may meet a busy machine.
    let most = times[times.len() * 99 / 100];
    assert!(most < Duration::from_millis(50), "{most:?}");
    let start = Instant::now();
    drop(manager);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(known(&path).is_empty());
    held.unlock().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while known(&path).is_empty() {
        assert!(Instant::now() < until, "it is never saved");
        std::thread::sleep(Duration::from_millis(20));
    }
}
