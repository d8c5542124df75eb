//! A server that was started, and a plain client of it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{Breakeven, Ended, line};
use crate::engine::interrupt::signal;

/// Longer than anything here takes on a machine under load.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

const SERVE: &str = "monitor --interval 100ms --serve 0";

pub(crate) struct Server {
    child: Option<Child>,
    stdout: BufReader<ChildStdout>,
    pub(super) address: SocketAddr,
}

impl Server {
    /// Serves on a port that is free.
    pub(super) fn start() -> Self {
        Self::started(line(SERVE))
    }

    /// The same, with the programs that publish in that folder.
    pub(crate) fn start_in(folder: &Path) -> Self {
        Self::started(line(SERVE).env("XDG_RUNTIME_DIR", folder))
    }

    fn started(mut command: Breakeven) -> Self {
        let mut child = command.command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        stdout.read_line(&mut said).unwrap();
        let address = said
            .strip_prefix("serving http://")
            .and_then(|rest| rest.split_once("/metrics, read every 100 ms"))
            .unwrap_or_else(|| panic!("{said:?}"))
            .0
            .parse()
            .unwrap();
        Self {
            child: Some(child),
            stdout,
            address,
        }
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends this and reads all that is answered.
    pub(super) fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The metrics, and what stands before them.
    pub(crate) fn scrape(&self, headers: &str) -> String {
        self.ask(&format!(
            "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n"
        ))
    }

    /// The value of a sample without labels.
    pub(super) fn value(&self, name: &str) -> f64 {
        let page = self.scrape("");
        let mut lines = page.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value
            .unwrap_or_else(|| panic!("no {name}: {page}"))
            .parse()
            .unwrap()
    }

    pub(super) fn terminate(&self) {
        signal("TERM", self.child.as_ref().unwrap().id());
    }

    /// Waits for its end.
    pub(super) fn end(mut self) -> Ended {
        let start = Instant::now();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        let child = self.child.take().unwrap();
        Ended::of(child.wait_with_output().unwrap(), start.elapsed())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Asks again until this is so.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}
