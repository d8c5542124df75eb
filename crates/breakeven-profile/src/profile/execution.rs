//! What a profile has of the executions of an operation: what an executor decided, where the
//! tasks ran, and what fell back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Device;

/// What decides, in the order in which it comes about.
const ORDER: [&str; 6] = [
    "asked",
    "operator",
    "resident",
    "rule",
    "model",
    "exploration",
];

/// The executions of an operation; what is not known is absent. A recorded program has the
/// last one, a measured suite all of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[must_use]
pub struct Executions {
    /// Number of executions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions: Option<u64>,
    /// Number of executions by what decided them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub decided_by: BTreeMap<String, u64>,
    /// What decided the last one, if no more is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<String>,
    /// The last decision; absent if it was left to the CPU, as asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// The reason of the last decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Tasks in the batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// Tasks of the last execution that GPUs did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_tasks: Option<u64>,
    /// Tasks of the last execution by device, if there were several GPUs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub device_tasks: BTreeMap<String, u64>,
    /// Predicted time of the last execution, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_ns: Option<f64>,
    /// Tasks of the last execution that were taken back from a launch that took too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recalled: Option<u64>,
    /// Executions in which a GPU failed, by the GPU and the kind of failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Fallback>,
    /// The last error of the GPU, if no more is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_error: Option<String>,
}

/// Executions in which a GPU failed in the same way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fallback {
    /// The GPU; absent if there was none to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The first error: its kind, and its message.
    pub error: String,
    /// Number of executions.
    pub executions: u64,
    /// Tasks that the CPU did in the GPU's place.
    pub tasks: u64,
}

impl Executions {
    /// With the tasks that the operation's device and size imply, where they are not recorded.
    pub fn complete(&self, device: &str, size: Option<u64>) -> Self {
        // A size may be the number of tasks rounded up.
        let tasks = self.tasks.or(size);
        Self {
            tasks,
            gpu_tasks: self.gpu_tasks.or(match Device::of(device) {
                Device::Cpu => Some(0),
                Device::Both(_) => None,
                Device::Gpu(_) => tasks,
            }),
            ..self.clone()
        }
    }

    /// The last decision.
    pub fn strategy(&self) -> &str {
        self.strategy.as_deref().unwrap_or("cpu-only")
    }

    /// Executions by what decided them, in the order in which it comes about; the last one alone
    /// if no more is known.
    pub fn decisions(&self) -> Vec<(&str, u64)> {
        let all = self.decided_by.iter();
        let last = self.decided.iter().filter(|_| self.decided_by.is_empty());
        let mut decisions: Vec<(&str, u64)> = (all.map(|(by, count)| (by.as_str(), *count)))
            .chain(last.map(|by| (by.as_str(), 1)))
            .collect();
        let order = |by: &str| ORDER.iter().position(|known| *known == by);
        decisions.sort_by_key(|(by, _)| order(by).unwrap_or(ORDER.len()));
        decisions
    }

    /// Tasks that fell back, of all executions.
    pub fn fallback_tasks(&self) -> Option<u64> {
        let tasks = self.fallbacks.iter().map(|fallback| fallback.tasks);
        tasks.reduce(u64::saturating_add)
    }

    /// The errors of the GPUs; the last one if no more is known.
    pub fn errors(&self) -> String {
        let last = self
            .device_error
            .iter()
            .filter(|_| self.fallbacks.is_empty());
        let each = self
            .fallbacks
            .iter()
            .map(|fallback| match &fallback.device {
                Some(device) => format!("{device}: {}", fallback.error),
                None => fallback.error.clone(),
            });
        each.chain(last.cloned()).collect::<Vec<_>>().join("; ")
    }

    /// Adds later executions of the same operation.
    pub fn append(&mut self, later: Self) {
        let all = std::mem::replace(self, later);
        if let Some(executions) = all.executions {
            let known = self.executions.get_or_insert(0);
            *known = known.saturating_add(executions);
        }
        for (by, executions) in all.decided_by {
            let known = self.decided_by.entry(by).or_default();
            *known = known.saturating_add(executions);
        }
        self.predicted_ns = self.predicted_ns.or(all.predicted_ns);
        self.device_error = self.device_error.take().or(all.device_error);
        let later = std::mem::replace(&mut self.fallbacks, all.fallbacks);
        for fallback in later {
            let mut known = self.fallbacks.iter_mut();
            match known.find(|known| known.is_like(&fallback)) {
                Some(known) => {
                    known.executions = known.executions.saturating_add(fallback.executions);
                    known.tasks = known.tasks.saturating_add(fallback.tasks);
                }
                None => self.fallbacks.push(fallback),
            }
        }
    }
}

impl Fallback {
    /// True if the same GPU failed in the same way, with any message.
    fn is_like(&self, other: &Self) -> bool {
        let kind = |error: &str| error.split(": ").next().map(str::to_owned);
        self.device == other.device && kind(&self.error) == kind(&other.error)
    }
}
