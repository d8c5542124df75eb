//! The machine and the build that a profile was taken on.

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

/// What a property of an environment belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The machine but for its GPUs.
    Machine,
    /// The GPU behind an id.
    Gpu(String),
    /// The source of the clock.
    Clock,
    /// `release` or `debug`.
    Build,
    /// Version-control revision of the measured program.
    Revision,
}

/// One property in which two environments differ.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Difference {
    /// What the property belongs to.
    pub part: Part,
    /// The property, as in `driver of cuda:0`.
    pub what: String,
    /// Its value in the first environment.
    pub first: String,
    /// Its value in the second.
    pub second: String,
}

impl Difference {
    /// True for properties of the machine, whatever program ran.
    pub fn is_of_machine(&self) -> bool {
        matches!(self.part, Part::Machine | Part::Gpu(_))
    }
}

impl Environment {
    /// The properties of the machine and the build that are known in both and differ. Of the clock
    /// only the source counts: its cost and steps are measured anew at every start.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let others = other.properties();
        let differ = |(part, what, first): (Part, String, String)| {
            let (.., second) = others.iter().find(|(_, known, _)| *known == what)?;
            let second = Some(second.clone()).filter(|second| *second != first)?;
            Some(Difference {
                part,
                what,
                first,
                second,
            })
        };
        self.properties().into_iter().filter_map(differ).collect()
    }

    /// The known properties: what each belongs to, its name and its value.
    fn properties(&self) -> Vec<(Part, String, String)> {
        let cpu = self.cpu.clone().unwrap_or_default();
        let cores = cpu.logical_cores.map(|cores| cores.to_string());
        let usable = cpu.usable_cores.map(|cores| cores.to_string());
        let machine = [
            ("operating system", self.os.clone()),
            ("architecture", self.arch.clone()),
            ("processor", cpu.model),
            ("cores", cores),
            ("usable cores", usable),
        ];
        let machine = machine.map(|(what, value)| (Part::Machine, what.to_owned(), value));
        let gpus = self.gpus.iter().flat_map(|gpu| {
            let part = || Part::Gpu(gpu.id.clone());
            [
                (part(), format!("GPU behind {}", gpu.id), gpu.name.clone()),
                (part(), format!("driver of {}", gpu.id), gpu.driver.clone()),
            ]
        });
        let source = self.clock.as_ref().map(|clock| clock.source.clone());
        let build = [
            (Part::Clock, "clock".to_owned(), source),
            (
                Part::Build,
                "build profile".to_owned(),
                self.build_profile.clone(),
            ),
            (Part::Revision, "revision".to_owned(), self.revision.clone()),
        ];
        let all = machine.into_iter().chain(gpus).chain(build);
        all.filter_map(|(part, what, value)| Some((part, what, value?)))
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
            .map(|found| format!("{}: {} {}", found.what, found.first, found.second))
            .collect();
        assert_eq!(parts, ["processor: A B", "driver of cuda:0: 1 2"]);
    }
}
