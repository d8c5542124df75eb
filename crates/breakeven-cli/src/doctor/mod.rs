//! Whether this machine is fit to measure on, as far as the system reports.
//!
//! An [`Observer`] collects [`Facts`]: settings of the processor and of the system, how
//! busy others were while nothing was asked of the machine, what happened to it under
//! load. [`findings`] is a pure function of them: each [`Finding`] says what was seen and
//! where, what it does to measured times, and the command that changes it. Nothing here
//! changes anything. The facts are Linux's `/proc` and `/sys`, and the sensors'; elsewhere
//! most of them are unknown. How noisy times are is measured separately; [`Diagnosis`] joins
//! both.

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

/// What the facts say of the machine. Reads nothing.
pub(crate) fn findings(facts: &Facts) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| rule(facts)).collect()
}

/// Watches a machine while it is left alone and then while it is worked with.
#[derive(Debug)]
pub(crate) struct Observer {
    root: PathBuf,
    sensors: Sensors,
    settings: Settings,
    counters: Counters,
    quiet: Activity,
}

impl Observer {
    /// Reads what is set, and begins to watch the machine left alone.
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

    /// From now on the machine is worked with. A second between the start and this tells
    /// what else runs; CPU time is counted in hundredths of a second.
    pub(crate) fn quiet_has_ended(&mut self) {
        let now = Counters::read(&self.root);
        self.quiet = Activity::between(&self.counters, &now);
        self.counters = now;
        // Limits of clocks are told since this reading.
        let _ = self.sensors.read();
    }

    /// The facts, with the clock that took times, where it was measured.
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
