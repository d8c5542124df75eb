//! What requests are answered with.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use super::server::{Server, wait_until};
use crate::command::line;

#[test]
fn a_scrape_gets_openmetrics() {
    let server = Server::start();
    let page = server.scrape("");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
    assert!(page.contains(kind), "{page}");
    let built = "# TYPE breakeven_build_info gauge\n";
    assert!(page.contains(built), "{page}");
    assert!(page.ends_with("\n# EOF\n"), "{page}");
}

#[test]
fn the_sensors_are_read_again_and_again() {
    let server = Server::start();
    let read_at = || server.value("breakeven_reading_timestamp_seconds");
    let first = read_at();
    wait_until("a newer reading", || read_at() > first);
    if cfg!(target_os = "linux") {
        let use_of_a_core = "\nsystem_cpu_utilization_ratio{cpu_logical_number=\"0\"} ";
        wait_until("rates", || server.scrape("").contains(use_of_a_core));
        assert!(server.value("process_memory_usage_bytes") > 1e6);
    }
}

#[test]
fn head_has_no_body_and_a_connection_serves_twice() {
    let server = Server::start();
    let answers = server.ask(
        "HEAD /metrics HTTP/1.1\r\nhost: x\r\n\r\n\
         HEAD /metrics?name=a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    );
    assert_eq!(
        answers.matches("HTTP/1.1 200 OK\r\n").count(),
        2,
        "{answers}"
    );
    assert!(answers.contains("content-length: "), "{answers}");
    assert!(!answers.contains("# TYPE"), "{answers}");
}

#[test]
fn what_is_no_scrape_is_refused() {
    let server = Server::start();
    let cases = [
        (
            "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
            "404",
        ),
        (
            "GET /metrics/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
            "404",
        ),
        (
            "GET /../metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
            "404",
        ),
        (
            "POST /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx",
            "405",
        ),
        (
            "DELETE /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
            "405",
        ),
        ("garbage\r\n\r\n", "400"),
        ("\u{0}\u{1}\u{2} / HTTP/1.1\r\n\r\n", "400"),
        ("GET /metrics HTTP/1.1\r\nhost x\r\n\r\n", "400"),
        ("GET /metrics HTTP/9.9\r\nhost: x\r\n\r\n", "400"),
        ("GET /metrics HTTP/1.1\r\ncontent-length: -1\r\n\r\n", "400"),
        (
            "GET /metrics HTTP/1.1\r\ntransfer-encoding: nonsense\r\n\r\n",
            "400",
        ),
    ];
    for (request, status) in cases {
        let answer = server.ask(request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request:?}: {answer:?}"
        );
    }
    // So much that it answers before all is read, and closes.
    let mut stream = server.connect();
    let _ = stream.write_all(&[b'a'; 1 << 20]);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
        "{answer}"
    );
    let old = server.ask("GET /metrics HTTP/1.0\r\n\r\n");
    assert!(old.starts_with("HTTP/1.0 200 OK\r\n"), "{old}");
    let refusal = server.ask("PUT /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert!(refusal.contains("allow: GET, HEAD\r\n"), "{refusal}");
}

#[test]
fn a_head_that_never_ends_loses_its_connection() {
    let server = Server::start();
    let mut stream = server.connect();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
    let mut answer = String::new();
    // It ends within the client's patience: nobody has sent the rest.
    let _ = stream.read_to_string(&mut answer);
    assert!(!answer.contains("200 OK"), "{answer}");
}

#[test]
fn a_signal_ends_it_after_the_scrape_that_was_begun() {
    let server = Server::start();
    let mut stream = server.connect();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
    // It has been read when a later connection was answered.
    server.scrape("");
    server.terminate();
    stream.write_all(b"host: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    server.end().quietly(0);
}

#[test]
fn idle_connections_do_not_hold_up_its_end() {
    let server = Server::start();
    let idle: Vec<_> = (0..20).map(|_| server.connect()).collect();
    server.terminate();
    let ended = server.end().quietly(0);
    assert!(ended.took < Duration::from_secs(30), "{ended:?}");
    drop(idle);
}

#[test]
fn an_address_that_cannot_be_had_is_an_error_with_advice() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let said = line(&format!("monitor --serve {address}")).run().refusal();
    assert!(said.contains(&format!("{address} is in use")), "{said}");
    assert!(
        said.contains("another port, such as --serve 127.0.0.1:"),
        "{said}"
    );
    // An address for documentation (RFC 5737).
    let said = line("monitor --serve 192.0.2.1:9400").run().refusal();
    assert!(said.contains("not an address of this machine"), "{said}");
    for wrong in ["localhost", "127.0.0.1", "127.0.0.1:x", "65536", "-1"] {
        let said = line(&format!("monitor --serve={wrong}")).run().refusal();
        assert!(said.contains("such as 127.0.0.1:9400, or a port"), "{said}");
    }
    let said = line("monitor --once --serve").run().refusal();
    assert!(said.contains("cannot be used with"), "{said}");
}

#[test]
fn serving_other_machines_is_warned_of() {
    let mut command = line("monitor --serve 0.0.0.0:0").command;
    let mut child = command.spawn().unwrap();
    let mut warning = [0; 64];
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_exact(&mut warning).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let warning = String::from_utf8_lossy(&warning);
    assert!(warning.starts_with("warning: 0.0.0.0:"), "{warning}");
    assert!(
        warning.contains("can be reached from other machines"),
        "{warning}"
    );
}
