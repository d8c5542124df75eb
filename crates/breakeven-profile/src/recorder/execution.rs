//! What a profile has of the executions of an operation, among its attributes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Guard, Value};

/// What an operation's attributes say of its executions; what is not known is absent. A
/// recorded program has those of the last execution ([`record`](Self::record)), a
/// measured suite those of all ([`write`](Self::write)).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[must_use]
pub struct ExecutionRecord<'a> {
    /// How many there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions: Option<u64>,
    /// How many were decided by what.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub decided_by: BTreeMap<String, u64>,
    /// What decided the last one, where no more is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<Cow<'a, str>>,
    /// The last decision; none where it was left to the CPU, as asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Cow<'a, str>>,
    /// Why, of the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'a, str>>,
    /// Tasks in the batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// Tasks of the last one that GPUs did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_tasks: Option<u64>,
    /// Tasks of the last one by the device that did them, where there were several GPUs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub device_tasks: BTreeMap<Cow<'a, str>, u64>,
    /// Time that was predicted of the last one, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_ns: Option<f64>,
    /// Tasks of the last one that were taken back from a launch that took too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recalled: Option<u64>,
    /// Executions in which a GPU failed, by the GPU and the kind of failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Fallback>,
    /// The last error of the GPU, where no more is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_error: Option<Cow<'a, str>>,
}

/// Executions in which a GPU failed in the same way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fallback {
    /// The GPU; none where there was none to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The first error: its kind, and what it said.
    pub error: String,
    /// How many executions.
    pub executions: u64,
    /// Tasks that the CPU did in the GPU's place.
    pub tasks: u64,
}

impl ExecutionRecord<'_> {
    /// Reads a record from an operation's attributes; `None` where they have none, or
    /// values of other types.
    pub fn of(attributes: &BTreeMap<String, Json>) -> Option<Self> {
        let told = ["decided_by", "decided", "strategy", "device_error"];
        let is_told = told.into_iter().any(|name| attributes.contains_key(name));
        let attributes = is_told.then(|| attributes.clone().into_iter().collect())?;
        serde_json::from_value(Json::Object(attributes)).ok()
    }

    /// Writes all of it among the attributes of an operation.
    pub fn write(&self, attributes: &mut BTreeMap<String, Json>) {
        if let Ok(Json::Object(ours)) = serde_json::to_value(self) {
            attributes.extend(ours);
        }
    }

    /// Records what is known of a single execution, which `call` is.
    pub fn record(&self, call: &Guard) {
        let texts = [
            ("decided", &self.decided),
            ("strategy", &self.strategy),
            ("device_error", &self.device_error),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                call.attribute(name, &**text);
            }
        }
        for (name, tasks) in [
            ("tasks", self.tasks),
            ("gpu_tasks", self.gpu_tasks),
            ("recalled", self.recalled),
        ] {
            if let Some(tasks) = tasks {
                call.attribute(name, tasks);
            }
        }
        if !self.device_tasks.is_empty() {
            let counts = self.device_tasks.iter();
            let counts = counts.map(|(device, tasks)| (Cow::Borrowed(&**device), *tasks));
            call.attribute("device_tasks", Value::Counts(counts.collect()));
        }
        if let Some(ns) = self.predicted_ns {
            call.attribute("predicted_ns", ns);
        }
    }
}
