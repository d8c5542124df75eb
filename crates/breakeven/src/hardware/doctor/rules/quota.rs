//! A limit on CPU time: where it is used up, all threads stand still until the next
//! period (the kernel's `scheduler/sched-bwc.rst`).

use breakeven_profile::unit::percent;

use crate::hardware::doctor::facts::Facts;
use crate::hardware::doctor::finding::{Finding, Remedy, Standing, Subject};
use crate::hardware::doctor::rights::Rights;

pub(super) fn look(facts: &Facts) -> Vec<Finding> {
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
    let remedy = Remedy::write(&quota.setting, file, no_limit, Rights::of(facts));
    let finding = match facts.loaded.throttled.get() {
        Some([periods, throttled]) if throttled > 0 => {
            let part = percent(throttled as f64 / periods.max(1) as f64);
            Finding::new(
                Subject::Quota,
                Standing::Bad,
                format!("{limit}; it was used up in {part} of its periods"),
            )
            .does("all threads stood still for up to 100 ms each time")
            .change(remedy)
        }
        _ if cores.is_some_and(|cores| quota.cores >= cores as f64) => {
            Finding::good(Subject::Quota, limit)
        }
        told => {
            let seen = match told {
                Some(_) => format!("{limit}; it was not used up"),
                None => format!("{limit}; how often it was used up is not told"),
            };
            Finding::new(Subject::Quota, Standing::Doubtful, seen)
                .does("work on more threads than that is stopped for up to 100 ms at a time")
                .change(remedy)
        }
    };
    vec![finding.from(file)]
}
