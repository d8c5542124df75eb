//! Findings about a machine, and the rules that derive them.

use std::collections::{BTreeMap, BTreeSet};

use breakeven_machine::Fact;
use breakeven_machine::sensors::{ClockLimit, GpuReading, GpuState, Source};
use breakeven_profile::machine::cgroup;
use breakeven_profile::unit::{self, percent};
use serde::Serialize;

use super::facts::{BusyProcess, CPU, Facts, Setting, list_text};
use crate::show::environment::smallest_step;

/// What a finding means for measured times, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Standing {
    /// Nothing to change.
    Good,
    /// The system does not report it.
    Unknown,
    /// Times vary more than necessary.
    Doubtful,
    /// Times are wrong, or vary for a reason unrelated to the work.
    Bad,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The subject, as it is printed.
    pub(crate) subject: &'static str,
    /// What it means.
    pub(crate) standing: Standing,
    /// What was observed.
    pub(crate) seen: String,
    /// The file or the driver that reported it; none if nothing did.
    pub(crate) source: Option<String>,
    /// Its effect on measured times; empty without effect.
    pub(crate) effect: &'static str,
    /// How to change it, as it is printed: what to `type` and how to `undo` that, what to `do`, or
    /// why it is `not here` and what to type `there`. breakeven runs none of these commands.
    pub(crate) remedy: BTreeMap<&'static str, String>,
}

impl Finding {
    fn new(subject: &'static str, standing: Standing, seen: impl Into<String>) -> Self {
        Self {
            subject,
            standing,
            seen: seen.into(),
            source: None,
            effect: "",
            remedy: BTreeMap::new(),
        }
    }

    fn good(subject: &'static str, seen: impl Into<String>) -> Self {
        Self::new(subject, Standing::Good, seen)
    }

    fn unknown(subject: &'static str, seen: impl Into<String>) -> Self {
        Self::new(subject, Standing::Unknown, seen)
    }

    fn from(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    fn does(mut self, effect: &'static str) -> Self {
        self.effect = effect;
        self
    }

    fn change(mut self, how: &'static str, text: impl Into<String>) -> Self {
        self.remedy.insert(how, text.into());
        self
    }

    fn typed(self, command: impl Into<String>, undo: impl Into<String>) -> Self {
        self.change("type", command).change("undo", undo)
    }

    /// Changed by writing a value to the setting's file, or to all similar `files`.
    fn written(self, setting: &Setting, files: &str, value: &str, facts: &Facts) -> Self {
        let write = |sudo: &str, value: &str| {
            let value = shlex::try_quote(value).unwrap_or_default();
            format!("echo {value} | {sudo}tee {files}")
        };
        let sudo = facts.sudo();
        match setting.writable {
            false if facts.in_container() => self
                .change(
                    "not here",
                    "the container may not change it; whoever runs its host can",
                )
                .change("there", write("sudo ", value)),
            false if sudo.is_empty() => {
                let why = format!("{} is not writable, even for root", setting.file);
                self.change("not here", why)
            }
            _ => self.typed(write(sudo, value), write(sudo, &setting.value)),
        }
    }

    /// Unknown, or changed by the host alone if this is a virtual machine.
    fn on_host(self, facts: &Facts, why: &str) -> Self {
        match facts.hypervisor() {
            Some(true) => self.change("not here", why),
            _ => self,
        }
    }
}

/// Derives the findings from the facts, in the order in which they are printed.
pub(crate) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    governor(facts, &mut found);
    found.push(boost(facts));
    found.extend(power_supply(facts));
    found.push(heat(facts));
    cores(facts, &mut found);
    found.extend(quota(facts));
    load(facts, &mut found);
    virtualisation(facts, &mut found);
    found.extend(steal(facts));
    found.push(clock_source(facts));
    found.extend(clock(facts));
    found.push(swap(facts));
    found.push(addresses(facts));
    for gpu in &facts.gpus {
        gpu_state(gpu, facts, &mut found);
    }
    found
}

const CLOCKS: &str = "the clock follows the load with a delay, so the first milliseconds of work, and runs with pauses, are slower";

