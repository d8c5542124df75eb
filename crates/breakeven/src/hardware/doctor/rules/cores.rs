//! The cores of this process: hyper-threads among them, and whether others keep off them
//! (the kernel's `admin-guide/kernel-parameters.txt`, `timers/no_hz.rst`).

use crate::hardware::Fact;
use crate::hardware::doctor::facts::{Cores, Facts};
use crate::hardware::doctor::finding::{Finding, Remedy, Standing, Subject};
use crate::hardware::doctor::list;
use crate::hardware::doctor::rights::Rights;

/// Fewest cores of which some are worth keeping free: the system needs one or two.
const FEWEST: usize = 4;

pub(super) fn look(facts: &Facts) -> Vec<Finding> {
    let cores = &facts.settings.cores;
    let Fact::Known(allowed) = &cores.allowed else {
        let seen = "the system does not tell which cores this process may use";
        return vec![
            Finding::unknown(Subject::HyperThreads, seen),
            Finding::unknown(Subject::Isolation, seen),
        ];
    };
    vec![
        hyper_threads(cores, allowed),
        isolation(cores, allowed, Rights::of(facts)),
    ]
}

fn hyper_threads(cores: &Cores, allowed: &[u32]) -> Finding {
    let (subject, file) = (
        Subject::HyperThreads,
        "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list",
    );
    let Fact::Known(groups) = &cores.siblings else {
        return Finding::unknown(subject, "the system does not tell which cores are one");
    };
    let inside = |group: &Vec<u32>| {
        let inside = group.iter().copied().filter(|core| allowed.contains(core));
        inside.collect::<Vec<u32>>()
    };
    let pairs = groups
        .iter()
        .map(inside)
        .filter(|inside| inside.len() > 1)
        .count();
    if pairs > 0 {
        let mut one_each: Vec<u32> = groups
            .iter()
            .filter_map(|group| inside(group).first().copied())
            .collect();
        one_each.sort_unstable();
        let physical = one_each.len();
        let physical = match physical {
            1 => "1 physical core".to_owned(),
            physical => format!("{physical} physical cores"),
        };
        let seen = format!("logical cores {} are {physical}", list::text(allowed));
        return Finding::new(subject, Standing::Doubtful, seen)
            .from(file)
            .does(
                "two threads on one physical core slow each other down; which two that are \
                 changes from run to run",
            )
            .change(Remedy::Command {
                command: format!("taskset -c {} breakeven profile …", list::text(&one_each)),
                undo: None,
            });
    }
    let others = |group: &&Vec<u32>| {
        let count = inside(group).len();
        count > 0 && count < group.len()
    };
    let shared = groups.iter().filter(others).count();
    match shared {
        0 => Finding::good(
            subject,
            format!("each of the {} cores is a physical one", allowed.len()),
        )
        .from(file),
        _ => Finding::good(
            subject,
            format!(
                "one thread of each physical core ({}); others may use the second of {shared}",
                list::text(allowed)
            ),
        )
        .from(file),
    }
}

fn isolation(cores: &Cores, allowed: &[u32], rights: Rights) -> Finding {
    let (subject, file) = (Subject::Isolation, "/sys/devices/system/cpu/isolated");
    let Fact::Known(isolated) = &cores.isolated else {
        return Finding::unknown(subject, "the system does not tell which cores are isolated");
    };
    let effect = "other processes, interrupts and the kernel's own work take time from the \
                  measured one";
    if !isolated.is_empty() && allowed.iter().all(|core| isolated.contains(core)) {
        let tickless = cores.tickless.known();
        let is_tickless = |core: &u32| tickless.is_some_and(|list| list.contains(core));
        let ticks = match allowed.iter().all(is_tickless) {
            true => ", without the timer's interrupt",
            false => "",
        };
        let seen = format!("on isolated cores ({}){ticks}", list::text(allowed));
        return Finding::good(subject, seen).from(file);
    }
    if !isolated.is_empty() {
        let isolated = list::text(isolated);
        let seen = format!("cores {isolated} are isolated, and this process is not on them");
        return Finding::new(subject, Standing::Doubtful, seen)
            .from(file)
            .does(effect)
            .change(Remedy::Command {
                command: format!("taskset -c {isolated} breakeven profile …"),
                undo: None,
            });
    }
    let online = cores.online.known().map_or(allowed.len(), Vec::len);
    let finding = Finding::new(subject, Standing::Doubtful, "no core is isolated")
        .from(file)
        .does(effect);
    if rights.container {
        return finding.change(Remedy::Elsewhere {
            why: "whoever runs the container's host can keep cores free for it".to_owned(),
            command: Some("docker run --cpuset-cpus=2-3 …".to_owned()),
        });
    }
    let Some(most) = cores.online.known().and_then(|online| online.last()) else {
        return finding;
    };
    if online < FEWEST {
        return finding.change(Remedy::Elsewhere {
            why: format!("{online} cores are too few to keep some free"),
            command: None,
        });
    }
    let free = format!("2-{most}");
    finding.change(Remedy::act(format!(
        "add `isolcpus={free} nohz_full={free} rcu_nocbs={free}` to the kernel's command line, \
         restart, and measure with `taskset -c {free} breakeven profile …`"
    )))
}
