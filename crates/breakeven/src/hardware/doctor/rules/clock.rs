//! The clock that takes times: its source, what a reading costs, its smallest step.

use breakeven_profile::unit;

use crate::hardware::Fact;
use crate::hardware::doctor::facts::Facts;
use crate::hardware::doctor::finding::{Finding, Remedy, Standing, Subject};
use crate::hardware::doctor::rights::Rights;

/// Sources that a program reads without entering the kernel (`clock_gettime`'s vDSO: the
/// kernel's `arch/x86/entry/vdso`, `arch/arm64/kernel/vdso`).
const QUICK: [&str; 4] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
];

/// Cost of a reading from which short calls cannot be timed singly, ns.
const COSTLY_NS: f64 = 200.0;

/// Smallest step from which it rounds what is usually measured, ns.
const COARSE_NS: f64 = 1_000.0;

pub(super) fn look(facts: &Facts) -> Vec<Finding> {
    vec![source(facts)].into_iter().chain(cost(facts)).collect()
}

fn source(facts: &Facts) -> Finding {
    let subject = Subject::Clock;
    let source = &facts.settings.clock_source;
    let Fact::Known(current) = &source.current else {
        return Finding::unknown(subject, "the system does not tell its clock");
    };
    let name = &*current.value;
    let finding = match QUICK.contains(&name) {
        true => Finding::good(subject, name),
        false => {
            let finding = Finding::new(subject, Standing::Bad, name).does(
                "every reading enters the kernel and costs about a microsecond, in every sample \
                 and in every measured program that reads it",
            );
            let better = source.available.iter().find(|it| QUICK.contains(&&***it));
            match better {
                Some(better) => {
                    let file = &current.file;
                    finding.change(Remedy::write(current, file, better, Rights::of(facts)))
                }
                None => finding.change(Remedy::act(
                    "the kernel found no better one: look into its log for why (`dmesg | grep -i \
                     clocksource`), and for firmware updates",
                )),
            }
        }
    };
    finding.from(&current.file)
}

fn cost(facts: &Facts) -> Option<Finding> {
    let clock = facts.clock.as_ref()?;
    let [read, step] = [clock.read_ns, clock.resolution_ns].map(unit::time);
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
            .does("times of calls below some microseconds are mostly those of the clock")
            .change(Remedy::act("measure many calls as one")),
    })
}
