//! Findings about a machine, and the rules that derive them.

use std::collections::{BTreeMap, BTreeSet};

use breakeven_judge::page::figures::plural;
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
    /// Its row has the subject.
    fn new(standing: Standing, seen: impl Into<String>) -> Self {
        Self {
            subject: "",
            standing,
            seen: seen.into(),
            source: None,
            effect: "",
            remedy: BTreeMap::new(),
        }
    }

    fn good(seen: impl Into<String>) -> Self {
        Self::new(Standing::Good, seen)
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
        let write = |value: &str| {
            let value = shlex::try_quote(value).unwrap_or_default();
            format!("echo {value} | {}tee {files}", facts.sudo())
        };
        match facts.container() {
            Some(_) => {
                let why = "the container may not change it; whoever runs its host can";
                self.change("not here", why).change("there", write(value))
            }
            None => self.typed(write(value), write(&setting.value)),
        }
    }
}

/// What a check finds; none if the system does not report it.
type Rule = fn(&Facts) -> Option<Finding>;

/// The checks in the order in which they are printed: the subject, and whether every machine has it.
const RULES: [(&str, bool, Rule); 16] = [
    ("governor", true, governor),
    ("energy preference", false, energy_preference),
    ("boost", true, boost),
    ("power supply", false, power_supply),
    ("heat", true, heat),
    ("hyper-threads", true, hyper_threads),
    ("isolation", true, isolation),
    ("quota", false, quota),
    ("load", true, load),
    ("virtualisation", true, virtualisation),
    ("container", false, container),
    ("steal", false, steal),
    ("clock", true, clock_source),
    ("clock", false, clock),
    ("swap", true, swap),
    ("addresses", true, addresses),
];

/// Derives the findings from the facts.
pub(crate) fn findings(facts: &Facts) -> Vec<Finding> {
    let unknown = || Finding::new(Standing::Unknown, "the system does not report it");
    let general = RULES
        .into_iter()
        .filter_map(|(subject, is_everywhere, rule)| {
            let found = rule(facts).or_else(|| is_everywhere.then(unknown));
            Some((subject, found?))
        });
    let processes = busy(facts).map(|each| ("process", process(each, facts)));
    let gpus = facts.gpus.iter().flat_map(|each| gpu(each, facts));
    let gpus = gpus.map(|found| ("gpu", found));
    general
        .chain(processes)
        .chain(gpus)
        .map(|(subject, found)| Finding { subject, ..found })
        .collect()
}

const CLOCKS: &str = "the clock follows the load with a delay, so the first milliseconds of work, and runs with pauses, are slower";

