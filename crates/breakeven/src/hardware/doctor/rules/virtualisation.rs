//! Hypervisors and containers, and CPU time that a hypervisor gave to others.

use breakeven_profile::unit::percent;

use crate::hardware::Fact;
use crate::hardware::doctor::facts::{Container, Facts};
use crate::hardware::doctor::finding::{Finding, Remedy, Standing, Subject};

/// Fraction of the wanted CPU time from which its loss is seen, and from which it is large
/// beside what is usually looked for.
const DOUBTFUL: f64 = 0.001;
const BAD: f64 = 0.02;

pub(super) fn look(facts: &Facts) -> Vec<Finding> {
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
                .change(Remedy::Elsewhere {
                    why: "only the host can give it cores of its own".to_owned(),
                    command: None,
                })
            }
            Fact::Known(false) => Finding::good(subject, format!("none{product}")),
            Fact::Unknown => Finding::unknown(subject, "the processor does not tell"),
        }
        .from("/proc/cpuinfo"),
    );
    match &seen.container {
        Fact::Known(Container::By(file)) => findings.push(
            Finding::new(subject, Standing::Doubtful, "in a container")
                .from(file)
                .does("other containers share the machine; what they do may not be seen here")
                .change(Remedy::Elsewhere {
                    why: "whoever runs its host can give it cores of its own".to_owned(),
                    command: Some("docker run --cpuset-cpus=2-3 …".to_owned()),
                }),
        ),
        Fact::Known(Container::None) => {}
        Fact::Unknown => {
            findings.push(Finding::unknown(
                subject,
                "whether in a container is not told",
            ));
        }
    }
    findings.extend(steal(facts));
    findings
}

fn steal(facts: &Facts) -> Option<Finding> {
    let stolen = facts.loaded.stolen.get()?;
    if facts.settings.virtualisation.hypervisor != Fact::Known(true) {
        return None;
    }
    let (subject, file) = (Subject::Steal, "/proc/stat");
    let seen = format!("{} of the wanted CPU time", percent(stolen));
    if stolen < DOUBTFUL {
        return Some(Finding::good(subject, seen).from(file));
    }
    let standing = if stolen < BAD {
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
