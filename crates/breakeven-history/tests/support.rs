//! What the tests of the history share.

use std::path::PathBuf;

use breakeven_history::{Added, At, History};
use breakeven_profile::profile::{Cpu, Environment, Operation, Profile, Run};

/// A folder that is removed at the end, and the path of a history in it.
pub(crate) fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    (folder, path)
}

/// A profile with one run per operation.
pub(crate) fn profile(times: &[(&str, f64)]) -> Profile {
    let operations = times.iter().map(|(name, ms)| {
        let mut operation = Operation::new(*name, "cpu");
        operation.runs.push(Run {
            samples_ns: vec![ms * 1e6, ms * 1.01e6],
            ..Run::default()
        });
        operation
    });
    Profile {
        operations: operations.collect(),
        ..Profile::default()
    }
}

/// The profile as another processor would have measured it.
pub(crate) fn on(model: &str, profile: Profile) -> Profile {
    let cpu = Cpu {
        model: Some(model.to_owned()),
        ..Cpu::default()
    };
    let environment = Environment {
        cpu: Some(cpu),
        ..Environment::default()
    };
    Profile {
        environment,
        ..profile
    }
}

/// The commit of that number, an hour after the one before.
pub(crate) fn commit(number: usize) -> At {
    let (day, hour) = (1 + number / 24, number % 24);
    At {
        commit: Some(format!("c{number:03}")),
        branch: Some("main".to_owned()),
        time: Some(format!("2026-03-{day:02}T{hour:02}:00:00Z")),
    }
}

/// Adds a value of `decode` for every commit: a level in ms with some noise.
pub(crate) fn add_levels(history: &mut History, levels: &[f64]) {
    for (number, ms) in levels.iter().enumerate() {
        let noise = 1.0 + 0.01 * ((number * 7919) % 13) as f64 / 13.0;
        let profile = profile(&[("decode", ms * noise)]);
        let added = history.add(&profile, &commit(number)).unwrap();
        assert!(matches!(added, Added::New(_)));
    }
}