/// Checks how clocks are chosen: governor and energy preference (the kernel's
/// `admin-guide/pm/cpufreq.rst`, `intel_pstate.rst`, `amd-pstate.rst`).
fn governor(facts: &Facts, found: &mut Vec<Finding>) {
    let subject = "governor";
    let cores = facts.allowed().or_else(|| facts.cores("online"));
    let cores = cores.unwrap_or_default();
    let file = |core: &u32, name: &str| format!("{CPU}/cpu{core}/cpufreq/{name}");
    let governors = cores
        .iter()
        .map(|core| facts.named(&file(core, "scaling_governor")));
    let preferences = cores.iter().filter(|core| {
        let governor = file(core, "scaling_governor");
        facts.named(&governor).is_some()
    });
    let preferences =
        preferences.map(|core| facts.named(&file(core, "energy_performance_preference")));
    let preferences: Option<Vec<Setting>> = preferences.collect();
    let governors: Vec<Setting> = governors.flatten().collect();
    let Some(first) = governors.first() else {
        let seen = "no cpufreq: the system does not report how clocks are chosen";
        return found.push(no_clocks(facts, subject, seen));
    };
    let (names, files) = (values(&governors), of_all(first));
    let driver = first.file.replace("scaling_governor", "scaling_driver");
    let by = facts.text(driver.trim_start_matches('/'));
    let by = by.map_or_else(String::new, |driver| format!(" ({driver})"));
    let seen = format!("{}{by}", names.join(", "));
    // With these drivers the processor chooses, by the preference.
    let chooses = names == ["powersave"] && preferences.is_some();
    found.push(match &names[..] {
        ["performance" | "userspace"] => Finding::good(subject, seen).from(files),
        _ if chooses => {
            Finding::good(subject, format!("{seen}: the processor chooses")).from(files)
        }
        names => Finding::new(subject, Standing::Doubtful, seen)
            .from(&files)
            .does(match names {
                ["powersave"] => {
                    "cores stay at their lowest clock: figures are steady, but slower than in use"
                }
                [_] => CLOCKS,
                _ => "cores have different rules: a run depends on the core that it gets",
            })
            .written(first, &files, "performance", facts),
    });
    let Some([first, ..]) = preferences.as_deref() else {
        return;
    };
    let preferences = preferences.as_deref().unwrap_or_default();
    let (names, files) = (values(preferences), of_all(first));
    let seen = format!("energy preference {}", names.join(", "));
    // The numeric value 0 means performance.
    found.push(
        match names.iter().all(|name| ["performance", "0"].contains(name)) {
            true => Finding::good(subject, seen).from(files),
            false => Finding::new(subject, Standing::Doubtful, seen)
                .from(&files)
                .does(CLOCKS)
                .written(first, &files, "performance", facts),
        },
    );
}

/// The different values of a setting.
fn values(settings: &[Setting]) -> Vec<&str> {
    let values: BTreeSet<&str> = settings.iter().map(|it| &*it.value).collect();
    values.into_iter().collect()
}

/// The setting files of all cores as one path with a star.
fn of_all(setting: &Setting) -> String {
    let (before, behind) = setting.file.split_once("/cpufreq/").unwrap_or_default();
    let before = before.trim_end_matches(|c: char| c.is_ascii_digit());
    format!("{before}*/cpufreq/{behind}")
}

fn boost(facts: &Facts) -> Finding {
    let subject = "boost";
    let switches = [
        ("intel_pstate/no_turbo", ["0", "1"]),
        ("cpufreq/boost", ["1", "0"]),
    ];
    let mut switches = switches.into_iter().filter_map(|(file, values)| {
        let switch = facts.setting(&format!("{CPU}/{file}"))?;
        values.contains(&&*switch.value).then_some((switch, values))
    });
    match switches.next() {
        None => no_clocks(facts, subject, "the system reports no switch for it"),
        Some((switch, [on, off])) if switch.value == on => {
            Finding::new(subject, Standing::Doubtful, "on")
                .from(&switch.file)
                .does(
                    "how far above its base clock a core runs depends on its temperature and on how many cores are busy: a run after or during another one is slower",
                )
                .written(&switch, &switch.file, off, facts)
        }
        Some((switch, _)) => Finding::good(subject, "off").from(switch.file),
    }
}

fn power_supply(facts: &Facts) -> Option<Finding> {
    let finding = match facts.on_battery()? {
        true => Finding::new("power supply", Standing::Bad, "on battery")
            .does("the firmware lowers clocks, and more as the battery empties")
            .change("do", "connect the mains supply"),
        false => Finding::good("power supply", "mains"),
    };
    Some(finding.from("/sys/class/power_supply"))
}

