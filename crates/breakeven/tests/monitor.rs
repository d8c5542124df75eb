//! Programs that publish their figures, or cannot. Each is this test binary, run again.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::monitor::{Figures, Publisher, folders, publish, withdraw};

const CHILD: &str = "BREAKEVEN_PUBLISH_TEST_CHILD";

/// Returns what was logged.
struct Printed;

impl log::Log for Printed {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    #[allow(clippy::print_stdout, reason = "the child reports on stdout")]
    fn log(&self, record: &log::Record<'_>) {
        println!("\nLOG {}", record.args());
    }

    fn flush(&self) {}
}

/// The child's part; does nothing when it is run as a test.
#[test]
#[allow(clippy::print_stdout, reason = "the child reports on stdout")]
fn child() {
    let Ok(way) = std::env::var(CHILD) else {
        return;
    };
    log::set_logger(&Printed).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let manager = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
    let run = || {
        manager
            .operation("one")
            .map([1_u64], |task| task + 1)
            .unwrap()
    };
    let batches = || -> Vec<u64> {
        let publishers = folders()
            .into_iter()
            .flat_map(|folder| Publisher::in_folder(&folder));
        publishers.map(|one| figures(&one).stats.batches).collect()
    };
    run();
    match &*way {
        "asked" => {
            // Another manager publishes in the same place.
            let other = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
            other
                .operation("two")
                .map([1_u64], |task| task + 1)
                .unwrap();
            assert_eq!(batches(), [2]);
        }
        "by a call" => {
            assert_eq!(batches(), [0; 0]);
            publish().unwrap();
            publish().unwrap();
            run();
            assert_eq!(batches(), [1]);
            withdraw();
            withdraw();
            run();
            assert_eq!(batches(), [0; 0]);
            for _ in 0..50 {
                publish().unwrap();
                run();
                assert_eq!(batches(), [1]);
                withdraw();
            }
            assert_eq!(threads(), 0);
            publish().unwrap();
        }
        _ => {
            // It goes on, and says nothing more.
            let other = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
            other
                .operation("two")
                .map([1_u64], |task| task + 1)
                .unwrap();
            run();
            assert_eq!(batches(), [0; 0]);
        }
    }
    println!("\nDONE");
}

/// What a program says of itself.
fn figures(publisher: &Publisher) -> Figures {
    let mut stream = publisher.connect().unwrap();
    stream.set_nonblocking(false).unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    let figures: Figures = serde_json::from_slice(&text).unwrap();
    assert_eq!(figures.pid, publisher.pid);
    figures
}

/// Threads that serve figures, waited for.
fn threads() -> usize {
    let count = || {
        let tasks = fs::read_dir("/proc/self/task")
            .into_iter()
            .flatten()
            .flatten();
        let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names
            .filter(|name| name.starts_with("breakeven-monit"))
            .count()
    };
    for _ in 0..100 {
        if count() == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    count()
}

/// Runs the child, and gives what it logged.
#[track_caller]
fn logged(way: &str, asked: Option<&str>, folder: &Path) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["monitor::child", "--exact", "--nocapture"])
        .env(CHILD, way)
        .env_remove("BREAKEVEN_MONITOR")
        .env("XDG_RUNTIME_DIR", folder)
        .env("TMPDIR", "/proc/nonexistent");
    command.envs(asked.map(|asked| ("BREAKEVEN_MONITOR", asked)));
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("\nDONE"), "{output:?}");
    let lines = text.lines().filter_map(|line| line.strip_prefix("LOG "));
    lines.map(str::to_owned).collect()
}

fn left(folder: &Path) -> usize {
    fs::read_dir(folder.join("breakeven")).unwrap().count()
}

#[test]
fn it_publishes_when_it_is_asked_to_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(logged("asked", Some("1"), folder.path()), [""; 0]);
    let mode = fs::metadata(folder.path().join("breakeven"))
        .unwrap()
        .permissions();
    assert_eq!((mode.mode() & 0o777, left(folder.path())), (0o700, 0));
    assert_eq!(logged("by a call", None, folder.path()), [""; 0]);
    assert_eq!(left(folder.path()), 0);
}

#[test]
fn a_program_that_cannot_publish_says_so_once_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |place: &Path, asked: &str, why: &str| {
        let said = logged("cannot", Some(asked), place);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(why), "{said:?}");
    };
    let not_published = "this program's figures are not published for `breakeven monitor`: ";
    // Not a folder, and so one that cannot be written to by whoever the test runs as.
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    refused(&file, "1", not_published);
    refused(
        &file,
        "1",
        "XDG_RUNTIME_DIR must name a folder that this user can write to",
    );
    refused(&folder.path().join("not there"), "1", "No such file");
    let open = folder.path().join("open");
    fs::create_dir_all(open.join("breakeven")).unwrap();
    let everybody = fs::Permissions::from_mode(0o777);
    fs::set_permissions(open.join("breakeven"), everybody).unwrap();
    refused(
        &open,
        "1",
        "it must be a folder of this user's with mode 0700",
    );
    // Longer than the path of a socket can be.
    let deep = folder.path().join("d".repeat(120));
    fs::create_dir(&deep).unwrap();
    refused(&deep, "1", not_published);
    refused(
        folder.path(),
        "yes",
        "BREAKEVEN_MONITOR=\"yes\": it is 1 or 0; nothing is published",
    );
    assert_eq!(logged("cannot", Some("0"), folder.path()), [""; 0]);
    assert_eq!(logged("cannot", Some(""), folder.path()), [""; 0]);
}
