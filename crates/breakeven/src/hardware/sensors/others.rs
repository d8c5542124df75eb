//! Which fraction of the cores' time other programs use: all use, less that of a process
//! and of those that it started (`proc_stat(5)`, `proc_pid_stat(5)`).

use std::path::{Path, PathBuf};

use super::files::{entries, text};
use crate::hardware::Fact;
use crate::hardware::proc::{self, CpuTimes};

/// The use of the cores by all but one tree of processes.
#[derive(Debug)]
pub struct OthersUse {
    root: PathBuf,
    /// The process at the tree's top.
    pid: u32,
    /// The ticks of all, and of the tree.
    last: Option<(CpuTimes, u64)>,
}

impl OthersUse {
    /// Counts what this process and those that it starts use as its own.
    pub fn than_this_process() -> Self {
        Self::than(std::process::id(), Path::new("/"))
    }

    pub(super) fn than(pid: u32, root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            pid,
            last: None,
        }
    }

    /// The fraction of the cores' time that others used since the previous call, 0 to 1.
    /// Unknown in the first call, and where the system does not tell which processes a
    /// process has started (Linux does, if built with `CONFIG_PROC_CHILDREN`).
    ///
    /// Time is counted in ticks of 10 ms as a rule, so intervals of a second or more are
    /// better than short ones. What a process used that ended without anybody waiting for
    /// it counts as others'.
    pub fn read(&mut self) -> Fact<f64> {
        let now = text(self.root.join("proc/stat"))
            .and_then(|stat| proc::stat(&stat))
            .zip(self.own_ticks(self.pid));
        let before = std::mem::replace(&mut self.last, now);
        now.zip(before)
            .and_then(|(now, then)| others(now, then))
            .into()
    }

    /// Ticks of a process and all below it, with those of children that ended.
    fn own_ticks(&self, pid: u32) -> Option<u64> {
        let folder = self.root.join(format!("proc/{pid}"));
        let mut sum = ticks(&text(folder.join("stat"))?)?;
        for thread in entries(folder.join("task")) {
            // A thread may end meanwhile; a system without the file has it for none.
            let children = match text(thread.join("children")) {
                Some(children) => children,
                None if thread.exists() => return None,
                None => continue,
            };
            for child in children.split_whitespace() {
                // A child that is gone is in its parent's sum the next time.
                let child = child.parse().ok().and_then(|child| self.own_ticks(child));
                sum = sum.saturating_add(child.unwrap_or(0));
            }
        }
        Some(sum)
    }
}

fn others((now, own_now): (CpuTimes, u64), (then, own_then): (CpuTimes, u64)) -> Option<f64> {
    let total = now
        .total
        .checked_sub(then.total)
        .filter(|&ticks| ticks > 0)?;
    let busy = now.busy.saturating_sub(then.busy).min(total);
    let own = own_now.saturating_sub(own_then);
    Some(busy.saturating_sub(own) as f64 / total as f64)
}

/// User and system time of a process and of its children that were waited for, of
/// `/proc/<pid>/stat`. The program's name, in brackets, may hold anything.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let times = fields
        .get(11..15)?
        .iter()
        .map(|ticks| ticks.parse::<i64>().ok());
    let times: Vec<i64> = times.collect::<Option<_>>()?;
    Some(times.iter().fold(0, |sum, ticks| {
        sum.saturating_add(ticks.max(&0).unsigned_abs())
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn process(root: &Path, pid: u32, ticks: [u64; 4], children: &str) {
        let task = root.join(format!("proc/{pid}/task/{pid}"));
        fs::create_dir_all(&task).expect("a folder");
        let [user, system, waited_user, waited_system] = ticks;
        let stat = format!(
            "{pid} (a) b) R 1 1 1 0 -1 0 0 0 0 0 {user} {system} {waited_user} {waited_system} 20 0"
        );
        fs::write(root.join(format!("proc/{pid}/stat")), stat).expect("a file");
        fs::write(task.join("children"), children).expect("a file");
    }

    fn machine(root: &Path, busy: u64, idle: u64) {
        fs::create_dir_all(root.join("proc")).expect("a folder");
        let text = format!("cpu  {busy} 0 0 {idle} 0 0 0 0\n");
        fs::write(root.join("proc/stat"), text).expect("a file");
    }

    #[test]
    fn what_is_left_is_the_others() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        machine(root, 1_000, 1_000);
        process(root, 7, [10, 5, 0, 0], "8 ");
        process(root, 8, [20, 0, 0, 0], "");
        let mut use_of = OthersUse::than(7, root);
        assert_eq!(use_of.read(), Fact::Unknown);
        // 200 ticks, of which 140 busy: 60 the process and its child, 20 a child that ended.
        machine(root, 1_140, 1_060);
        process(root, 7, [20, 15, 20, 0], "8 ");
        process(root, 8, [60, 0, 0, 0], "");
        assert_eq!(use_of.read(), Fact::Known(0.3));
        // Own time that the machine has not counted yet is nobody else's.
        machine(root, 1_150, 1_070);
        process(root, 7, [90, 15, 20, 0], "");
        assert_eq!(use_of.read(), Fact::Known(0.0));
    }

    #[test]
    fn a_system_that_hides_children_tells_nothing() {
        let root = tempfile::tempdir().expect("a folder");
        machine(root.path(), 10, 10);
        process(root.path(), 7, [1, 0, 0, 0], "");
        fs::remove_file(root.path().join("proc/7/task/7/children")).expect("it is there");
        let mut use_of = OthersUse::than(7, root.path());
        assert_eq!(use_of.read(), Fact::Unknown);
        machine(root.path(), 20, 20);
        assert_eq!(use_of.read(), Fact::Unknown);
    }

    #[test]
    fn damaged_lines_tell_nothing() {
        for text in [
            "",
            "7 (a",
            "7 (a) R 1 2",
            "7 (a) R 1 1 1 0 -1 0 0 0 0 0 x 1 1 1",
        ] {
            assert_eq!(ticks(text), None, "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_not_others() {
        use std::time::{Duration, Instant};
        let mut use_of = OthersUse::than_this_process();
        let own = |use_of: &OthersUse| use_of.own_ticks(use_of.pid);
        let (Fact::Unknown, Some(first)) = (use_of.read(), own(&use_of)) else {
            // A system that hides children.
            return;
        };
        let start = Instant::now();
        // Of 10 ms each, however busy the machine is.
        while own(&use_of).is_some_and(|now| now < first + 20) {
            assert!(start.elapsed() < Duration::from_secs(60));
        }
        let others = use_of.read().get().expect("it was told before");
        let cores = proc::cores(&text("/proc/stat").expect("Linux has it")).len();
        let own = 0.15 / (start.elapsed().as_secs_f64() * cores as f64);
        assert!(
            others <= 1.0 - own,
            "{others}, and at least {own} was this process"
        );
    }
}