/// Nothing reports clocks; in a virtual machine that is normal.
fn no_clocks(facts: &Facts, subject: &'static str, seen: &str) -> Finding {
    Finding::unknown(subject, seen)
        .does("clocks may change between runs, and nothing here would show it")
        .on_host(facts, "in a virtual machine the host chooses the clocks")
}

/// Temperature from which current processors are close to throttling, °C: limits are 90 to 105
/// (`tempN_crit` of coretemp and k10temp).
const HOT: f64 = 90.0;

/// Checks the processor's temperature, and throttling under load.
fn heat(facts: &Facts) -> Finding {
    let subject = "heat";
    let celsius = facts.cpu.temperature_celsius.get();
    let seen = celsius.map(|celsius| format!("{celsius:.0} °C after the work"));
    let limits = facts.cpu.limits.known();
    let throttle = "/sys/devices/system/cpu/cpu*/thermal_throttle";
    if limits.is_some_and(|limits| limits.contains(&ClockLimit::Thermal)) {
        let at = seen.map_or_else(String::new, |seen| format!(" ({seen})"));
        let seen = format!("clocks were lowered for heat{at}");
        return Finding::new(subject, Standing::Bad, seen)
            .from(throttle)
            .does("the longer it works, the slower it is: later runs look like a regression")
            .change(
                "do",
                "let it cool down between runs, clear the fans, or switch boost off; \
                 `breakeven monitor` shows it",
            );
    }
    match seen {
        Some(seen) if celsius >= Some(HOT) => Finding::new(subject, Standing::Doubtful, seen)
            .from("hwmon")
            .does("a little more heat lowers the clocks")
            .change(
                "do",
                "let it cool down between runs; `breakeven monitor` shows it",
            ),
        Some(seen) => Finding::good(subject, seen).from("hwmon"),
        None if limits.is_some() => {
            Finding::good(subject, "clocks were not lowered for heat").from(throttle)
        }
        None => Finding::unknown(
            subject,
            "the system reports no temperature of the processor",
        )
        .does("clocks may be lowered for heat, and nothing here would show it")
        .on_host(facts, "in a virtual machine only the host sees the sensors"),
    }
}

/// Fewest cores from which isolating some makes sense: the system needs one or two.
const FEWEST: usize = 4;

/// Checks the cores of this process: hyper-threads, and isolation from other processes (the
/// kernel's `admin-guide/kernel-parameters.txt`, `timers/no_hz.rst`).
fn cores(facts: &Facts, found: &mut Vec<Finding>) {
    let Some(allowed) = facts.allowed() else {
        let seen = "the system does not report which cores this process may use";
        found.push(Finding::unknown("hyper-threads", seen));
        found.push(Finding::unknown("isolation", seen));
        return;
    };
    found.push(hyper_threads(facts, &allowed));
    found.push(isolation(facts, &allowed));
}

fn hyper_threads(facts: &Facts, allowed: &[u32]) -> Finding {
    let subject = "hyper-threads";
    let Some(groups) = facts.siblings() else {
        let seen = "the system does not report which logical cores share a physical one";
        return Finding::unknown(subject, seen);
    };
    let inside = |group: &Vec<u32>| -> Vec<u32> {
        let inside = group.iter().copied().filter(|core| allowed.contains(core));
        inside.collect()
    };
    let insides: Vec<Vec<u32>> = groups.iter().map(inside).collect();
    let mut one_each: Vec<u32> = insides
        .iter()
        .filter_map(|inside| inside.first().copied())
        .collect();
    one_each.sort_unstable();
    let shared = (groups.iter().zip(&insides))
        .filter(|(group, inside)| !inside.is_empty() && inside.len() < group.len());
    let finding = match shared.count() {
        _ if insides.iter().any(|inside| inside.len() > 1) => {
            let physical = match one_each.len() {
                1 => "1 physical core".to_owned(),
                physical => format!("{physical} physical cores"),
            };
            let seen = format!("logical cores {} are {physical}", list_text(allowed));
            Finding::new(subject, Standing::Doubtful, seen)
                .does(
                    "two threads on one physical core slow each other down; which two that are \
                     changes from run to run",
                )
                .change(
                    "type",
                    format!("taskset -c {} breakeven profile …", list_text(&one_each)),
                )
        }
        0 => Finding::good(
            subject,
            format!("each of the {} cores is a physical one", allowed.len()),
        ),
        shared => {
            let allowed = list_text(allowed);
            let seen = format!(
                "one thread of each physical core ({allowed}); others may use the second of {shared}"
            );
            Finding::good(subject, seen)
        }
    };
    finding.from("/sys/devices/system/cpu/cpu*/topology/thread_siblings_list")
}

