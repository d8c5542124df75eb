//! Programs that publish anything but what ours do, and what is made of two readings.

use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;

use breakeven::monitor::{Publisher, VERSION};
use breakeven_machine::linux;

use super::*;

/// A folder of sockets, of processes that sleep.
struct Made {
    folder: tempfile::TempDir,
    children: Vec<Child>,
}

impl Made {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("breakeven");
        DirBuilder::new().mode(0o700).create(own).expect("a folder");
        let children = Vec::new();
        Self { folder, children }
    }

    fn folder(&self) -> PathBuf {
        self.folder.path().join("breakeven")
    }

    /// The socket of a process that lives.
    fn socket(&mut self) -> (u32, UnixListener) {
        let child = Command::new("sleep").arg("600").spawn().expect("it starts");
        let pid = child.id();
        self.children.push(child);
        let listener = UnixListener::bind(self.folder().join(socket_of(pid)));
        (pid, listener.expect("a socket"))
    }

    /// A process whose every reader is treated so.
    fn answers(&mut self, each: impl Fn(u32, UnixStream) + Send + 'static) {
        let (pid, listener) = self.socket();
        // Ends with the test's process.
        thread::spawn(move || {
            let streams = listener.incoming().flatten();
            streams.for_each(|stream| each(pid, stream));
        });
    }

    fn programs(&self) -> Programs {
        Programs::of_folders(vec![self.folder()])
    }
}

/// The name of a process's socket.
fn socket_of(pid: u32) -> String {
    let stat = linux::text(format!("/proc/{pid}/stat")).unwrap_or_default();
    let started = linux::process_stat(&stat).map_or(0, |process| process.started);
    format!("{pid}-{started}.sock")
}

