//! Parsers of the files by which Linux tells how busy it is (`proc_stat(5)`,
//! `proc_loadavg(5)`, the kernel's `accounting/psi.rst`).

use std::collections::BTreeMap;

/// CPU time since boot, summed over the cores, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuTimes {
    /// Neither idle nor waiting for a disk. Time stolen by a hypervisor counts
    /// as busy: it cannot be had either.
    pub(super) busy: u64,
    /// The stolen part of it.
    pub(super) stolen: u64,
    pub(super) total: u64,
}

impl CpuTimes {
    /// The busy share of the time since `earlier`, 0 to 1; none without a tick since.
    pub(super) fn use_since(self, earlier: CpuTimes) -> Option<f64> {
        let total = self.total.checked_sub(earlier.total).filter(|&t| t > 0)?;
        // The idle counters may step back a little (see proc_stat(5)).
        let busy = self.busy.saturating_sub(earlier.busy).min(total);
        Some(busy as f64 / total as f64)
    }
}

/// The line `cpu …` of `/proc/stat`: user nice system idle iowait irq softirq
/// steal, and then guest times, which are in user and nice already.
pub(super) fn stat(text: &str) -> Option<CpuTimes> {
    times(text.lines().find_map(|line| line.strip_prefix("cpu "))?)
}

/// The lines `cpu0 …`, by core.
pub(super) fn cores(text: &str) -> BTreeMap<u32, CpuTimes> {
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
pub(super) fn runnable(loadavg: &str) -> Option<u64> {
    let (runnable, _all) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
    Some(runnable.parse::<u64>().ok()?.saturating_sub(1))
}

/// The share of the last ten seconds in which some thread waited for a core,
/// 0 to 1, from `/proc/pressure/cpu` (`some avg10=1.53 avg60=…`).
pub(super) fn pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let mut fields = some.split_whitespace();
    let percent = fields.find_map(|field| field.strip_prefix("avg10="))?;
    let percent: f64 = percent.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_use_is_the_busy_share_of_the_interval() {
        let earlier = stat("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3 4\n").expect("a line");
        assert_eq!((earlier.busy, earlier.total), (150, 1000));
        let later = stat("cpu  130 10 60 840 60 5 5 0 99 0\n").expect("a line");
        assert_eq!(later.use_since(earlier), Some(60.0 / 110.0));
        assert_eq!(earlier.use_since(earlier), None);
        // Counters that ran backwards.
        assert_eq!(earlier.use_since(later), None);
    }

    #[test]
    fn stolen_time_is_busy_and_guest_time_is_not_counted_twice() {
        let times = stat("cpu  10 0 0 0 0 0 0 30 5 5").expect("a line");
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
    fn damaged_files_tell_nothing() {
        let damaged = "|cpu|cpu  a b c d|cpu  1 2|0.1 0.2 0.3|0 0 0 x/y|some avg10=nan";
        for text in damaged.split('|') {
            let read = (stat(text), runnable(text), pressure(text));
            assert_eq!(read, (None, None, None), "{text}");
        }
    }
}
