//! What else runs: the cores' use while nothing was asked of the machine, and by whom.

use breakeven_profile::unit::percent;

use crate::hardware::Fact;
use crate::hardware::doctor::facts::Facts;
use crate::hardware::doctor::finding::{Finding, Remedy, Standing, Subject};
use crate::hardware::doctor::rights::Rights;

/// Fraction of the cores from which others disturb, and from which they are what is
/// measured. An idle server is at 0.1 % to 1 %.
const DOUBTFUL: f64 = 0.03;
const BAD: f64 = 0.2;

/// Cores' worth of CPU time from which a process is named.
const BUSY: f64 = 0.1;

const EFFECT: &str = "it takes cores, cache and memory bandwidth from the measured work, now more \
                      and now less";

pub(super) fn look(facts: &Facts) -> Vec<Finding> {
    let quiet = &facts.quiet;
    let online = facts.settings.cores.online.known().map(Vec::len);
    let (Some(busy), Some(online)) = (quiet.busy_cores.get(), online.filter(|it| *it > 0)) else {
        let seen = "the system does not tell how busy it is";
        return vec![Finding::unknown(Subject::Load, seen)];
    };
    let used = busy / online as f64;
    let mut seen = format!("{} of {online} cores used by others", percent(used));
    if let Fact::Known(pressure) = facts.cpu.pressure {
        let waited = percent(pressure);
        seen = format!("{seen}; some thread waited for a core in {waited} of the last 10 s");
    }
    let standing = match used {
        used if used >= BAD => Standing::Bad,
        used if used >= DOUBTFUL => Standing::Doubtful,
        _ => Standing::Good,
    };
    let mut load = Finding::new(Subject::Load, standing, seen).from("/proc/stat");
    let busy: Vec<_> = quiet
        .processes
        .iter()
        .filter(|it| it.cores >= BUSY)
        .collect();
    if standing != Standing::Good {
        let sudo = if Rights::of(facts).root { "" } else { "sudo " };
        load = load.does(EFFECT).change(match busy.is_empty() {
            true => Remedy::act(
                "no process that is seen here takes much: look at the machine outside of this \
                 container, or for many short processes",
            ),
            // Against what cannot be stopped; measured in docs/doctor.md.
            false => Remedy::Command {
                command: format!("{sudo}chrt --fifo 50 breakeven profile …"),
                undo: None,
            },
        });
    }
    let process = |it: &&crate::hardware::doctor::BusyProcess| {
        let seen = format!("{} ({}) takes {:.2} cores", it.name, it.pid, it.cores);
        let standing = match it.cores / online as f64 >= BAD {
            true => Standing::Bad,
            false => Standing::Doubtful,
        };
        let signal = |signal: &str| format!("kill -{signal} {}", it.pid);
        Finding::new(Subject::Process, standing, seen)
            .from(format!("/proc/{}/stat", it.pid))
            .does(EFFECT)
            .change(Remedy::Command {
                command: signal("STOP"),
                undo: Some(signal("CONT")),
            })
    };
    let mut findings = vec![load];
    findings.extend(busy.iter().map(process));
    findings
}
