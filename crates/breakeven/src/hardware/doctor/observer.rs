//! Collects the facts of a machine: before, while it is left alone, under load.

use std::path::{Path, PathBuf};

use breakeven_profile::profile::Clock;

use super::activity::{Activity, Counters};
use super::facts::{Facts, Settings};
use crate::hardware::sensors::Sensors;

/// Watches a machine while it is left alone and then while it is worked with.
#[derive(Debug)]
pub struct Observer {
    root: PathBuf,
    sensors: Sensors,
    settings: Settings,
    counters: Counters,
    quiet: Activity,
}

impl Observer {
    /// Reads what is set, and begins to watch the machine left alone.
    pub fn start() -> Self {
        Self::at(Path::new("/"), Sensors::open())
    }

    pub(super) fn at(root: &Path, sensors: Sensors) -> Self {
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
    pub fn quiet_has_ended(&mut self) {
        let now = Counters::read(&self.root);
        self.quiet = Activity::between(&self.counters, &now);
        self.counters = now;
        // Limits of clocks are told since this reading.
        let _ = self.sensors.read();
    }

    /// The facts, with the clock that took times, where it was measured.
    pub fn end(mut self, clock: Option<Clock>) -> Facts {
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
