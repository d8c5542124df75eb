//! `monitor --every`: a command whose times are made up, measured every 100 ms.

mod alerts;
mod hook;
mod runs;
mod told;
mod wrong;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::command::{Breakeven, Ended, breakeven, directory};

/// A folder with a command that writes the next of these times, a history and a log.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// The times are levels in ms with some noise, each with how many runs it lasts.
    fn new(levels: &[(f64, usize)]) -> Self {
        let folder = directory();
        let each = levels.iter().flat_map(|(ms, count)| vec![*ms; *count]);
        let mut lines = String::new();
        for (number, ms) in each.enumerate() {
            let noise = 1.0 + 0.01 * ((number * 7919) % 13) as f64 / 13.0;
            writeln!(lines, "{:.0}", ms * noise * 1e6).unwrap();
        }
        fs::write(folder.path().join("times"), lines).unwrap();
        Self { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `monitor --every 100ms` with these options, in the folder, which is no repository.
    fn every(&self, options: &str) -> Breakeven {
        let args = "monitor --every 100ms --history h.db --log log";
        let mut all = breakeven(args.split_whitespace()).args(options);
        all.command.current_dir(self.folder.path());
        all
    }

    /// So many runs of the command, each with the next time.
    fn measure(&self, count: usize, options: &[&str]) -> Ended {
        self.next(count, options).run()
    }

    fn next(&self, count: usize, options: &[&str]) -> Breakeven {
        let mut all = self.every(&format!("--count {count}"));
        for option in options {
            all = all.arg(option);
        }
        let script = "n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n; \
            printf '{\"format\": \"breakeven-profile\", \"version\": 1, \"operations\": \
            [{\"name\": \"decode\", \"samples_ns\": [%s]}]}' \"$(sed -n ${n}p times)\"";
        all.arg("--").arg("sh").arg("-c").arg(script)
    }

    /// What the log says happened.
    #[track_caller]
    fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.file("log")).unwrap();
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }

    fn events(&self, event: &str) -> Vec<Value> {
        let mut log = self.log();
        log.retain(|line| line["event"] == event);
        log
    }

    /// States of the alerts, in their order.
    fn states(&self) -> Vec<String> {
        let alerts = self.events("alert").into_iter();
        let state = |alert: Value| alert["state"].as_str().unwrap().to_owned();
        alerts.map(state).collect()
    }
}

/// The text without what differs from run to run: when, and how long it took.
fn steady(text: &str, folder: &Path) -> String {
    let text = text.replace(folder.to_str().unwrap(), "[dir]");
    let mut lines = String::new();
    for line in text.lines() {
        let (_, rest) = line.split_once("Z  ").unwrap_or(("", line));
        let mut words = rest.split(' ');
        let mut kept: Vec<String> = Vec::new();
        while let Some(word) = words.next() {
            let is_time = kept
                .last()
                .is_some_and(|before| ["in", "after"].contains(&&**before))
                && word.parse::<f64>().is_ok();
            kept.push(match is_time {
                true => {
                    let unit = words.next().unwrap_or_default();
                    let rest = unit.trim_start_matches(|c: char| c.is_alphabetic());
                    format!("[time]{rest}")
                }
                false => word.to_owned(),
            });
        }
        writeln!(lines, "{}", kept.join(" ")).unwrap();
    }
    lines
}
