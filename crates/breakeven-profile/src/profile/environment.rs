//! The machine and the build that a profile was taken on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The machine and build that a profile was taken on. Host name and paths are
/// included only on request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[must_use]
pub struct Environment {
    /// Operating system, `linux`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// Instruction set architecture, `x86_64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// The processor and the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// The GPUs found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Gpu>,
    /// The clock that took the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// Cost of recording a call, if a recorder took the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorder: Option<RecorderCost>,
    /// Version-control revision of the measured program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// `release` or `debug`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_profile: Option<String>,
    /// The host's name, only on request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// The processor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[must_use]
pub struct Cpu {
    /// The vendor's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Hardware threads of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_cores: Option<u64>,
    /// Cores of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_cores: Option<u64>,
    /// Hardware threads that the process may use (affinity, cgroup quota).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable_cores: Option<f64>,
    /// SIMD features, `avx2`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub simd: Vec<String>,
    /// Memory of the machine, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Memory that the process may use (cgroup limit), bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable_memory_bytes: Option<u64>,
}

/// A GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// The id that operations name in `device`.
    pub id: String,
    /// The vendor's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `discrete`, `integrated`, `virtual`, `software`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `cuda`, `vulkan`, `metal`, `dx12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Its memory, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Driver and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Its PCI address, `0000:01:00.0`, which distinguishes equal cards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci: Option<String>,
    /// Where `phases_ns.kernel` comes from: `device` time stamps or the `host` clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_clock: Option<String>,
}

impl Gpu {
    /// True for a software GPU, a program on the CPU.
    pub fn is_software(&self) -> bool {
        self.kind.as_deref() == Some("software")
    }
}

/// The clock that took the samples, measured at start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[must_use]
pub struct Clock {
    /// Its source: `counter` (the time stamp counter), `os`.
    pub source: String,
    /// Cost of one reading, ns, the smallest measured: the lower bound of every sample.
    pub read_ns: f64,
    /// Smallest step measured between two readings, ns.
    pub resolution_ns: f64,
}

/// What recording costs, measured by the recorder on itself in the same process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RecorderCost {
    /// Time that recording one call costs its caller, ns.
    pub guard_ns: f64,
    /// The fraction of it, in ns, that is inside the call's own sample.
    pub inside_ns: f64,
}

impl Environment {
    /// True when nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

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
        let others = other.properties();
        let differ = |(part, first): (Part, String)| {
            let (_, second) = others.iter().find(|(known, _)| *known == part)?;
            let second = Some(second.clone()).filter(|second| *second != first)?;
            Some(Difference {
                part,
                first,
                second,
            })
        };
        self.properties().into_iter().filter_map(differ).collect()
    }

    /// The known properties.
    fn properties(&self) -> Vec<(Part, String)> {
        let cpu = self.cpu.clone().unwrap_or_default();
        let gpus = self.gpus.iter().flat_map(|gpu| {
            [
                (Part::GpuName(gpu.id.clone()), gpu.name.clone()),
                (Part::GpuDriver(gpu.id.clone()), gpu.driver.clone()),
            ]
        });
        let source = self.clock.as_ref().map(|clock| clock.source.clone());
        let machine = [
            (Part::System, self.os.clone()),
            (Part::Architecture, self.arch.clone()),
            (Part::Processor, cpu.model),
            (
                Part::Cores,
                cpu.logical_cores.map(|cores| cores.to_string()),
            ),
            (
                Part::UsableCores,
                cpu.usable_cores.map(|cores| cores.to_string()),
            ),
        ];
        let build = [
            (Part::ClockSource, source),
            (Part::BuildProfile, self.build_profile.clone()),
            (Part::Revision, self.revision.clone()),
        ];
        let all = machine.into_iter().chain(gpus).chain(build);
        all.filter_map(|(part, value)| Some((part, value?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::{Cpu, Gpu};

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
