//! `breakeven run`: jobs of any command, whatever happens to them and to it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::command::{Breakeven, Ended, breakeven};

mod gpu;
mod inputs;
mod joblog;
mod order;
mod profile;
mod slots;
mod stopped;
mod wrong;

/// Longer than anything here takes on a machine under load.
const PATIENCE: Duration = Duration::from_secs(60);

/// `breakeven run --cpu CPU` with further arguments.
fn run<'a>(cpu: &'a str, args: impl IntoIterator<Item = &'a str>) -> Breakeven {
    breakeven(["run", "--cpu", cpu].into_iter().chain(args))
}

/// The same with what is on stdin, started.
fn fed(mut command: Breakeven, stdin: &[u8]) -> Child {
    let mut child = command
        .command
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    let stdin = stdin.to_vec();
    // It may end before it has read all.
    std::thread::spawn(move || _ = pipe.write_all(&stdin));
    child
}

pub(super) fn ended(child: Child) -> Ended {
    let start = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    Ended::of(output, start.elapsed())
}

/// Numbers, one a line.
fn numbers(count: usize) -> Vec<u8> {
    (1..=count)
        .map(|number| format!("{number}\n"))
        .collect::<String>()
        .into_bytes()
}

/// The lines of a file; none where there is none.
fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The numbers of the jobs in a joblog.
fn logged(path: &Path) -> Vec<u64> {
    let mut lines = lines(path).into_iter();
    let header = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand";
    assert_eq!(lines.next().as_deref(), Some(header));
    let number = |line: String| line.split('\t').next().and_then(|first| first.parse().ok());
    lines.map(|line| number(line).expect("a number")).collect()
}

#[track_caller]
pub(super) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The processes that have this text among their arguments, but for this one.
pub(super) fn processes_with(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("Linux").flatten() {
        let id = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok());
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).into_owned();
        found.extend(id.filter(|id| *id != std::process::id() && arguments.contains(text)));
    }
    found
}
