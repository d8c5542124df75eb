//! Findings on the system: quota, load, virtualisation, clock, swap, addresses.

use breakeven_machine::Fact;
use breakeven_profile::unit::{self, percent};

use super::activity::BusyProcess;
use super::facts::{Container, Facts};
use super::finding::{Finding, Remedy, Standing, Subject};
use crate::show::environment::smallest_step;

/// Checks for a limit on CPU time: once it is exhausted, all threads stop until the next period
/// (the kernel's `scheduler/sched-bwc.rst`).
pub(crate) fn quota(facts: &Facts) -> Vec<Finding> {
    let Some(quota) = &facts.settings.quota else {
        return Vec::new();
    };
    let file = &quota.setting.file;
    let cores = facts.settings.cores.allowed.known().map(Vec::len);
    let of = cores.map_or_else(String::new, |cores| format!(" of {cores}"));
    let limit = format!("CPU time of {}{of} cores", quota.cores);
    let no_limit = match file.ends_with("cpu.max") {
        true => "max",
        false => "-1",
    };
    let remedy = Remedy::write(&quota.setting, file, no_limit, facts);
    let finding = match facts.loaded.throttled.get() {
        Some([periods, throttled]) if throttled > 0 => {
            let part = percent(throttled as f64 / periods.max(1) as f64);
            Finding::new(
                Subject::Quota,
                Standing::Bad,
                format!("{limit}; it was used up in {part} of its periods"),
            )
            .does("all threads were stopped for up to 100 ms each time")
            .change(remedy)
        }
        _ if cores.is_some_and(|cores| quota.cores >= cores as f64) => {
            Finding::good(Subject::Quota, limit)
        }
        reported => {
            let seen = match reported {
                Some(_) => format!("{limit}; it was not used up"),
                None => format!("{limit}; how often it was used up is not reported"),
            };
            Finding::new(Subject::Quota, Standing::Doubtful, seen)
                .does("work on more threads is stopped for up to 100 ms at a time")
                .change(remedy)
        }
    };
    vec![finding.from(file)]
}

/// Fraction of the cores from which other programs disturb, and from which they dominate the times.
/// An idle server is at 0.1 % to 1 %.
const DOUBTFUL_LOAD: f64 = 0.03;
const BAD_LOAD: f64 = 0.2;

/// CPU time, in cores, from which a process is named.
const BUSY: f64 = 0.1;

const LOAD_EFFECT: &str = "it takes cores, cache and memory bandwidth from the measured work, in \
    varying amounts";

/// Checks other load: use of the cores while the machine was idle, and by which processes.
pub(crate) fn load(facts: &Facts) -> Vec<Finding> {
    let quiet = &facts.quiet;
    let online = facts.settings.cores.online.known().map(Vec::len);
    let (Some(busy), Some(online)) = (quiet.busy_cores.get(), online.filter(|it| *it > 0)) else {
        let seen = "the system does not report how busy it is";
        return vec![Finding::unknown(Subject::Load, seen)];
    };
    let used = busy / online as f64;
    let mut seen = format!("{} of {online} cores used by other programs", percent(used));
    if let Fact::Known(pressure) = facts.cpu.pressure {
        let waited = percent(pressure);
        seen = format!("{seen}; some thread waited for a core in {waited} of the last 10 s");
    }
    let standing = match used {
        used if used >= BAD_LOAD => Standing::Bad,
        used if used >= DOUBTFUL_LOAD => Standing::Doubtful,
        _ => Standing::Good,
    };
    let mut load = Finding::new(Subject::Load, standing, seen).from("/proc/stat");
    let busy: Vec<_> = quiet
        .processes
        .iter()
        .filter(|it| it.cores >= BUSY)
        .collect();
    if standing != Standing::Good {
        load = load.does(LOAD_EFFECT).change(match busy.is_empty() {
            true => Remedy::act(
                "no visible process uses much: look outside this container, or for many short \
                 processes",
            ),
            // Reduces the effect of load that cannot be stopped; measured in docs/doctor.md.
            false => Remedy::command(format!(
                "{}chrt --fifo 50 breakeven profile …",
                facts.sudo()
            )),
        });
    }
    let process = |it: &&BusyProcess| {
        let seen = format!("{} ({}) takes {:.2} cores", it.name, it.pid, it.cores);
        let standing = match it.cores / online as f64 >= BAD_LOAD {
            true => Standing::Bad,
            false => Standing::Doubtful,
        };
        let signal = |signal: &str| format!("kill -{signal} {}", it.pid);
        Finding::new(Subject::Process, standing, seen)
            .from(format!("/proc/{}/stat", it.pid))
            .does(LOAD_EFFECT)
            .change(Remedy::Command {
                command: signal("STOP"),
                undo: Some(signal("CONT")),
            })
    };
    let mut findings = vec![load];
    findings.extend(busy.iter().map(process));
    findings
}

