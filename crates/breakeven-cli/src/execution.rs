//! What a profile has of the executions of an operation, among its attributes: the suite
//! writes all of it, the recorder what it knows of the last execution.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The attributes of executions; none that is not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ExecutionRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) executions: Option<u64>,
    /// How many were decided by what.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) decided_by: BTreeMap<String, u64>,
    /// What decided the last one, where no more is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decided: Option<String>,
    /// The last decision; none where it was left to the CPU, as asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strategy: Option<String>,
    /// Why, of the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    /// Tasks in the batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tasks: Option<u64>,
    /// Tasks of the last one that the GPU did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gpu_tasks: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) predicted_ns: Option<f64>,
    /// Executions in which the GPU failed, by the kind of failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fallbacks: Vec<Fallback>,
    /// The last error of the GPU, where no more is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device_error: Option<String>,
}

/// Executions in which the GPU failed in the same way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fallback {
    /// The first error: its kind, and what it said.
    pub(crate) error: String,
    pub(crate) executions: u64,
    /// Tasks that the CPU did in the GPU's place.
    pub(crate) tasks: u64,
}

impl ExecutionRecord {
    /// None where the attributes tell of no execution, or are not what ours are.
    pub(crate) fn of(attributes: &BTreeMap<String, Value>) -> Option<Self> {
        let told = ["decided_by", "decided", "strategy", "device_error"];
        let is_told = told.into_iter().any(|name| attributes.contains_key(name));
        let attributes = is_told.then(|| attributes.clone().into_iter().collect())?;
        serde_json::from_value(Value::Object(attributes)).ok()
    }

    /// Writes what is known among the attributes of an operation.
    pub(crate) fn tell(&self, attributes: &mut BTreeMap<String, Value>) {
        let is_known = |value: &Value| match value {
            Value::Null => false,
            Value::Array(list) => !list.is_empty(),
            Value::Object(map) => !map.is_empty(),
            _ => true,
        };
        if let Ok(Value::Object(ours)) = serde_json::to_value(self) {
            attributes.extend(ours.into_iter().filter(|(_, value)| is_known(value)));
        }
    }
}