impl Drop for Made {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn figures(pid: u32) -> Figures {
    Figures {
        version: VERSION,
        pid,
        name: "made up".to_owned(),
        since_s: 1.0,
        stats: ManagerStats::default(),
        quarantines: Default::default(),
        operations: Vec::new(),
        decisions: Vec::new(),
    }
}

fn json(figures: &Figures) -> Vec<u8> {
    serde_json::to_vec(figures).expect("it serialises")
}

/// Why the only program there is was left out.
#[track_caller]
fn refused(programs: &mut Programs) -> String {
    let start = Instant::now();
    let reading = programs.read();
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(reading.programs, []);
    assert_eq!(reading.left_out.len(), 1, "{reading:?}");
    reading.left_out[0].why.clone()
}

#[test]
fn what_is_no_answer_is_left_out_with_the_reason() {
    let sends = |bytes: Vec<u8>| {
        let mut made = Made::new();
        made.answers(move |_, mut stream| drop(stream.write_all(&bytes)));
        refused(&mut made.programs())
    };
    let garbage = "its answer is not that of a program that uses breakeven: ";
    let half = json(&figures(1))[..20].to_vec();
    let nested = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    for bytes in [
        b"\x1b[2J\0garbage".to_vec(),
        Vec::new(),
        half,
        b"{}".to_vec(),
        nested,
    ] {
        let said = sends(bytes);
        assert!(said.starts_with(garbage), "{said}");
    }
    assert_eq!(sends(json(&figures(1))), "it says that it is process 1");
    let newer = Figures {
        version: 7,
        ..figures(1)
    };
    let said = sends(json(&newer));
    assert_eq!(
        said,
        "it sends version 7 of the figures, and this build reads 1: use the program's version of breakeven"
    );
    // More than is read, and without an end.
    let mut made = Made::new();
    made.answers(|_, mut stream| while stream.write_all(&[b' '; 4096]).is_ok() {});
    assert_eq!(refused(&mut made.programs()), "it sends more than 1024 KiB");
}

#[test]
fn one_that_hangs_costs_a_quarter_of_a_second_however_often_it_is_asked() {
    let mut made = Made::new();
    let (_, listener) = made.socket();
    let answered = made.children[0].id();
    let text = json(&figures(answered));
    let (pid, second) = made.socket();
    thread::spawn(move || {
        // Sends the half of it, and sleeps.
        let streams: Vec<UnixStream> = (second.incoming().flatten())
            .inspect(|mut stream| drop(stream.write_all(&text[..9])))
            .collect();
        drop(streams);
    });
    let mut programs = made.programs();
    // Nobody accepts: with time the queue is full, which would stop one that waits.
    let publishers = Publisher::in_folder(&made.folder());
    let full = publishers.iter().find(|one| one.pid == answered);
    let full = full.expect("its socket is there");
    let is_full = (0..100_000).any(|_| full.connect().is_err());
    assert!(is_full, "a queue without an end");
    for _ in 0..3 {
        let start = Instant::now();
        let reading = programs.read();
        assert!(
            start.elapsed() < Duration::from_secs(2),
            "{:?}",
            start.elapsed()
        );
        let why: Vec<_> = reading
            .left_out
            .iter()
            .map(|each| each.why.as_str())
            .collect();
        assert_eq!(
            why,
            ["it did not answer within 250 ms: it hangs or is stopped"; 2]
        );
        assert!(reading.left_out.iter().any(|each| each.pid == pid));
    }
    drop(listener);
}

#[test]
fn sockets_of_the_dead_are_removed_and_others_are_left() {
    let mut made = Made::new();
    let (pid, listener) = made.socket();
    drop(listener);
    let mut child = made.children.pop().expect("it was started");
    let folder = made.folder();
    let count = || fs::read_dir(&folder).expect("a folder").count();
    // It lives: perhaps it will listen in a moment.
    assert_eq!(made.programs().read(), ProgramsReading::default());
    assert_eq!(count(), 1);
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    assert_eq!(made.programs().read(), ProgramsReading::default());
    assert_eq!(count(), 0);
    // The id of a process that lives, of one that was before it.
    let own = std::process::id();
    drop(UnixListener::bind(folder.join(format!("{own}-1.sock"))).expect("a socket"));
    fs::write(folder.join("notes.txt"), "").expect("a file");
    assert_eq!(made.programs().read(), ProgramsReading::default());
    if cfg!(target_os = "linux") {
        assert_eq!(count(), 1);
    }
    assert_ne!(pid, own);
}

#[test]
fn what_exceeds_the_bounds_is_cut_and_crowds_are_counted() {
    let mut made = Made::new();
    let long = "\u{1b}[31m".repeat(100);
    made.answers(move |pid, mut stream| {
        let operation = |number: u32| OperationFigures {
            name: format!("{number}{long}"),
            tasks: (0..20).map(|n| (format!("{n}{long}"), n)).collect(),
            ..OperationFigures::default()
        };
        let decision = DecisionFigures {
            ago_s: 0.0,
            text: long.clone(),
        };
        let figures = Figures {
            name: long.clone(),
            operations: (0..40).map(operation).collect(),
            decisions: vec![decision; 100],
            ..figures(pid)
        };
        drop(stream.write_all(&json(&figures)));
    });
    let reading = made.programs().read();
    let program = &reading.programs[0];
    let bounds = (program.operations.len(), program.decisions.len());
    assert_eq!(bounds, (33, 16));
    assert_eq!(program.operations[0].tasks.len(), 17);
    for text in [
        &program.name,
        &program.operations[0].name,
        &program.decisions[0].text,
    ] {
        assert_eq!(text.chars().count(), 240);
    }
    let (_, listener) = made.socket();
    let pid = made.children[1].id();
    for number in 1..=80 {
        let name = made.folder().join(format!("{pid}-{number}.sock"));
        fs::write(name, "").expect("a file");
    }
    let reading = made.programs().read();
    assert_eq!(reading.beyond, 82 - 64);
    drop(listener);
}

#[test]
fn rates_and_latencies_are_those_of_the_time_between_readings() {
    let at = |since_s: f64, batches: u64, ms: &[u64]| {
        let mut latency = Latency::default();
        ms.iter()
            .for_each(|ms| latency.add(Duration::from_millis(*ms)));
        let operation = |name: &str, batches, latency| OperationFigures {
            name: name.to_owned(),
            batches,
            latency,
            ..OperationFigures::default()
        };
        let mut figures = figures(1);
        figures.since_s = since_s;
        figures.stats.batches = batches + 50;
        figures.operations = vec![
            operation("idle", 50, Latency::default()),
            operation("busy", batches, latency),
        ];
        figures
    };
    let start = Instant::now();
    let after = |seconds| start + Duration::from_secs(seconds);
    let mut seen = Tracked::default();
    let first = seen.take(start, at(10.0, 2, &[800, 800]));
    assert_eq!(
        (first.batches_per_s, first.operations[0].batches_per_s),
        (None, None)
    );
    // Without a rate the one with the most batches is first.
    assert_eq!(first.operations[0].name, "idle");
    let p50 = |reading: &ProgramReading, name: &str| {
        let mut all = reading.operations.iter();
        let operation = all
            .find(|operation| operation.name == name)
            .expect("it is there");
        operation
            .latency
            .map(|latency| (1e3 * latency.p50_s, latency.batches))
    };
    let is_near = |found: Option<(f64, u64)>, ms: f64, batches: u64| {
        let (p50, of) = found.expect("there are batches");
        assert!(
            (p50 / ms - 1.0).abs() < 0.04 && of == batches,
            "{p50} ms of {of}"
        );
    };
    is_near(p50(&first, "busy"), 800.0, 2);
    assert_eq!(p50(&first, "idle"), None);
    let second = seen.take(after(2), at(12.0, 6, &[800, 800, 1, 1, 1, 1]));
    assert_eq!(second.batches_per_s, Some(2.0));
    assert_eq!(second.operations[0].name, "busy");
    assert_eq!(second.operations[1].batches_per_s, Some(0.0));
    is_near(p50(&second, "busy"), 1.0, 4);
    // Two minutes without a batch: those of all time.
    seen.take(after(70), at(80.0, 6, &[800, 800, 1, 1, 1, 1]));
    let quiet = seen.take(after(140), at(150.0, 6, &[800, 800, 1, 1, 1, 1]));
    is_near(p50(&quiet, "busy"), 1.0, 6);
    assert_eq!(quiet.batches_per_s, Some(0.0));
    // It was withdrawn and began anew.
    let anew = seen.take(after(141), at(0.5, 1, &[5]));
    assert_eq!(anew.batches_per_s, None);
    is_near(p50(&anew, "busy"), 5.0, 1);
}
