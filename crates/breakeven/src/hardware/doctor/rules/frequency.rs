//! How clocks are chosen: governor and energy preference, boost, battery (the kernel's
//! `admin-guide/pm/cpufreq.rst`, `intel_pstate.rst`, `amd-pstate.rst`).

use std::collections::BTreeSet;

use crate::hardware::Fact;
use crate::hardware::doctor::facts::{Facts, Scaling, Setting};
use crate::hardware::doctor::finding::{Finding, Remedy, Standing, Subject};
use crate::hardware::doctor::rights::Rights;

const CLOCKS: &str = "the clock follows the load with a delay, so the first milliseconds of \
                      work and runs with pauses are slower than others";

pub(super) fn look(facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![governor(facts)];
    findings.extend(preference(facts));
    findings.push(boost(facts));
    findings.extend(power_supply(facts));
    findings
}

/// The setting of every core under one path with a star.
fn of_all(setting: &Setting, core: u32) -> String {
    setting.file.replacen(&format!("/cpu{core}/"), "/cpu*/", 1)
}

fn governor(facts: &Facts) -> Finding {
    let subject = Subject::Governor;
    let scaling = &facts.settings.frequency.scaling;
    let Some(first) = scaling.first() else {
        return none_told(
            facts,
            subject,
            "no cpufreq: the system does not tell how clocks are chosen",
        );
    };
    let files = of_all(&first.governor, first.core);
    let names: BTreeSet<&str> = scaling.iter().map(|it| &*it.governor.value).collect();
    let by = first
        .driver
        .known()
        .map_or_else(String::new, |driver| format!(" ({driver})"));
    let all: Vec<&str> = names.iter().copied().collect();
    let seen = format!("{}{by}", all.join(", "));
    let fixed = names.len() == 1 && (names.contains("performance") || names.contains("userspace"));
    if fixed {
        return Finding::good(subject, seen).from(files);
    }
    // There the processor chooses, by the preference.
    if names.len() == 1 && names.contains("powersave") && has_preference(scaling) {
        return Finding::good(subject, format!("{seen}: the processor chooses")).from(files);
    }
    let effect = match names.len() {
        1 if names.contains("powersave") => {
            "cores stay at their lowest clock: figures are \
                                             steady, and not those of the machine at work"
        }
        1 => CLOCKS,
        _ => "cores have different rules: a run depends on the core that it gets",
    };
    Finding::new(subject, Standing::Doubtful, seen)
        .from(&files)
        .does(effect)
        .change(Remedy::write(
            &first.governor,
            &files,
            "performance",
            Rights::of(facts),
        ))
}

fn has_preference(scaling: &[Scaling]) -> bool {
    scaling.iter().all(|it| it.preference.is_known())
}

/// What the processor prefers where it chooses itself.
fn preference(facts: &Facts) -> Option<Finding> {
    let subject = Subject::Governor;
    let scaling = &facts.settings.frequency.scaling;
    let first = scaling.first()?;
    let (Fact::Known(preference), true) = (&first.preference, has_preference(scaling)) else {
        return None;
    };
    let files = of_all(preference, first.core);
    let known = scaling.iter().filter_map(|it| it.preference.known());
    let names: BTreeSet<&str> = known.map(|it| &*it.value).collect();
    let all: Vec<&str> = names.iter().copied().collect();
    let seen = format!("energy preference {}", all.join(", "));
    // 0 is performance, as a number.
    if names.iter().all(|name| ["performance", "0"].contains(name)) {
        return Some(Finding::good(subject, seen).from(files));
    }
    let remedy = Remedy::write(preference, &files, "performance", Rights::of(facts));
    Some(
        Finding::new(subject, Standing::Doubtful, seen)
            .from(files)
            .does(CLOCKS)
            .change(remedy),
    )
}

fn boost(facts: &Facts) -> Finding {
    let subject = Subject::Boost;
    let Fact::Known(boost) = &facts.settings.frequency.boost else {
        return none_told(facts, subject, "no switch for it is told");
    };
    let file = &boost.switch.file;
    if !boost.on {
        return Finding::good(subject, "off").from(file);
    }
    let off = match file.ends_with("no_turbo") {
        true => "1",
        false => "0",
    };
    Finding::new(subject, Standing::Doubtful, "on")
        .from(file)
        .does(
            "how far above its base clock a core runs depends on its heat and on how many \
             others work: a run after another one, or beside one, is slower",
        )
        .change(Remedy::write(&boost.switch, file, off, Rights::of(facts)))
}

fn power_supply(facts: &Facts) -> Option<Finding> {
    let (subject, file) = (Subject::PowerSupply, "/sys/class/power_supply");
    match facts.settings.frequency.on_battery {
        Fact::Known(true) => Some(
            Finding::new(subject, Standing::Bad, "on battery")
                .from(file)
                .does("the firmware lowers clocks, and the more so the emptier the battery is")
                .change(Remedy::act("plug the mains supply in")),
        ),
        Fact::Known(false) => Some(Finding::good(subject, "mains").from(file)),
        // Servers and virtual machines have no such folder.
        Fact::Unknown => None,
    }
}

/// Nothing is told of clocks; in a virtual machine that is no accident.
fn none_told(facts: &Facts, subject: Subject, seen: &str) -> Finding {
    let finding = Finding::unknown(subject, seen)
        .does("clocks may change between runs, and nothing here would show it");
    match facts.settings.virtualisation.hypervisor {
        Fact::Known(true) => finding.change(Remedy::Elsewhere {
            why: "in a virtual machine the host chooses the clocks".to_owned(),
            command: None,
        }),
        _ => finding,
    }
}
