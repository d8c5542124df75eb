//! A server that takes alerts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

pub(super) struct Hook {
    address: SocketAddr,
    /// Head and body of every request.
    taken: Arc<Mutex<Vec<(String, String)>>>,
}

impl Hook {
    /// Answers each request with the status of its number; 0 is none.
    pub(super) fn answering(status: impl Fn(usize) -> u16 + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&taken);
        thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = read(&mut stream);
                let mut all = all.lock().unwrap();
                let status = status(all.len());
                all.push(request);
                drop(all);
                match status {
                    // It stays open.
                    0 => silent.push(stream),
                    status => {
                        let _ = write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
                    }
                }
            }
        });
        Self { address, taken }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn heads(&self) -> Vec<String> {
        let taken = self.taken.lock().unwrap();
        taken.iter().map(|(head, _)| head.clone()).collect()
    }

    pub(super) fn bodies(&self) -> Vec<Value> {
        let taken = self.taken.lock().unwrap();
        taken
            .iter()
            .map(|(_, body)| serde_json::from_str(body).unwrap())
            .collect()
    }
}

fn read(stream: &mut TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}
