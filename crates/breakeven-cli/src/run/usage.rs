//! What a process used: times, memory, page faults.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Pid;

/// What a process used, with those that it started and waited for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    /// Peak resident memory, of the largest of the processes. A new process begins in the memory
    /// of the one that starts it, so a peak that is no larger than this process's is not known.
    pub(crate) peak_bytes: Option<u64>,
    /// With and without reading from a disk.
    pub(crate) page_faults: u64,
}

/// Waits for the end of a process that this one started, and frees its id.
pub(super) fn wait(process: Pid) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    loop {
        // SAFETY: a `rusage` has only integers, for which zero is a value.
        let (mut used, mut own): (libc::rusage, libc::rusage) = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to locals that outlive the call, which writes only there.
        let ended = unsafe { libc::wait4(process.as_raw_pid(), &raw mut status, 0, &raw mut used) };
        match io::Error::last_os_error() {
            error if ended < 0 && error.kind() == io::ErrorKind::Interrupted => continue,
            error if ended < 0 => return Err(error),
            _ => {}
        }
        // SAFETY: as above.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut own) };
        let usage = usage(&used, own.ru_maxrss);
        return Ok((ExitStatus::from_raw(status), usage));
    }
}

fn usage(used: &libc::rusage, own_peak: libc::c_long) -> Usage {
    let count = |count: libc::c_long| u64::try_from(count).unwrap_or(0);
    let time = |time: libc::timeval| {
        let micros = u64::try_from(time.tv_usec).unwrap_or(0);
        Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0)) + Duration::from_micros(micros)
    };
    // getrusage(2): kilobytes, on Apple's systems bytes.
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    Usage {
        user: time(used.ru_utime),
        system: time(used.ru_stime),
        peak_bytes: (used.ru_maxrss > own_peak).then(|| count(used.ru_maxrss).saturating_mul(unit)),
        page_faults: count(used.ru_minflt).saturating_add(count(used.ru_majflt)),
    }
}
