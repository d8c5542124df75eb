//! A real Prometheus scrapes it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::server::{PATIENCE, Server, wait_until};
use crate::command::{directory, skipped};

struct Prometheus {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl Prometheus {
    /// One that scrapes `target` every second; none where it is not installed.
    fn start(folder: &Path, target: SocketAddr) -> Option<Self> {
        let address = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/monitor/alerts.yml");
        let rules = rules.canonicalize().unwrap();
        let config = format!(
            "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\n\
             rule_files: [{rules:?}]\n\
             scrape_configs:\n- job_name: breakeven\n  static_configs: [{{ targets: [\"{target}\"] }}]\n"
        );
        let file = folder.join("prometheus.yml");
        fs::write(&file, config).unwrap();
        let log = folder.join("prometheus.log");
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .ok()?;
        Some(Self {
            child,
            address,
            log,
        })
    }

    fn get(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let request = format!("GET {path} HTTP/1.0\r\nhost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// The values of a query, as Prometheus has them now.
    fn values(&self, query: &str) -> Vec<f64> {
        let answer = self.get(&format!("/api/v1/query?query={query}"));
        let result = answer
            .as_ref()
            .and_then(|all| all["data"]["result"].as_array());
        let values = result.into_iter().flatten();
        values
            .filter_map(|series| series["value"][1].as_str()?.parse().ok())
            .collect()
    }

    #[track_caller]
    fn wait_for(&self, query: &str, is_right: impl Fn(&[f64]) -> bool) {
        let log = || fs::read_to_string(&self.log).unwrap_or_default();
        let mut last = Vec::new();
        let what = format!("{query} in Prometheus");
        wait_until(&what, || {
            last = self.values(query);
            is_right(&last)
        });
        assert!(!log().contains("Error on ingesting"), "{}", log());
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn prometheus_scrapes_it() {
    let server = Server::start();
    let folder = directory();
    let Some(prometheus) = Prometheus::start(folder.path(), server.address) else {
        skipped("a scrape by Prometheus is not tested (Debian: prometheus)");
        return;
    };
    prometheus.wait_for("up", |up| up == [1.0]);
    prometheus.wait_for("breakeven_build_info", |values| values == [1.0]);
    prometheus.wait_for(
        "changes(breakeven_reading_timestamp_seconds[30s])",
        |changes| changes.first().is_some_and(|changes| *changes >= 2.0),
    );
    if cfg!(target_os = "linux") {
        prometheus.wait_for("avg(system_cpu_utilization_ratio)", |used| {
            used.first().is_some_and(|used| (0.0..=1.0).contains(used))
        });
    }
    // Every rule was evaluated, and none failed.
    let rules = prometheus.get("/api/v1/rules").unwrap();
    let rules = rules["data"]["groups"][0]["rules"].as_array().unwrap();
    assert!(!rules.is_empty());
    let is_evaluated = || {
        let answer = prometheus.get("/api/v1/rules").unwrap_or_default();
        let rules = answer["data"]["groups"][0]["rules"].as_array().cloned();
        let rules = rules.unwrap_or_default();
        !rules.is_empty() && rules.iter().all(|rule| rule["health"] == "ok")
    };
    wait_until("the rules are evaluated", is_evaluated);
}