fn isolation(facts: &Facts, allowed: &[u32]) -> Finding {
    let subject = "isolation";
    let Some(isolated) = facts.cores("isolated") else {
        let seen = "the system does not report which cores are isolated";
        return Finding::unknown(subject, seen);
    };
    let list = list_text(&isolated);
    let are_in = |cores: &[u32]| allowed.iter().all(|core| cores.contains(core));
    let file = "/sys/devices/system/cpu/isolated";
    if !isolated.is_empty() && are_in(&isolated) {
        // A kernel without the feature has no such file.
        let ticks = match facts.cores("nohz_full").is_some_and(|cores| are_in(&cores)) {
            true => ", without the timer's interrupt",
            false => "",
        };
        let seen = format!("on isolated cores ({}){ticks}", list_text(allowed));
        return Finding::good(subject, seen).from(file);
    }
    let seen = match isolated.is_empty() {
        true => "no core is isolated".to_owned(),
        false => format!("cores {list} are isolated, and this process is not on them"),
    };
    let finding = Finding::new(subject, Standing::Doubtful, seen)
        .from(file)
        .does(
            "other processes, interrupts and the kernel's own work take time from the measured one",
        );
    let online = facts.cores("online").unwrap_or_default();
    match online.last() {
        _ if !isolated.is_empty() => {
            finding.change("type", format!("taskset -c {list} breakeven profile …"))
        }
        _ if facts.in_container() => finding
            .change(
                "not here",
                "whoever runs the container's host can keep cores free for it",
            )
            .change("there", "docker run --cpuset-cpus=2-3 …"),
        None => finding,
        Some(_) if online.len() < FEWEST => {
            let why = format!("{} cores are too few to keep some free", online.len());
            finding.change("not here", why)
        }
        Some(most) => {
            let free = format!("2-{most}");
            finding.change("do", format!(
                "add `isolcpus={free} nohz_full={free} rcu_nocbs={free}` to the kernel's command line, \
                 restart, and measure with `taskset -c {free} breakeven profile …`"
            ))
        }
    }
}

