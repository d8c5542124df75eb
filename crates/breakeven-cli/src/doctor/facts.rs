//! Facts about a machine, and how its settings are read.

use std::collections::BTreeSet;
use std::env::consts;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use breakeven_machine::Fact;
use breakeven_machine::linux::{entries, text};
use breakeven_machine::sensors::{CpuReading, GpuReading};
use breakeven_profile::machine::cgroup;
use breakeven_profile::profile::Clock;
use serde::Serialize;

use super::activity::Activity;

/// Input of the findings.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Facts {
    /// The settings when they were read.
    pub(crate) settings: Settings,
    /// Activity while the machine was idle.
    pub(crate) quiet: Activity,
    /// Activity under load.
    pub(crate) loaded: Activity,
    /// The processors after the load; limits of their clocks are those since its begin.
    pub(crate) cpu: CpuReading,
    /// The GPUs after the load.
    pub(crate) gpus: Vec<GpuReading>,
    /// The clock that measures times, if it was measured.
    pub(crate) clock: Option<Clock>,
}

/// A system file with one value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Setting {
    /// Its path.
    pub(crate) file: String,
    /// Its text.
    pub(crate) value: String,
    /// Whether this process could write the file.
    pub(crate) writable: bool,
}

/// Settings of the machine and of this process.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Settings {
    /// The processor's architecture, as `std::env::consts::ARCH` names it.
    pub(crate) arch: &'static str,
    /// Whether this process runs as administrator.
    pub(crate) root: Fact<bool>,
    /// The cores, and which of them this process may use.
    pub(crate) cores: Cores,
    /// The quota of CPU time, if there is one.
    pub(crate) quota: Option<Quota>,
    /// How clocks are chosen.
    pub(crate) frequency: Frequency,
    /// Whether the machine is virtual.
    pub(crate) virtualisation: Virtualisation,
    /// The kernel's clock source.
    pub(crate) clock_source: ClockSource,
    /// Swap and address randomisation.
    pub(crate) memory: Memory,
}

/// Logical cores by their numbers.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Cores {
    /// Cores that this process may use.
    pub(crate) allowed: Fact<Vec<u32>>,
    /// Cores that are online.
    pub(crate) online: Fact<Vec<u32>>,
    /// Cores that the scheduler gives only to processes that request them (`isolcpus`).
    pub(crate) isolated: Fact<Vec<u32>>,
    /// Cores without timer interrupts while one thread runs (`nohz_full`).
    pub(crate) tickless: Fact<Vec<u32>>,
    /// For each physical core its logical cores.
    pub(crate) siblings: Fact<Vec<Vec<u32>>>,
}

/// A quota of CPU time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Quota {
    /// CPU time, in cores.
    pub(crate) cores: f64,
    /// The file that sets the quota.
    pub(crate) setting: Setting,
}

/// How clocks are chosen.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Frequency {
    /// For each core that this process may use, if the system chooses its clock.
    pub(crate) scaling: Vec<Scaling>,
    /// Whether cores may run above their base clock.
    pub(crate) boost: Fact<Boost>,
    /// Whether the machine runs on a battery.
    pub(crate) on_battery: Fact<bool>,
}

/// How the clock of one core is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Scaling {
    /// The core.
    pub(crate) core: u32,
    /// The driver: `intel_pstate`, `amd-pstate-epp`, `acpi-cpufreq`.
    pub(crate) driver: Fact<String>,
    /// The rule: `performance`, `powersave`, `schedutil`.
    pub(crate) governor: Setting,
    /// The processor's own preference, if its firmware chooses: `performance`,
    /// `balance_performance`, `power`.
    pub(crate) preference: Fact<Setting>,
}

/// The switch for clocks above the base clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Boost {
    /// Whether it is on.
    pub(crate) on: bool,
    /// Commands that switch it off, and on again.
    pub(crate) switch: Setting,
}

/// Virtualisation between this process and the hardware.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Virtualisation {
    /// Whether a hypervisor is present, as the processor reports.
    pub(crate) hypervisor: Fact<bool>,
    /// The machine's name from its firmware.
    pub(crate) product: Fact<String>,
    /// Whether the process is in a container.
    pub(crate) container: Fact<Container>,
}

/// Whether a process is in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Container {
    /// In no container.
    None,
    /// In a container, as this file shows.
    By(String),
}

/// The kernel's clock source.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ClockSource {
    /// The current source.
    pub(crate) current: Fact<Setting>,
    /// The available sources.
    pub(crate) available: Vec<String>,
}

/// Swap and address randomisation.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Memory {
    /// Devices and files used for swap.
    pub(crate) swaps: Fact<Vec<String>>,
    /// Whether addresses are random: `2`, `1`, or `0` for fixed ones.
    pub(crate) randomised: Fact<Setting>,
    /// Whether this process's addresses are fixed (`setarch --addr-no-randomize`).
    pub(crate) fixed_here: Fact<bool>,
}