/// Fraction of the requested CPU time from which its loss is visible, and from which it exceeds the
/// changes that are usually looked for.
const DOUBTFUL_STEAL: f64 = 0.001;
const BAD_STEAL: f64 = 0.02;

/// Checks hypervisors and containers, and CPU time that a hypervisor gave to other machines.
pub(crate) fn virtualisation(facts: &Facts) -> Vec<Finding> {
    let seen = &facts.settings.virtualisation;
    let mut findings = Vec::new();
    let product = seen
        .product
        .known()
        .map_or_else(String::new, |name| format!(" ({name})"));
    let subject = Subject::Virtualisation;
    findings.push(
        match seen.hypervisor {
            Fact::Known(true) => {
                let text = format!("a virtual machine{product}");
                Finding::new(subject, Standing::Doubtful, text)
                .does(
                    "other machines on the host share caches, memory bandwidth and perhaps cores; \
                     nothing here shows when",
                )
                .change(Remedy::elsewhere("only the host can give it cores of its own"))
            }
            Fact::Known(false) => Finding::good(subject, format!("none{product}")),
            Fact::Unknown => Finding::unknown(subject, "the processor does not report it"),
        }
        .from("/proc/cpuinfo"),
    );
    match &seen.container {
        Fact::Known(Container::By(file)) => findings.push(
            Finding::new(subject, Standing::Doubtful, "in a container")
                .from(file)
                .does("other containers share the machine; their load may not be visible here")
                .change(Remedy::Elsewhere {
                    why: "whoever runs its host can give it cores of its own".to_owned(),
                    command: Some("docker run --cpuset-cpus=2-3 …".to_owned()),
                }),
        ),
        Fact::Known(Container::None) => {}
        Fact::Unknown => {
            findings.push(Finding::unknown(
                subject,
                "the system does not report whether this is a container",
            ));
        }
    }
    findings.extend(steal(facts));
    findings
}

fn steal(facts: &Facts) -> Option<Finding> {
    let stolen = facts.loaded.stolen.get()?;
    if !facts.in_virtual_machine() {
        return None;
    }
    let (subject, file) = (Subject::Steal, "/proc/stat");
    let seen = format!("{} of the wanted CPU time", percent(stolen));
    if stolen < DOUBTFUL_STEAL {
        return Some(Finding::good(subject, seen).from(file));
    }
    let standing = if stolen < BAD_STEAL {
        Standing::Doubtful
    } else {
        Standing::Bad
    };
    Some(
        Finding::new(subject, standing, seen)
            .from(file)
            .does("the host ran other machines on these cores while work was being measured")
            .change(Remedy::Elsewhere {
                why: "only the host can give it cores of its own: ask for a machine with \
                      dedicated ones"
                    .to_owned(),
                command: None,
            }),
    )
}

/// Clock sources that a program reads without entering the kernel (`clock_gettime`'s vDSO: the
/// kernel's `arch/x86/entry/vdso`, `arch/arm64/kernel/vdso`).
const QUICK_SOURCES: [&str; 4] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
];

/// Cost of a reading from which short calls cannot be timed one by one, ns.
const COSTLY_NS: f64 = 200.0;

/// Smallest step that distorts usual measurements, ns.
const COARSE_NS: f64 = 1_000.0;

/// Checks the clock: its source, the cost of a reading, its smallest step.
pub(crate) fn clock(facts: &Facts) -> Vec<Finding> {
    vec![source(facts)].into_iter().chain(cost(facts)).collect()
}

