//! A thousand clients at once, most of them up to no good.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};

use super::server::Server;
use crate::command::skipped;

const CLIENTS: usize = 1000;

/// As many files as the test needs, if the system lets it.
fn may_open_enough() -> bool {
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = 2 * CLIENTS as u64;
    let most = limit.maximum.map_or(wanted, |most| most.min(wanted));
    limit.current = Some(limit.current.map_or(most, |current| current.max(most)));
    let _ = setrlimit(Resource::Nofile, limit);
    most >= wanted
}

/// A client that sends half a head, one that asks and never reads, or one that sends
/// requests without end and never reads.
fn client(server: &Server, number: usize) -> TcpStream {
    let mut stream = server.connect();
    match number % 3 {
        0 => stream.write_all(b"GET /metrics HTTP/1.1\r\nhost:").unwrap(),
        1 => stream
            .write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n")
            .unwrap(),
        _ => {
            stream.set_nonblocking(true).unwrap();
            let many = "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(500);
            for _ in 0..20 {
                if stream.write(many.as_bytes()).is_err() {
                    break;
                }
            }
        }
    }
    stream
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures that were measured")]
fn a_thousand_clients_at_once_do_not_make_it_grow() {
    if !may_open_enough() {
        skipped("a thousand connections are not tested: too few files may be open here");
        return;
    }
    let server = Server::start();
    let memory = || server.value("process_memory_usage_bytes") / 1e6;
    let alone = memory();
    let mut rounds = Vec::new();
    for _ in 0..3 {
        let clients: Vec<_> = (0..CLIENTS).map(|n| client(&server, n)).collect();
        // What it reports of itself may be an interval of 100 ms old, of before they came.
        std::thread::sleep(Duration::from_millis(300));
        // It answers while they are there.
        rounds.push(memory());
        drop(clients);
    }
    println!("{alone:.1} MB alone, with {CLIENTS} clients {rounds:.1?} MB");
    // Some 40 kB for each: hyper's buffers of 8 KiB and the answer.
    assert!(
        rounds.iter().all(|with| *with < alone + 60.0),
        "{alone} {rounds:?}"
    );
    assert!(rounds[2] < rounds[0] + 15.0, "{alone} {rounds:?}");
    server.terminate();
    server.end().quietly(0);
}
