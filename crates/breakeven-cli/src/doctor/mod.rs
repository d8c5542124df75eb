//! Whether this machine is fit to measure on, as far as the system reports.
//!
//! An [`Observer`] collects [`Facts`]: settings of the processor and of the system, other load
//! while the machine was idle, and what happened under load. [`findings`] is a pure function of
//! them: each [`Finding`] says what was observed and where, its effect on measured times, and the
//! command that changes it. Nothing here changes a setting. The facts come from Linux's `/proc` and
//! `/sys` and from the sensors; on other systems most are unknown. The noise of times is measured
//! separately; [`Diagnosis`] joins both.

mod activity;
mod diagnosis;
mod facts;
mod finding;
mod gpu;
pub(crate) mod page;
mod processor;
pub(crate) mod run;
mod system;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use activity::{Activity, Counters};
use breakeven_machine::sensors::Sensors;
use breakeven_profile::profile::Clock;
pub(crate) use diagnosis::{Diagnosis, Limit, Measured, Unfit};
pub(crate) use facts::Facts;
use facts::Settings;
#[cfg(test)]
pub(crate) use finding::Subject;
pub(crate) use finding::{Finding, Remedy, Standing};

/// All rules, in the order in which their findings are printed.
const RULES: [fn(&Facts) -> Vec<Finding>; 10] = [
    processor::frequency,
    processor::heat,
    processor::cores,
    system::quota,
    system::load,
    system::virtualisation,
    system::clock,
    system::swap,
    system::addresses,
    gpu::gpus,
];

/// Derives the findings from the facts. Reads nothing.
pub(crate) fn findings(facts: &Facts) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| rule(facts)).collect()
}

/// Observes a machine first idle, then under load.
#[derive(Debug)]
pub(crate) struct Observer {
    root: PathBuf,
    sensors: Sensors,
    settings: Settings,
    counters: Counters,
    quiet: Activity,
}

impl Observer {
    /// Reads the settings, and begins to observe the idle machine.
    pub(crate) fn start() -> Self {
        Self::at(Path::new("/"), Sensors::open())
    }

    fn at(root: &Path, sensors: Sensors) -> Self {
        Self {
            root: root.to_owned(),
            sensors,
            settings: Settings::read(root),
            counters: Counters::read(root),
            quiet: Activity::default(),
        }
    }

    /// Ends the idle phase; the load begins. Wait a second between the start and this call, because
    /// CPU time is counted in hundredths of a second.
    pub(crate) fn quiet_has_ended(&mut self) {
        let now = Counters::read(&self.root);
        self.quiet = Activity::between(&self.counters, &now);
        self.counters = now;
        // Throttling is reported since this reading.
        let _ = self.sensors.read();
    }

    /// Returns the facts, with the clock that measured times, if known.
    pub(crate) fn end(mut self, clock: Option<Clock>) -> Facts {
        let mut reading = self.sensors.read();
        self.sensors.add_processes(&mut reading);
        let now = Counters::read(&self.root);
        Facts {
            loaded: Activity::between(&self.counters, &now),
            settings: self.settings,
            quiet: self.quiet,
            cpu: reading.cpu,
            gpus: reading.gpus,
            clock,
        }
    }
}