/// Checks for a limit on CPU time: once it is exhausted, all threads stop until the next period
/// (the kernel's `scheduler/sched-bwc.rst`).
fn quota(facts: &Facts) -> Option<Finding> {
    let subject = "quota";
    let quota = cgroup::limits(&facts.root).cpu_cores?;
    let setting = facts.setting(quota.source.strip_prefix(&facts.root).ok()?.to_str()?)?;
    let file = setting.file.clone();
    let cores = facts.allowed().map(|cores| cores.len());
    let of = cores.map_or_else(String::new, |cores| format!(" of {cores}"));
    let limit = format!("CPU time of {}{of} cores", quota.value);
    let no_limit = match file.ends_with("cpu.max") {
        true => "max",
        false => "-1",
    };
    let (standing, how, effect) = match facts.loaded.throttled.get() {
        Some([periods, throttled]) if throttled > 0 => {
            let part = percent(throttled as f64 / periods.max(1) as f64);
            let how = format!("it was used up in {part} of its periods");
            (
                Standing::Bad,
                how,
                "all threads were stopped for up to 100 ms each time",
            )
        }
        _ if cores.is_some_and(|cores| quota.value >= cores as f64) => {
            return Some(Finding::good(subject, limit).from(file));
        }
        reported => {
            let how = match reported {
                Some(_) => "it was not used up",
                None => "how often it was used up is not reported",
            };
            let effect = "work on more threads is stopped for up to 100 ms at a time";
            (Standing::Doubtful, how.to_owned(), effect)
        }
    };
    let finding = Finding::new(subject, standing, format!("{limit}; {how}")).from(&file);
    Some(
        finding
            .does(effect)
            .written(&setting, &file, no_limit, facts),
    )
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
fn load(facts: &Facts, found: &mut Vec<Finding>) {
    let quiet = &facts.quiet;
    let online = facts.cores("online").map_or(0, |online| online.len());
    let Some(busy) = quiet.busy_cores.get().filter(|_| online > 0) else {
        let seen = "the system does not report how busy it is";
        return found.push(Finding::unknown("load", seen));
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
    let busy = quiet.processes.iter().filter(|it| it.cores >= BUSY);
    let busy: Vec<&BusyProcess> = busy.collect();
    let load = Finding::new("load", standing, seen).from("/proc/stat");
    found.push(match standing {
        Standing::Good => load,
        _ if busy.is_empty() => load.does(LOAD_EFFECT).change(
            "do",
            "no visible process uses much: look outside this container, or for many short \
             processes",
        ),
        // Reduces the effect of load that cannot be stopped; measured in docs/doctor.md.
        _ => load.does(LOAD_EFFECT).change(
            "type",
            format!("{}chrt --fifo 50 breakeven profile …", facts.sudo()),
        ),
    });
    found.extend(busy.into_iter().map(|it| {
        let seen = format!("{} ({}) takes {:.2} cores", it.name, it.pid, it.cores);
        let standing = match it.cores / online as f64 >= BAD_LOAD {
            true => Standing::Bad,
            false => Standing::Doubtful,
        };
        Finding::new("process", standing, seen)
            .from(format!("/proc/{}/stat", it.pid))
            .does(LOAD_EFFECT)
            .typed(
                format!("kill -STOP {}", it.pid),
                format!("kill -CONT {}", it.pid),
            )
    }));
}

/// Checks hypervisors and containers.
fn virtualisation(facts: &Facts, found: &mut Vec<Finding>) {
    let subject = "virtualisation";
    let dmi = |file: &str| facts.text(&format!("sys/class/dmi/id/{file}"));
    let product: Vec<String> = ["sys_vendor", "product_name"]
        .into_iter()
        .filter_map(dmi)
        .collect();
    let product = match product.join(" ") {
        product if product.trim().is_empty() => String::new(),
        product => format!(" ({})", product.trim()),
    };
    let finding = match facts.hypervisor() {
        Some(true) => {
            let seen = format!("a virtual machine{product}");
            Finding::new(subject, Standing::Doubtful, seen)
                .does(
                    "other machines on the host share caches, memory bandwidth and perhaps cores; \
                     nothing here shows when",
                )
                .change("not here", "only the host can give it cores of its own")
        }
        Some(false) => Finding::good(subject, format!("none{product}")),
        None => Finding::unknown(subject, "the processor does not report it"),
    };
    found.push(finding.from("/proc/cpuinfo"));
    found.extend(match facts.container() {
        Some("") => None,
        Some(file) => Some(
            Finding::new(subject, Standing::Doubtful, "in a container")
                .from(file)
                .does("other containers share the machine; their load may not be visible here")
                .change(
                    "not here",
                    "whoever runs its host can give it cores of its own",
                )
                .change("there", "docker run --cpuset-cpus=2-3 …"),
        ),
        None => {
            let seen = "the system does not report whether this is a container";
            Some(Finding::unknown(subject, seen))
        }
    });
}

/// Fraction of the requested CPU time from which its loss is visible, and from which it exceeds the
/// changes that are usually looked for.
const DOUBTFUL_STEAL: f64 = 0.001;
const BAD_STEAL: f64 = 0.02;

/// Checks CPU time that a hypervisor gave to other machines.
fn steal(facts: &Facts) -> Option<Finding> {
    let stolen = facts
        .loaded
        .stolen
        .get()
        .filter(|_| facts.hypervisor() == Some(true))?;
    let standing = match stolen {
        stolen if stolen < DOUBTFUL_STEAL => Standing::Good,
        stolen if stolen < BAD_STEAL => Standing::Doubtful,
        _ => Standing::Bad,
    };
    let seen = format!("{} of the wanted CPU time", percent(stolen));
    let finding = Finding::new("steal", standing, seen).from("/proc/stat");
    Some(match standing {
        Standing::Good => finding,
        _ => finding
            .does("the host ran other machines on these cores while work was being measured")
            .change(
                "not here",
                "only the host can give it cores of its own: ask for a machine with dedicated ones",
            ),
    })
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

fn clock_source(facts: &Facts) -> Finding {
    let folder = "sys/devices/system/clocksource/clocksource0";
    let Some(current) = facts.named(&format!("{folder}/current_clocksource")) else {
        return Finding::unknown("clock", "the system does not report its clock source");
    };
    if QUICK_SOURCES.contains(&&*current.value) {
        return Finding::good("clock", current.value).from(current.file);
    }
    let finding = Finding::new("clock", Standing::Bad, &*current.value)
        .from(&current.file)
        .does(
            "every reading enters the kernel and costs about a microsecond, in every sample \
             and in every measured program that reads it",
        );
    let available = facts.text(&format!("{folder}/available_clocksource"));
    let available = available.unwrap_or_default();
    let mut better = available
        .split_whitespace()
        .filter(|it| QUICK_SOURCES.contains(it));
    match better.next() {
        Some(better) => finding.written(&current, &current.file, better, facts),
        None => finding.change(
            "do",
            "the kernel found no better one: its log may say why (`dmesg | grep -i \
             clocksource`), and for firmware updates",
        ),
    }
}

/// Checks the cost of a reading of the clock, and its smallest step.
fn clock(facts: &Facts) -> Option<Finding> {
    let clock = facts.clock.as_ref()?;
    let (read, step) = (unit::time(clock.read_ns), smallest_step(clock));
    let seen = format!(
        "a reading takes {read}, its smallest step is {step} ({})",
        clock.source
    );
    let is_slow = clock.read_ns > COSTLY_NS || clock.resolution_ns > COARSE_NS;
    let finding = match is_slow {
        true => Finding::new("clock", Standing::Doubtful, seen)
            .does("times of calls below a few microseconds are mostly the clock's own")
            .change("do", "measure many calls as one"),
        false => Finding::good("clock", seen),
    };
    Some(finding.from("measured"))
}

fn swap(facts: &Facts) -> Finding {
    let subject = "swap";
    let swaps = facts
        .text("proc/swaps")
        .filter(|text| text.starts_with("Filename"));
    let Some(swaps) = swaps else {
        return Finding::unknown(subject, "the system does not report it");
    };
    let names = swaps
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next());
    let on = names.collect::<Vec<_>>().join(", ");
    let moved = [facts.quiet.swapped_pages, facts.loaded.swapped_pages];
    let moved: Option<u64> = moved.iter().map(|pages| pages.get()).sum();
    let finding = match moved {
        _ if on.is_empty() => Finding::good(subject, "none"),
        Some(0) => Finding::good(subject, format!("{on}; nothing was moved")),
        Some(pages) => {
            let (sudo, seen) = (facts.sudo(), format!("{on}; {pages} pages were moved"));
            let command = format!("{sudo}swapoff -a");
            let finding = Finding::new(subject, Standing::Bad, seen)
                .does("an access to memory may take milliseconds instead of 100 ns");
            match facts.in_container() {
                true => finding
                    .change(
                        "not here",
                        "the container cannot change it; whoever runs its host can",
                    )
                    .change("there", command),
                false => finding.typed(command, format!("{sudo}swapon -a")),
            }
        }
        None => Finding::unknown(subject, format!("{on}; whether it is used is not reported")),
    };
    finding.from("/proc/swaps")
}

/// Checks the placement of memory. Random addresses differ from run to run, which is right: the
/// effect of a layout is then noise that more runs average out. With fixed addresses it is a bias
/// that no number of runs reveals (Mytkowicz, Diwan, Hauswirth and Sweeney 2009, "Producing wrong
/// data without doing anything obviously wrong!"; Curtsinger and Berger 2013, "Stabilizer").
fn addresses(facts: &Facts) -> Finding {
    let subject = "addresses";
    let effect = "every run has the same layout of memory: a change that only moves code or data \
                  looks like a faster or slower one, however many runs there are";
    let setting = facts.setting("proc/sys/kernel/randomize_va_space");
    let setting = setting.filter(|setting| ["0", "1", "2"].contains(&&*setting.value));
    let Some(setting) = setting else {
        return Finding::unknown(subject, "the system does not report it");
    };
    // ADDR_NO_RANDOMIZE of personality(2).
    let bits = facts.text("proc/self/personality");
    let bits = bits.and_then(|bits| u32::from_str_radix(&bits, 16).ok());
    let is_fixed_here = bits.is_some_and(|bits| bits & 0x0004_0000 != 0);
    match &*setting.value {
        "0" => Finding::new(subject, Standing::Doubtful, "fixed")
            .from(&setting.file)
            .does(effect)
            .written(&setting, &setting.file, "2", facts),
        _ if is_fixed_here => Finding::new(subject, Standing::Doubtful, "fixed for this process")
            .from("/proc/self/personality")
            .does(effect)
            .change(
                "do",
                "start it without `setarch --addr-no-randomize` or a debugger",
            ),
        _ => Finding::good(subject, "random, another one in every run").from(setting.file),
    }
}

/// Use by other programs from which a GPU counts as busy, a fraction of its time.
const GPU_BUSY: f64 = 0.02;

/// Checks a GPU: throttled clocks, other users, unlocked clocks.
fn gpu_state(gpu: &GpuReading, facts: &Facts, found: &mut Vec<Finding>) {
    let name = format!("{} ({})", gpu.load.name, gpu.load.pci);
    let new = |standing, seen: &str| {
        Finding::new("gpu", standing, format!("{name}: {seen}")).from(gpu.source.name())
    };
    match gpu.state {
        GpuState::Current => {}
        GpuState::Silent { seconds } => {
            let seen = format!("its driver has not answered for {seconds:.0} s");
            return found.push(
                new(Standing::Bad, &seen)
                    .does("work on it may hang")
                    .change("do", "look into the kernel's log; restart the driver"),
            );
        }
        GpuState::Lost => {
            return found.push(
                new(Standing::Bad, "its driver cannot reach it any more")
                    .does("work on it fails")
                    .change("do", "look into the kernel's log; restart the machine"),
            );
        }
    }
    found.push(match gpu.limits.known() {
        None => new(
            Standing::Unknown,
            "the driver does not report why its clocks are lowered",
        ),
        Some(limits) => gpu_clocks(limits, gpu, facts, &new),
    });
    if let Fact::Known(used) = gpu.load.gpu_use
        && used >= GPU_BUSY
    {
        let processes = gpu.processes.known().into_iter().flatten();
        let by = processes.map(|process| format!("{} ({})", process.name, process.pid));
        let by = match by.collect::<Vec<_>>().join(", ") {
            by if by.is_empty() => by,
            by => format!(" by {by}"),
        };
        let seen = format!("in use for {} of its time{by}", percent(used));
        found.push(
            new(Standing::Bad, &seen)
                .does("other programs use its time, its memory and the link to it")
                .change("do", "stop them, or measure on another GPU"),
        );
    }
}

fn gpu_clocks(
    limits: &[ClockLimit],
    gpu: &GpuReading,
    facts: &Facts,
    new: &dyn Fn(Standing, &str) -> Finding,
) -> Finding {
    let slowing = limits
        .iter()
        .filter(|limit| limit.slows() && **limit != ClockLimit::Setting);
    let slowing: Vec<&str> = slowing.map(|limit| limit.name()).collect();
    if !slowing.is_empty() {
        return new(Standing::Bad, &format!("slowed by {}", slowing.join(", ")))
            .does("the longer it works, the slower it is")
            .change(
                "do",
                "let it cool down, or lock a lower clock that it can hold",
            );
    }
    if limits.contains(&ClockLimit::Setting) {
        return new(Standing::Good, "a setting fixes its clock");
    }
    let finding = new(
        Standing::Doubtful,
        "no setting that fixes its clock was found",
    )
    .does("its clock follows load, heat and power: the first launches and long work differ");
    let sudo = facts.sudo();
    match (gpu.source, gpu.load.pci.known()) {
        // The base clock, which a GPU sustains within its power limit (NVIDIA's documentation of
        // CUPTI).
        (Source::Nvml, Some(pci)) => {
            let smi = format!("{sudo}nvidia-smi --id={pci}");
            finding.typed(
                format!("{smi} --persistence-mode=1 && {smi} --lock-gpu-clocks=tdp,tdp"),
                format!("{smi} --reset-gpu-clocks && {smi} --persistence-mode=0"),
            )
        }
        (Source::Amdgpu, Some(pci)) => {
            let file = format!("/sys/bus/pci/devices/{pci}/power_dpm_force_performance_level");
            let tee = format!("{sudo}tee {file}");
            finding.typed(
                format!("echo profile_standard | {tee}"),
                format!("echo auto | {tee}"),
            )
        }
        _ => finding,
    }
}
