//! The files in which Linux reports its state, read and parsed: small files of `/proc` and
//! `/sys`, and the formats of `proc_stat(5)`, `proc_loadavg(5)`, `proc_pid_stat(5)` and the
//! kernel's `accounting/psi.rst`. A file that is missing or damaged yields `None`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Returns the file's text without the end of the line; none if it cannot be read.
pub fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// The number in the file.
pub fn number<T: FromStr>(path: impl AsRef<Path>) -> Option<T> {
    text(path)?.parse().ok()
}

/// The number in the file, in units of which `per_unit` make one.
pub(crate) fn scaled(path: impl AsRef<Path>, per_unit: f64) -> Option<f64> {
    let value: f64 = number(path)?;
    value.is_finite().then_some(value / per_unit)
}

/// The entries of a directory in the order of their names, numbers by value.
pub fn entries(directory: impl AsRef<Path>) -> Vec<PathBuf> {
    let listed = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    paths.sort_by_cached_key(|path| {
        let name = name(path).to_owned();
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        (digits.parse().unwrap_or(u64::MAX), name)
    });
    paths
}

/// Returns the last component of the path; empty if it is not text.
pub fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("")
}

/// The `hwmon` directories below `parent` that have this driver name.
pub(crate) fn hwmon(parent: impl AsRef<Path>, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = entries(parent);
    found.retain(|path| text(path.join("name")).is_some_and(|name| is_wanted(&name)));
    found
}

/// The highest of the files `<kind>N_input` in `directory`, in units of which `per_unit`
/// make one.
pub(crate) fn highest(directory: &Path, kind: &str, per_unit: f64) -> Option<f64> {
    let inputs = entries(directory).into_iter().filter(|path| {
        let number = name(path).strip_prefix(kind);
        number.is_some_and(|rest| {
            rest.strip_suffix("_input")
                .is_some_and(|n| n.parse::<u32>().is_ok())
        })
    });
    inputs
        .filter_map(|path| scaled(path, per_unit))
        .max_by(f64::total_cmp)
}

/// CPU time since boot, summed over the cores, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTimes {
    /// Neither idle nor waiting for a disk. Time stolen by a hypervisor counts
    /// as busy: it was not available either.
    pub busy: u64,
    /// The ticks of `busy` that a hypervisor gave to other machines.
    pub stolen: u64,
    /// All of it.
    pub total: u64,
}

impl CpuTimes {
    /// The busy share of the time since `earlier`, 0 to 1; none without a tick since.
    pub fn use_since(self, earlier: CpuTimes) -> Option<f64> {
        let total = self.total.checked_sub(earlier.total).filter(|&t| t > 0)?;
        // The idle counters may step back a little (see proc_stat(5)).
        let busy = self.busy.saturating_sub(earlier.busy).min(total);
        Some(busy as f64 / total as f64)
    }
}

/// The line `cpu …` of `/proc/stat`: user nice system idle iowait irq softirq
/// steal, and then guest times, which are in user and nice already.
pub fn cpu_times(text: &str) -> Option<CpuTimes> {
    times(text.lines().find_map(|line| line.strip_prefix("cpu "))?)
}

/// The lines `cpu0 …`, by core.
pub fn core_times(text: &str) -> BTreeMap<u32, CpuTimes> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("cpu"));
    let cores = lines.filter_map(|line| {
        let (number, line) = line.split_once(' ')?;
        Some((number.parse().ok()?, times(line)?))
    });
    cores.collect()
}

fn times(line: &str) -> Option<CpuTimes> {
    let ticks: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    let idle = ticks.get(3)?.saturating_add(*ticks.get(4).unwrap_or(&0));
    let total = ticks.iter().fold(0, |sum: u64, t| sum.saturating_add(*t));
    Some(CpuTimes {
        busy: total.saturating_sub(idle),
        stolen: *ticks.get(7).unwrap_or(&0),
        total,
    })
}