const CPU: &str = "sys/devices/system/cpu";

/// Words in a process's cgroup path that containers put there.
const OF_CONTAINERS: [&str; 6] = ["docker", "kubepods", "containerd", "libpod", "lxc", "crio"];

impl Settings {
    /// Reads the settings below `root`, which is `/` except in tests. Missing or invalid values are
    /// unknown.
    pub(crate) fn read(root: &Path) -> Self {
        let status = fs::read_to_string(root.join("proc/self/status")).unwrap_or_default();
        let cores = cores(root, &status);
        let effective = field(&status, "Uid:").and_then(|ids| ids.split_whitespace().nth(1));
        Self {
            arch: consts::ARCH,
            root: effective
                .and_then(|id| id.parse::<u32>().ok())
                .map(|id| id == 0)
                .into(),
            frequency: frequency(root, &cores),
            cores,
            quota: cgroup::limits(root).cpu_cores.and_then(|quota| {
                let file = quota.source.strip_prefix(root).ok()?;
                let setting = setting(root, file.to_str()?)?;
                Some(Quota {
                    cores: quota.value,
                    setting,
                })
            }),
            virtualisation: virtualisation(root),
            clock_source: clock_source(root),
            memory: memory(root),
        }
    }
}

/// The value of the line that begins with `key`.
fn field<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim())
}

/// A file below `root`, and whether this process could write it. Opening a file of `/sys` or
/// `/proc/sys` for writing changes nothing.
fn setting(root: &Path, file: &str) -> Option<Setting> {
    let path = root.join(file);
    let value = text(&path).filter(|value| !value.is_empty() && value.len() < 256)?;
    Some(Setting {
        file: format!("/{file}"),
        value,
        writable: OpenOptions::new().write(true).open(path).is_ok(),
    })
}

/// A setting whose value is a name, as the kernel defines them.
fn named(root: &Path, file: &str) -> Option<Setting> {
    let of_names = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    setting(root, file).filter(|setting| setting.value.chars().all(of_names))
}

fn cores(root: &Path, status: &str) -> Cores {
    let list = |file: &str| text(root.join(CPU).join(file)).and_then(|text| list_of(&text));
    let online = list("online");
    let allowed = field(status, "Cpus_allowed_list:").and_then(list_of);
    let siblings = online.as_ref().and_then(|online| {
        let of = |core: &u32| list(&format!("cpu{core}/topology/thread_siblings_list"));
        let groups: Option<BTreeSet<Vec<u32>>> = online.iter().map(of).collect();
        Some(groups?.into_iter().collect())
    });
    // The list may name cores that are not plugged in.
    let is_online = |core: &u32| online.as_ref().is_none_or(|online| online.contains(core));
    let allowed = allowed.map(|mut allowed| {
        allowed.retain(is_online);
        allowed
    });
    Cores {
        allowed: allowed.filter(|allowed| !allowed.is_empty()).into(),
        isolated: list("isolated").into(),
        // A kernel without the feature has no such file.
        tickless: list("nohz_full").into(),
        siblings: siblings.into(),
        online: online.into(),
    }
}

fn frequency(root: &Path, cores: &Cores) -> Frequency {
    let scaling = |core: &u32| {
        let file = |file: &str| format!("{CPU}/cpu{core}/cpufreq/{file}");
        Some(Scaling {
            core: *core,
            driver: text(root.join(file("scaling_driver"))).into(),
            governor: named(root, &file("scaling_governor"))?,
            preference: named(root, &file("energy_performance_preference")).into(),
        })
    };
    let switch = |file: &str, off: &str, on: &str| {
        let switch = setting(root, &format!("{CPU}/{file}"))?;
        let on = match &*switch.value {
            value if value == on => true,
            value if value == off => false,
            _ => return None,
        };
        Some(Boost { on, switch })
    };
    let boost =
        switch("intel_pstate/no_turbo", "1", "0").or_else(|| switch("cpufreq/boost", "0", "1"));
    let known = cores.allowed.known().or(cores.online.known());
    Frequency {
        scaling: known.into_iter().flatten().filter_map(scaling).collect(),
        boost: boost.into(),
        on_battery: on_battery(root).into(),
    }
}

