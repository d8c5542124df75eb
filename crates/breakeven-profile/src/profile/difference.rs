//! Differences between two environments, as far as both are known.

use std::fmt;

use super::Environment;

/// A property of the machine or the build.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The operating system.
    System,
    /// The instruction set architecture.
    Architecture,
    /// The processor's model.
    Processor,
    /// Hardware threads of the machine.
    Cores,
    /// Hardware threads that the process may use.
    UsableCores,
    /// The name of the GPU behind an id.
    GpuName(String),
    /// The driver of the GPU behind an id.
    GpuDriver(String),
    /// The source of the clock.
    ClockSource,
    /// `release` or `debug`.
    BuildProfile,
    /// Version-control revision of the measured program.
    Revision,
}

impl Part {
    /// True for properties of the machine, whatever program ran.
    pub fn is_of_machine(&self) -> bool {
        !matches!(
            self,
            Self::ClockSource | Self::BuildProfile | Self::Revision
        )
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("operating system"),
            Self::Architecture => f.write_str("architecture"),
            Self::Processor => f.write_str("processor"),
            Self::Cores => f.write_str("cores"),
            Self::UsableCores => f.write_str("usable cores"),
            Self::GpuName(device) => write!(f, "GPU behind {device}"),
            Self::GpuDriver(device) => write!(f, "driver of {device}"),
            Self::ClockSource => f.write_str("clock"),
            Self::BuildProfile => f.write_str("build profile"),
            Self::Revision => f.write_str("revision"),
        }
    }
}

/// One property in which two environments differ.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Difference {
    /// The property.
    pub part: Part,
    /// Its value in the first environment.
    pub first: String,
    /// Its value in the second.
    pub second: String,
}

impl Environment {
    /// The properties of the machine and the build that are known in both and differ. Of the clock
    /// only the source counts: its cost and steps are measured anew at every start.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut differ = |part, first: Option<String>, second: Option<String>| {
            if let (Some(first), Some(second)) = (first, second)
                && first != second
            {
                found.push(Difference {
                    part,
                    first,
                    second,
                });
            }
        };
        differ(Part::System, self.os.clone(), other.os.clone());
        differ(Part::Architecture, self.arch.clone(), other.arch.clone());
        let [cpu, others] = [self, other].map(|each| each.cpu.clone().unwrap_or_default());
        differ(Part::Processor, cpu.model, others.model);
        let text = |cores: Option<u64>| cores.map(|cores| cores.to_string());
        let [cores, others_cores] = [cpu.logical_cores, others.logical_cores].map(text);
        differ(Part::Cores, cores, others_cores);
        let text = |cores: Option<f64>| cores.map(|cores| cores.to_string());
        let [cores, others_cores] = [cpu.usable_cores, others.usable_cores].map(text);
        differ(Part::UsableCores, cores, others_cores);
        for gpu in &self.gpus {
            let others = other.gpus.iter().find(|other| other.id == gpu.id);
            let (others, id) = (others.cloned().unwrap_or_default(), || gpu.id.clone());
            differ(Part::GpuName(id()), gpu.name.clone(), others.name);
            differ(Part::GpuDriver(id()), gpu.driver.clone(), others.driver);
        }
        let source = |each: &Self| Some(each.clock.as_ref()?.source.clone());
        differ(Part::ClockSource, source(self), source(other));
        let [build, others_build] = [self, other].map(|each| each.build_profile.clone());
        differ(Part::BuildProfile, build, others_build);
        let [revision, others_revision] = [self, other].map(|each| each.revision.clone());
        differ(Part::Revision, revision, others_revision);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cpu, Gpu};
    use super::*;

    fn environment(model: Option<&str>, driver: &str) -> Environment {
        Environment {
            cpu: model.map(|model| Cpu {
                model: Some(model.to_owned()),
                ..Cpu::default()
            }),
            gpus: vec![Gpu {
                id: "cuda:0".to_owned(),
                driver: Some(driver.to_owned()),
                ..Gpu::default()
            }],
            ..Environment::default()
        }
    }

    #[test]
    fn only_what_both_know_can_differ() {
        let old = environment(Some("A"), "1");
        assert_eq!(old.differences(&old), []);
        assert_eq!(old.differences(&environment(None, "1")), []);
        assert_eq!(old.differences(&Environment::default()), []);
        let parts: Vec<String> = old
            .differences(&environment(Some("B"), "2"))
            .iter()
            .map(|found| format!("{}: {} {}", found.part, found.first, found.second))
            .collect();
        assert_eq!(parts, ["processor: A B", "driver of cuda:0: 1 2"]);
    }
}