/// Threads that want a core now, from `/proc/loadavg` (`0.20 0.18 0.12 1/80 11206`),
/// without the one that reads the file.
pub(crate) fn runnable(loadavg: &str) -> Option<u64> {
    let (runnable, _all) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
    Some(runnable.parse::<u64>().ok()?.saturating_sub(1))
}

/// The share of the last ten seconds in which some thread waited for a core,
/// 0 to 1, from `/proc/pressure/cpu` (`some avg10=1.53 avg60=…`).
pub(crate) fn pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let mut fields = some.split_whitespace();
    let percent = fields.find_map(|field| field.strip_prefix("avg10="))?;
    let percent: f64 = percent.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

/// A process by the line of `/proc/<pid>/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    /// The program's name.
    pub name: String,
    /// User and system time, in clock ticks.
    pub ticks: u64,
    /// The same of its children that ended and were waited for.
    pub ticks_of_children: u64,
    /// When it started, in clock ticks since boot.
    pub started: u64,
}

/// A process's line. The name is in parentheses and may contain some.
pub fn process_stat(text: &str) -> Option<ProcessStat> {
    let (before, after) = text.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    // Counted from 1, the name being the second; children's times may be negative.
    let field = |number: usize| fields.get(number - 3)?.parse::<i64>().ok();
    let ticks = |number| Some(field(number)?.max(0).unsigned_abs());
    Some(ProcessStat {
        name: name.to_owned(),
        ticks: ticks(14)?.saturating_add(ticks(15)?),
        ticks_of_children: ticks(16)?.saturating_add(ticks(17)?),
        started: ticks(22)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_use_is_the_busy_share_of_the_interval() {
        let earlier = cpu_times("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3 4\n").expect("a line");
        assert_eq!((earlier.busy, earlier.total), (150, 1000));
        let later = cpu_times("cpu  130 10 60 840 60 5 5 0 99 0\n").expect("a line");
        assert_eq!(later.use_since(earlier), Some(60.0 / 110.0));
        assert_eq!(earlier.use_since(earlier), None);
        // Counters that ran backwards.
        assert_eq!(earlier.use_since(later), None);
    }

    #[test]
    fn stolen_time_is_busy_and_guest_time_is_not_counted_twice() {
        let times = cpu_times("cpu  10 0 0 0 0 0 0 30 5 5").expect("a line");
        assert_eq!((times.busy, times.stolen, times.total), (40, 30, 40));
    }

    #[test]
    fn the_reader_itself_does_not_count_as_runnable() {
        assert_eq!(runnable("0.20 0.18 0.12 3/80 11206\n"), Some(2));
        assert_eq!(runnable("0.20 0.18 0.12 1/80 11206\n"), Some(0));
        assert_eq!(runnable("0.20 0.18 0.12 0/80 11206\n"), Some(0));
    }

    #[test]
    fn pressure_is_the_ten_second_share() {
        let text = "some avg10=3.54 avg60=4.75 avg300=3.05 total=1\nfull avg10=9.00 total=0\n";
        assert_eq!(pressure(text), Some(0.0354));
    }

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let fields = "R 1 1 1 0 -1 0 0 0 0 0 10 5 -1 3 20 0 1 0 9000 0 0";
        let read = process_stat(&format!("7 (a) b) {fields}")).expect("a process");
        assert_eq!((&*read.name, read.started), ("a) b", 9000));
        assert_eq!((read.ticks, read.ticks_of_children), (15, 3));
        let damaged = fields.replace("10 5", "x 5");
        for text in ["", "7 (a", "7 (a) R 1 2", &format!("7 (a) {damaged}")] {
            assert_eq!(process_stat(text), None, "{text}");
        }
    }

    #[test]
    fn damaged_files_show_nothing() {
        let damaged = "|cpu|cpu  a b c d|cpu  1 2|0.1 0.2 0.3|0 0 0 x/y|some avg10=nan";
        for text in damaged.split('|') {
            let read = (cpu_times(text), runnable(text), pressure(text));
            assert_eq!(read, (None, None, None), "{text}");
        }
    }
}