/// A setting of each core that this process may use.
fn of_cores(facts: &Facts, name: &str) -> Vec<Setting> {
    let cores = facts.allowed().or_else(|| facts.cores("online"));
    let cores = cores.unwrap_or_default().into_iter();
    let setting = |core| facts.named(&format!("{CPU}/cpu{core}/cpufreq/{name}"));
    cores.filter_map(setting).collect()
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

/// Checks how clocks are chosen (the kernel's `admin-guide/pm/cpufreq.rst`, `intel_pstate.rst`,
/// `amd-pstate.rst`).
fn governor(facts: &Facts) -> Option<Finding> {
    let settings = of_cores(facts, "scaling_governor");
    let first = settings.first()?;
    let (names, files) = (values(&settings), of_all(first));
    let seen = names.join(", ");
    let chooses = || !of_cores(facts, "energy_performance_preference").is_empty();
    let finding = match &names[..] {
        ["performance" | "userspace"] => Finding::good(seen),
        ["powersave"] if chooses() => Finding::good(format!("{seen}: the processor chooses")),
        names => Finding::new(Standing::Doubtful, seen)
            .does(match names {
                ["powersave"] => {
                    "cores stay at their lowest clock: figures are steady, but slower than in use"
                }
                [_] => CLOCKS,
                _ => "cores have different rules: a run depends on the core that it gets",
            })
            .written(first, &files, "performance", facts),
    };
    Some(finding.from(files))
}

/// Checks what the processor prefers where it chooses its clock.
fn energy_preference(facts: &Facts) -> Option<Finding> {
    let settings = of_cores(facts, "energy_performance_preference");
    let first = settings.first()?;
    let (names, files) = (values(&settings), of_all(first));
    let seen = names.join(", ");
    // The numeric value 0 means performance.
    let finding = match names.iter().all(|name| ["performance", "0"].contains(name)) {
        true => Finding::good(seen),
        false => Finding::new(Standing::Doubtful, seen).does(CLOCKS).written(
            first,
            &files,
            "performance",
            facts,
        ),
    };
    Some(finding.from(files))
}

fn boost(facts: &Facts) -> Option<Finding> {
    let switches = [
        ("intel_pstate/no_turbo", ["0", "1"]),
        ("cpufreq/boost", ["1", "0"]),
    ];
    let (switch, [on, off]) = switches.into_iter().find_map(|(file, values)| {
        let switch = facts.setting(&format!("{CPU}/{file}"))?;
        values.contains(&&*switch.value).then_some((switch, values))
    })?;
    let finding = match switch.value == on {
        true => Finding::new(Standing::Doubtful, "on")
            .does("how far above its base clock a core runs depends on its temperature and on how many cores are busy: a run after or during another one is slower")
            .written(&switch, &switch.file, off, facts),
        false => Finding::good("off"),
    };
    Some(finding.from(switch.file))
}

fn power_supply(facts: &Facts) -> Option<Finding> {
    let finding = match facts.on_battery()? {
        true => Finding::new(Standing::Bad, "on battery")
            .does("the firmware lowers clocks, and more as the battery empties")
            .change("do", "connect the mains supply"),
        false => Finding::good("mains"),
    };
    Some(finding.from("/sys/class/power_supply"))
}

/// Temperature from which current processors are close to throttling, °C: limits are 90 to 105
/// (`tempN_crit` of coretemp and k10temp).
const HOT: f64 = 90.0;

/// Checks the processor's temperature, and throttling under load.
fn heat(facts: &Facts) -> Option<Finding> {
    let celsius = facts.cpu.temperature_celsius.get();
    let seen = celsius.map(|celsius| format!("{celsius:.0} °C after the work"));
    let limits = facts.cpu.limits.known();
    let throttle = "/sys/devices/system/cpu/cpu*/thermal_throttle";
    if limits.is_some_and(|limits| limits.contains(&ClockLimit::Thermal)) {
        let at = seen.map_or_else(String::new, |seen| format!(" ({seen})"));
        let seen = format!("clocks were lowered for heat{at}");
        let finding = Finding::new(Standing::Bad, seen)
            .from(throttle)
            .does("the longer it works, the slower it is: later runs look like a regression")
            .change(
                "do",
                "let it cool down between runs, clear the fans, or switch boost off; \
                 `breakeven monitor` shows it",
            );
        return Some(finding);
    }
    match seen {
        Some(seen) if celsius >= Some(HOT) => {
            let finding = Finding::new(Standing::Doubtful, seen).from("hwmon");
            let cool = "let it cool down between runs; `breakeven monitor` shows it";
            Some(
                finding
                    .does("a little more heat lowers the clocks")
                    .change("do", cool),
            )
        }
        Some(seen) => Some(Finding::good(seen).from("hwmon")),
        None => limits.map(|_| Finding::good("clocks were not lowered for heat").from(throttle)),
    }
}

/// Checks whether cores of this process share a physical one.
fn hyper_threads(facts: &Facts) -> Option<Finding> {
    let (allowed, groups) = (facts.allowed()?, facts.siblings()?);
    let first = |group: &Vec<u32>| group.iter().copied().find(|core| allowed.contains(core));
    let mut one_each: Vec<u32> = groups.iter().filter_map(first).collect();
    one_each.sort_unstable();
    let finding = match one_each.len() < allowed.len() {
        true => {
            let physical = plural(one_each.len() as u64, "physical core");
            let seen = format!("logical cores {} are {physical}", list_text(&allowed));
            let apart = format!("taskset -c {} breakeven profile …", list_text(&one_each));
            Finding::new(Standing::Doubtful, seen)
                .does(
                    "two threads on one physical core slow each other down; which two that are \
                     changes from run to run",
                )
                .change("type", apart)
        }
        false => Finding::good("no two usable cores share a physical one"),
    };
    Some(finding.from("/sys/devices/system/cpu/cpu*/topology/thread_siblings_list"))
}

/// Fewest cores from which isolating some makes sense: the system needs one or two.
const FEWEST: usize = 4;

/// Checks isolation from other processes (the kernel's `admin-guide/kernel-parameters.txt`,
/// `timers/no_hz.rst`).
fn isolation(facts: &Facts) -> Option<Finding> {
    let (allowed, isolated) = (facts.allowed()?, facts.cores("isolated")?);
    let list = list_text(&isolated);
    let file = "/sys/devices/system/cpu/isolated";
    if !isolated.is_empty() && allowed.iter().all(|core| isolated.contains(core)) {
        let seen = format!("on isolated cores ({})", list_text(&allowed));
        return Some(Finding::good(seen).from(file));
    }
    let seen = match isolated.is_empty() {
        true => "no core is isolated".to_owned(),
        false => format!("cores {list} are isolated, and this process is not on them"),
    };
    let finding = Finding::new(Standing::Doubtful, seen).from(file).does(
        "other processes, interrupts and the kernel's own work take time from the measured one",
    );
    let online = facts.cores("online").unwrap_or_default();
    Some(match online.last() {
        _ if !isolated.is_empty() => {
            finding.change("type", format!("taskset -c {list} breakeven profile …"))
        }
        _ if facts.container().is_some() => finding
            .change(
                "not here",
                "whoever runs the container's host can keep cores free for it",
            )
            .change("there", CORES_OF_ITS_OWN),
        Some(most) if online.len() >= FEWEST => {
            let free = format!("2-{most}");
            finding.change("do", format!(
                "add `isolcpus={free} nohz_full={free} rcu_nocbs={free}` to the kernel's command line, \
                 restart, and measure with `taskset -c {free} breakeven profile …`"
            ))
        }
        _ => finding.change("not here", "there are too few cores to keep some free"),
    })
}

const CORES_OF_ITS_OWN: &str = "docker run --cpuset-cpus=2-3 …";

/// Checks for a limit on CPU time: once it is exhausted, all threads stop until the next period
/// (the kernel's `scheduler/sched-bwc.rst`).
fn quota(facts: &Facts) -> Option<Finding> {
    let quota = cgroup::limits(&facts.root).cpu_cores?;
    let setting = facts.setting(quota.source.strip_prefix(&facts.root).ok()?.to_str()?)?;
    let file = setting.file.clone();
    let cores = facts.allowed().map(|cores| cores.len());
    let limit = format!("CPU time of {} cores", quota.value);
    let no_limit = match file.ends_with("cpu.max") {
        true => "max",
        false => "-1",
    };
    let finding = match facts.loaded.throttled.get() {
        Some([periods, throttled]) if throttled > 0 => {
            let part = percent(throttled as f64 / periods.max(1) as f64);
            let seen = format!("{limit}; it was used up in {part} of its periods");
            Finding::new(Standing::Bad, seen)
                .does("all threads were stopped for up to 100 ms each time")
        }
        _ if cores.is_some_and(|cores| quota.value >= cores as f64) => {
            return Some(Finding::good(limit).from(file));
        }
        _ => Finding::new(Standing::Doubtful, limit)
            .does("work on more threads is stopped for up to 100 ms at a time"),
    };
    let finding = finding.written(&setting, &file, no_limit, facts);
    Some(finding.from(file))
}

/// Fraction of the cores from which other programs disturb, and from which they dominate the times.
/// An idle server is at 0.1 % to 1 %.
const DOUBTFUL_LOAD: f64 = 0.03;
const BAD_LOAD: f64 = 0.2;

/// CPU time, in cores, from which a process is named.
const BUSY: f64 = 0.1;

const LOAD_EFFECT: &str = "it takes cores, cache and memory bandwidth from the measured work, in \
    varying amounts";

/// The processes that used the cores while the machine was idle, if others disturb.
fn busy(facts: &Facts) -> impl Iterator<Item = &BusyProcess> {
    let disturbs = load(facts).is_some_and(|load| load.standing != Standing::Good);
    let busy = facts.quiet.processes.iter();
    busy.filter(move |it| disturbs && it.cores >= BUSY)
}

/// Checks other load: use of the cores while the machine was idle.
fn load(facts: &Facts) -> Option<Finding> {
    let online = facts.cores("online")?.len();
    let used = facts.quiet.busy_cores.get().filter(|_| online > 0)? / online as f64;
    let mut seen = format!("{} of {online} cores used by other programs", percent(used));
    if let Fact::Known(pressure) = facts.cpu.pressure {
        let waited = percent(pressure);
        seen = format!("{seen}; some thread waited for a core in {waited} of the last 10 s");
    }
    let standing = match used {
        used if used >= BAD_LOAD => Standing::Bad,
        used if used >= DOUBTFUL_LOAD => Standing::Doubtful,
        _ => return Some(Finding::good(seen).from("/proc/stat")),
    };
    let load = Finding::new(standing, seen)
        .from("/proc/stat")
        .does(LOAD_EFFECT);
    let is_seen = facts.quiet.processes.iter().any(|it| it.cores >= BUSY);
    Some(match is_seen {
        // Reduces the effect of load that cannot be stopped; measured in docs/doctor.md.
        true => load.change(
            "type",
            format!("{}chrt --fifo 50 breakeven profile …", facts.sudo()),
        ),
        false => load.change(
            "do",
            "no visible process uses much: look outside this container, or for many short \
             processes",
        ),
    })
}

fn process(it: &BusyProcess, facts: &Facts) -> Finding {
    let online = facts.cores("online").map_or(1, |online| online.len());
    let seen = format!("{} ({}) takes {:.2} cores", it.name, it.pid, it.cores);
    let standing = match it.cores / online as f64 >= BAD_LOAD {
        true => Standing::Bad,
        false => Standing::Doubtful,
    };
    Finding::new(standing, seen)
        .from(format!("/proc/{}/stat", it.pid))
        .does(LOAD_EFFECT)
        .typed(
            format!("kill -STOP {}", it.pid),
            format!("kill -CONT {}", it.pid),
        )
}

fn virtualisation(facts: &Facts) -> Option<Finding> {
    let finding = match facts.hypervisor()? {
        true => Finding::new(Standing::Doubtful, "a virtual machine")
            .does(
                "other machines on the host share caches, memory bandwidth and perhaps cores; \
                 nothing here shows when",
            )
            .change("not here", "only the host can give it cores of its own"),
        false => Finding::good("none"),
    };
    Some(finding.from("/proc/cpuinfo"))
}

fn container(facts: &Facts) -> Option<Finding> {
    let finding = Finding::new(Standing::Doubtful, "this is one")
        .from(facts.container()?)
        .does("other containers share the machine; their load may not be visible here")
        .change(
            "not here",
            "whoever runs its host can give it cores of its own",
        );
    Some(finding.change("there", CORES_OF_ITS_OWN))
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
    let finding = Finding::new(standing, seen).from("/proc/stat");
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

fn clock_source(facts: &Facts) -> Option<Finding> {
    let folder = "sys/devices/system/clocksource/clocksource0";
    let current = facts.named(&format!("{folder}/current_clocksource"))?;
    if QUICK_SOURCES.contains(&&*current.value) {
        return Some(Finding::good(current.value).from(current.file));
    }
    let finding = Finding::new(Standing::Bad, &*current.value)
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
    Some(match better.next() {
        Some(better) => finding.written(&current, &current.file, better, facts),
        None => finding.change(
            "do",
            "the kernel found no better one: its log may say why (`dmesg | grep -i \
             clocksource`), and for firmware updates",
        ),
    })
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
        true => Finding::new(Standing::Doubtful, seen)
            .does("times of calls below a few microseconds are mostly the clock's own")
            .change("do", "measure many calls as one"),
        false => Finding::good(seen),
    };
    Some(finding.from("measured"))
}

fn swap(facts: &Facts) -> Option<Finding> {
    let swaps = facts.text("proc/swaps")?;
    let (_, swaps) = swaps.split_once('\n').unwrap_or((&swaps, ""));
    let names = swaps
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let on = names.collect::<Vec<_>>().join(", ");
    let moved = [facts.quiet.swapped_pages, facts.loaded.swapped_pages];
    let finding = match moved.iter().map(|pages| pages.get()).sum::<Option<u64>>() {
        _ if on.is_empty() => Finding::good("none"),
        None => return None,
        Some(0) => Finding::good(format!("{on}; nothing was moved")),
        Some(pages) => {
            let finding = Finding::new(Standing::Bad, format!("{on}; {pages} pages were moved"))
                .does("an access to memory may take milliseconds instead of 100 ns");
            match (facts.container(), facts.sudo()) {
                (Some(_), _) => finding.change("not here", "the container cannot change it"),
                (None, sudo) => {
                    finding.typed(format!("{sudo}swapoff -a"), format!("{sudo}swapon -a"))
                }
            }
        }
    };
    Some(finding.from("/proc/swaps"))
}

/// Checks the placement of memory. Random addresses differ from run to run, which is right: the
/// effect of a layout is then noise that more runs average out. With fixed addresses it is a bias
/// that no number of runs reveals (Mytkowicz, Diwan, Hauswirth and Sweeney 2009, "Producing wrong
/// data without doing anything obviously wrong!"; Curtsinger and Berger 2013, "Stabilizer").
fn addresses(facts: &Facts) -> Option<Finding> {
    let setting = facts.setting("proc/sys/kernel/randomize_va_space")?;
    let finding = match &*setting.value {
        "0" => Finding::new(Standing::Doubtful, "fixed")
            .does(
                "every run has the same layout of memory: a change that only moves code or data \
                 looks like a faster or slower one, however many runs there are",
            )
            .written(&setting, &setting.file, "2", facts),
        "1" | "2" => Finding::good("random, another one in every run"),
        _ => return None,
    };
    Some(finding.from(setting.file))
}

/// Use by other programs from which a GPU counts as busy, a fraction of its time.
const GPU_BUSY: f64 = 0.02;

/// Checks a GPU: throttled clocks, other users, unlocked clocks.
fn gpu(gpu: &GpuReading, facts: &Facts) -> Vec<Finding> {
    let name = format!("{} ({})", gpu.load.name, gpu.load.pci);
    let new = |standing, seen: &str| {
        Finding::new(standing, format!("{name}: {seen}")).from(gpu.source.name())
    };
    if gpu.state != GpuState::Current {
        let finding = new(
            Standing::Bad,
            "its driver does not answer, or cannot reach it",
        );
        let finding = finding.does("work on it hangs or fails");
        return vec![finding.change("do", "look into the kernel's log; restart the machine")];
    }
    let mut found = vec![match gpu.limits.known() {
        None => new(
            Standing::Unknown,
            "the driver does not report why its clocks are lowered",
        ),
        Some(limits) => gpu_clocks(limits, gpu, facts, &new),
    }];
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
    found
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