fn source(facts: &Facts) -> Finding {
    let subject = Subject::Clock;
    let source = &facts.settings.clock_source;
    let Fact::Known(current) = &source.current else {
        return Finding::unknown(subject, "the system does not report its clock source");
    };
    let name = &*current.value;
    let finding = match QUICK_SOURCES.contains(&name) {
        true => Finding::good(subject, name),
        false => {
            let finding = Finding::new(subject, Standing::Bad, name).does(
                "every reading enters the kernel and costs about a microsecond, in every sample \
                 and in every measured program that reads it",
            );
            let better = source
                .available
                .iter()
                .find(|it| QUICK_SOURCES.contains(&&***it));
            match better {
                Some(better) => {
                    let file = &current.file;
                    finding.change(Remedy::write(current, file, better, facts))
                }
                None => finding.change(Remedy::act(
                    "the kernel found no better one: its log may say why (`dmesg | grep -i \
                     clocksource`), and for firmware updates",
                )),
            }
        }
    };
    finding.from(&current.file)
}

fn cost(facts: &Facts) -> Option<Finding> {
    let clock = facts.clock.as_ref()?;
    let (read, step) = (unit::time(clock.read_ns), smallest_step(clock));
    let seen = format!(
        "a reading takes {read}, its smallest step is {step} ({})",
        clock.source
    );
    let standing = match clock.read_ns > COSTLY_NS || clock.resolution_ns > COARSE_NS {
        true => Standing::Doubtful,
        false => Standing::Good,
    };
    let finding = Finding::new(Subject::Clock, standing, seen).from("measured");
    Some(match standing {
        Standing::Good => finding,
        _ => finding
            .does("times of calls below a few microseconds are mostly the clock's own")
            .change(Remedy::act("measure many calls as one")),
    })
}

/// Checks swap.
pub(crate) fn swap(facts: &Facts) -> Vec<Finding> {
    let (subject, file) = (Subject::Swap, "/proc/swaps");
    let Fact::Known(swaps) = &facts.settings.memory.swaps else {
        return vec![Finding::unknown(subject, "the system does not report it")];
    };
    if swaps.is_empty() {
        return vec![Finding::good(subject, "none").from(file)];
    }
    let moved = [facts.quiet.swapped_pages, facts.loaded.swapped_pages];
    let moved: Option<u64> = moved.iter().map(|pages| pages.get()).sum();
    let on = swaps.join(", ");
    let finding = match moved {
        Some(0) => Finding::good(subject, format!("{on}; nothing was moved")),
        Some(pages) => {
            let sudo = facts.sudo();
            let command = format!("{sudo}swapoff -a");
            let seen = format!("{on}; {pages} pages were moved");
            Finding::new(subject, Standing::Bad, seen)
                .does("an access to memory may take milliseconds instead of 100 ns")
                .change(match facts.in_container() {
                    true => Remedy::Elsewhere {
                        why: "the container cannot change it; whoever runs its host can".to_owned(),
                        command: Some(command),
                    },
                    false => Remedy::Command {
                        command,
                        undo: Some(format!("{sudo}swapon -a")),
                    },
                })
        }
        None => Finding::unknown(subject, format!("{on}; whether it is used is not reported")),
    };
    vec![finding.from(file)]
}

/// Checks the placement of memory. Random addresses differ from run to run, which is right: the
/// effect of a layout is then noise that more runs average out. With fixed addresses it is a bias
/// that no number of runs reveals (Mytkowicz, Diwan, Hauswirth and Sweeney 2009, "Producing wrong
/// data without doing anything obviously wrong!"; Curtsinger and Berger 2013, "Stabilizer").
pub(crate) fn addresses(facts: &Facts) -> Vec<Finding> {
    let memory = &facts.settings.memory;
    let subject = Subject::Addresses;
    let effect = "every run has the same layout of memory: a change that only moves code or data \
                  looks like a faster or slower one, however many runs there are";
    let Fact::Known(setting) = &memory.randomised else {
        return vec![Finding::unknown(subject, "the system does not report it")];
    };
    let finding = match (&*setting.value, memory.fixed_here) {
        ("0", _) => Finding::new(subject, Standing::Doubtful, "fixed")
            .from(&setting.file)
            .does(effect)
            .change(Remedy::write(setting, &setting.file, "2", facts)),
        (_, Fact::Known(true)) => {
            Finding::new(subject, Standing::Doubtful, "fixed for this process")
                .from("/proc/self/personality")
                .does(effect)
                .change(Remedy::act(
                    "start it without `setarch --addr-no-randomize` or a debugger",
                ))
        }
        _ => Finding::good(subject, "random, another one in every run").from(&setting.file),
    };
    vec![finding]
}