/// Whether a battery is discharging and no mains supply is connected (the kernel's
/// `sysfs-class-power`). Servers have neither.
fn on_battery(root: &Path) -> Option<bool> {
    let supplies = entries(root.join("sys/class/power_supply"));
    let is_online = |kind: &str, file: &str, yes: &str, no: &[&str]| {
        let is_kind = |path: &&PathBuf| text(path.join("type")).as_deref() == Some(kind);
        let each = supplies.iter().filter(is_kind).map(|path| {
            let value = text(path.join(file))?;
            match value == yes {
                true => Some(true),
                false => no.contains(&&*value).then_some(false),
            }
        });
        each.collect::<Vec<Option<bool>>>()
    };
    let any = |is_online: &[Option<bool>]| match is_online.contains(&Some(true)) {
        true => Some(true),
        false => is_online.iter().all(Option::is_some).then_some(false),
    };
    let mains = is_online("Mains", "online", "1", &["0"]);
    let batteries = is_online(
        "Battery",
        "status",
        "Discharging",
        &["Charging", "Not charging", "Full"],
    );
    match (mains.is_empty(), batteries.is_empty()) {
        (false, _) => any(&mains).map(|on_mains| !on_mains),
        (true, false) => any(&batteries),
        (true, true) => None,
    }
}

fn virtualisation(root: &Path) -> Virtualisation {
    let cpuinfo = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    let flagged = flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    let guest = text(root.join("sys/hypervisor/type"))
        .is_some()
        .then_some(true);
    let dmi =
        |file: &str| text(root.join("sys/class/dmi/id").join(file)).filter(|it| !it.is_empty());
    let product = match (dmi("sys_vendor"), dmi("product_name")) {
        (Some(vendor), Some(name)) => Some(format!("{vendor} {name}")),
        (vendor, name) => vendor.or(name),
    };
    Virtualisation {
        hypervisor: guest.or(flagged).into(),
        product: product.into(),
        container: container(root).into(),
    }
}

fn container(root: &Path) -> Option<Container> {
    let marks = [".dockerenv", "run/.containerenv"];
    if let Some(mark) = marks.into_iter().find(|mark| root.join(mark).exists()) {
        return Some(Container::By(format!("/{mark}")));
    }
    let group = text(root.join("proc/self/cgroup"))?;
    let is_named = OF_CONTAINERS.iter().any(|word| group.contains(word));
    let environment = fs::read(root.join("proc/1/environ")).unwrap_or_default();
    let says = environment
        .split(|byte| *byte == 0)
        .any(|it| it.starts_with(b"container="));
    Some(match (is_named, says) {
        (true, _) => Container::By("/proc/self/cgroup".to_owned()),
        (false, true) => Container::By("/proc/1/environ".to_owned()),
        (false, false) => Container::None,
    })
}

fn clock_source(root: &Path) -> ClockSource {
    let folder = "sys/devices/system/clocksource/clocksource0";
    let available = text(root.join(folder).join("available_clocksource")).unwrap_or_default();
    ClockSource {
        current: named(root, &format!("{folder}/current_clocksource")).into(),
        available: available.split_whitespace().map(str::to_owned).collect(),
    }
}

fn memory(root: &Path) -> Memory {
    let swaps = fs::read_to_string(root.join("proc/swaps")).ok();
    let swaps = swaps
        .filter(|text| text.starts_with("Filename"))
        .map(|text| {
            let names = text
                .lines()
                .skip(1)
                .filter_map(|line| line.split_whitespace().next());
            names.map(str::to_owned).collect()
        });
    let personality = text(root.join("proc/self/personality"));
    // ADDR_NO_RANDOMIZE of personality(2).
    let fixed = personality.and_then(|bits| u32::from_str_radix(&bits, 16).ok());
    let randomised = setting(root, "proc/sys/kernel/randomize_va_space");
    Memory {
        swaps: swaps.into(),
        randomised: randomised
            .filter(|setting| ["0", "1", "2"].contains(&&*setting.value))
            .into(),
        fixed_here: fixed.map(|bits| bits & 0x0004_0000 != 0).into(),
    }
}

/// More cores than any machine has; a list that names more is invalid.
const MOST: u32 = 1 << 16;

/// Parses a list of cores into ascending order. None if it is invalid.
fn list_of(text: &str) -> Option<Vec<u32>> {
    let mut cores = Vec::new();
    let ranges = text.trim().split(',').filter(|range| !range.is_empty());
    for range in ranges {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        cores.extend(first..=last);
    }
    cores.sort_unstable();
    cores.dedup();
    Some(cores)
}

/// Formats cores as such a list.
pub(crate) fn list_text(cores: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for core in cores {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *core => *last = *core,
            _ => ranges.push((*core, *core)),
        }
    }
    let range = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for (list, expected) in [
            ("0-3,8,10-11\n", vec![0, 1, 2, 3, 8, 10, 11]),
            ("\n", vec![]),
            ("5", vec![5]),
        ] {
            assert_eq!(list_of(list), Some(expected), "{list}");
            assert_eq!(list_text(&list_of(list).unwrap()), list.trim());
        }
        for bad in ["x", "3-1", "0-4294967295", "1-2-3", "-1", "(null)"] {
            assert_eq!(list_of(bad), None, "{bad}");
        }
    }
}
