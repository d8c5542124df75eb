//! Counts the results of jobs, and summarises them at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use breakeven_profile::unit;

use super::process::How;

/// Most failed jobs that are named.
const NAMED: usize = 5;

/// Longest input that is printed in full, characters.
const LONGEST: usize = 60;

/// Results of the jobs so far.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// Finished jobs, by their device.
    by_device: BTreeMap<String, u64>,
    failed: u64,
    /// The first failed jobs: number, input, and how they ended.
    named: Vec<(u64, String, How)>,
    /// Jobs at which a GPU's command failed, by how it ended, with its last line the first time.
    fell: BTreeMap<How, (u64, Option<String>)>,
    pub(super) retried: u64,
    /// Jobs recalled from a GPU's command that took too long.
    pub(super) recalled: u64,
    /// Jobs in the joblog of an earlier run.
    pub(super) left_out: u64,
    /// Those among them that failed in that run.
    pub(super) failed_before: u64,
    /// Other jobs of the joblog.
    pub(super) unmatched: usize,
    /// Number of quarantines of a GPU.
    pub(super) quarantines: u64,
}

impl Summary {
    /// A job has ended on a device.
    pub(super) fn ended(&mut self, device: &str, number: u64, input: &[u8], how: &How) {
        match self.by_device.get_mut(device) {
            Some(jobs) => *jobs += 1,
            None => _ = self.by_device.insert(device.to_owned(), 1),
        }
        if how.is_good() {
            return;
        }
        self.failed += 1;
        if self.named.len() < NAMED {
            self.named.push((number, named(input), how.clone()));
        }
    }

    /// A GPU's command failed at `count` jobs.
    pub(super) fn fell(&mut self, how: &How, said: Option<&str>, jobs: u64) {
        let first = || (0, said.map(str::to_owned));
        self.fell.entry(how.clone()).or_insert_with(first).0 += jobs;
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed + self.failed_before > 0
    }

    /// The summary in lines.
    pub(super) fn lines(&self, took: Duration) -> Vec<String> {
        let jobs = |count: u64| match count {
            1 => "1 job".to_owned(),
            count => format!("{} jobs", unit::count(count as f64)),
        };
        let times = |count: u64| match count {
            1 => "once".to_owned(),
            count => format!("{} times", unit::count(count as f64)),
        };
        let done: u64 = self.by_device.values().sum();
        let devices: Vec<String> = (self.by_device.iter())
            .map(|(device, count)| format!("{} on {device}", unit::count(*count as f64)))
            .collect();
        let mut first = format!("{} in {}", jobs(done), unit::time(took.as_nanos() as f64));
        if !devices.is_empty() {
            first = format!("{first}: {}", devices.join(", "));
        }
        let mut lines = vec![first];
        let mut say = |count: u64, what: &dyn Fn(u64) -> String| {
            lines.extend((count > 0).then(|| what(count)));
        };
        say(self.left_out, &|count| {
            format!("{} of an earlier run skipped", jobs(count))
        });
        say(self.failed_before, &|count| {
            format!(
                "{} failed in that run: --resume-failed repeats failed jobs",
                jobs(count)
            )
        });
        say(self.unmatched as u64, &|count| {
            format!(
                "{} of the joblog: no command line of this run is the same",
                jobs(count)
            )
        });
        let fell: u64 = self.fell.values().map(|(count, _)| count).sum();
        let why = self.fell.iter();
        let why = why.map(|(how, (count, said))| {
            let said = said.as_ref();
            let said = said.map_or_else(String::new, |said| format!(": {said}"));
            format!("{how} ({}{said})", unit::count(*count as f64))
        });
        let why = why.collect::<Vec<_>>().join(", ");
        say(fell, &|count| {
            format!("{} went from a GPU to the CPU: {why}", jobs(count))
        });
        say(self.quarantines, &|count| {
            format!(
                "a GPU was quarantined {} after repeated failures",
                times(count)
            )
        });
        say(self.recalled, &|count| {
            format!("{} taken back from a GPU that took too long", jobs(count))
        });
        say(self.retried, &|count| {
            format!("failed commands were retried {}", times(count))
        });
        if self.failed > 0 {
            lines.push(format!("{} failed:", jobs(self.failed)));
            let named = self.named.iter();
            lines.extend(named.map(|(number, input, how)| format!("  {number} {input}: {how}")));
            let others = self.failed - self.named.len() as u64;
            if others > 0 {
                lines.push(format!("  and {}", unit::count(others as f64)));
            }
        }
        lines
    }
}

/// An input in quotes, cut if it is long.
fn named(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}
