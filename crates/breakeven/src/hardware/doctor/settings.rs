//! Reads what is set on a machine and for this process.

use std::collections::BTreeSet;
use std::env::consts;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use breakeven_profile::machine::cgroup;

use super::facts::{
    Boost, ClockSource, Container, Cores, Frequency, Memory, Quota, Scaling, Setting, Settings,
    Virtualisation,
};
use super::list;
use crate::hardware::sensors::files::{entries, text};

const CPU: &str = "sys/devices/system/cpu";

/// Words in the path of a process's cgroup that containers put there.
const OF_CONTAINERS: [&str; 6] = ["docker", "kubepods", "containerd", "libpod", "lxc", "crio"];

impl Settings {
    /// What is set below `root`, which is `/` but in tests. What is not there or makes no
    /// sense is unknown.
    pub(super) fn read(root: &Path) -> Self {
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

/// A file below `root` and whether this process could write it. Opening a file of `/sys`
/// or `/proc/sys` to write changes nothing.
fn setting(root: &Path, file: &str) -> Option<Setting> {
    let path = root.join(file);
    let value = text(&path).filter(|value| !value.is_empty() && value.len() < 256)?;
    Some(Setting {
        file: format!("/{file}"),
        value,
        writable: OpenOptions::new().write(true).open(path).is_ok(),
    })
}

/// A setting whose value is a name, as the kernel has them.
fn named(root: &Path, file: &str) -> Option<Setting> {
    let of_names = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    setting(root, file).filter(|setting| setting.value.chars().all(of_names))
}

fn cores(root: &Path, status: &str) -> Cores {
    let list = |file: &str| text(root.join(CPU).join(file)).and_then(|text| list::cores(&text));
    let online = list("online");
    let allowed = field(status, "Cpus_allowed_list:").and_then(list::cores);
    let siblings = online.as_ref().and_then(|online| {
        let of = |core: &u32| list(&format!("cpu{core}/topology/thread_siblings_list"));
        let groups: Option<BTreeSet<Vec<u32>>> = online.iter().map(of).collect();
        Some(groups?.into_iter().collect())
    });
    // The list may name cores that could be plugged in and are not.
    let is_online = |core: &u32| online.as_ref().is_none_or(|online| online.contains(core));
    let allowed = allowed.map(|mut allowed| {
        allowed.retain(is_online);
        allowed
    });
    Cores {
        allowed: allowed.filter(|allowed| !allowed.is_empty()).into(),
        isolated: list("isolated").into(),
        // A kernel that cannot do it has no such file.
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

/// Whether a battery is being emptied and no mains supply is there (the kernel's
/// `sysfs-class-power`). Servers have neither.
fn on_battery(root: &Path) -> Option<bool> {
    let supplies = entries(root.join("sys/class/power_supply"));
    let told = |kind: &str, file: &str, yes: &str, no: &[&str]| {
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
    let any = |told: &[Option<bool>]| match told.contains(&Some(true)) {
        true => Some(true),
        false => told.iter().all(Option::is_some).then_some(false),
    };
    let mains = told("Mains", "online", "1", &["0"]);
    let batteries = told(
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
