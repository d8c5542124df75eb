//! An operation as a file may spell it: with `runs`, or with `samples_ns` for a single one.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::profile::{Counter, Device, Failure, Operation, Run};

/// The names of [`OperationForm`]'s fields.
pub(super) const FIELDS: &str = "name device size workload items bytes flops memory_bytes gpu_use \
                                 attributes failure counters runs samples_ns";

/// The fields of an operation in a file; [`Operation`] documents them.
#[derive(serde::Deserialize)]
pub(crate) struct OperationForm {
    #[serde(deserialize_with = "name")]
    name: String,
    #[serde(default = "default_device", deserialize_with = "super::name")]
    device: String,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    workload: Option<String>,
    #[serde(default)]
    items: Option<u64>,
    #[serde(default)]
    bytes: Option<u64>,
    #[serde(default)]
    flops: Option<u64>,
    #[serde(default)]
    memory_bytes: Option<u64>,
    #[serde(default, deserialize_with = "fraction")]
    gpu_use: Option<f64>,
    #[serde(default)]
    attributes: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    failure: Option<Failure>,
    #[serde(default, deserialize_with = "super::by_name")]
    counters: BTreeMap<String, Counter>,
    #[serde(default, deserialize_with = "runs")]
    runs: Option<Vec<Run>>,
    #[serde(default, deserialize_with = "samples")]
    samples_ns: Option<Vec<f64>>,
}

impl TryFrom<OperationForm> for Operation {
    type Error = &'static str;

    fn try_from(form: OperationForm) -> Result<Self, Self::Error> {
        let single = form.samples_ns.map(|samples_ns| Run {
            samples_ns,
            ..Run::default()
        });
        if form.runs.is_some() && single.is_some() {
            return Err("it has both samples_ns and runs; keep one of them");
        }
        let runs = form.runs.unwrap_or_else(|| single.into_iter().collect());
        Ok(Self {
            name: form.name,
            device: form.device,
            size: form.size,
            workload: form.workload,
            items: form.items,
            bytes: form.bytes,
            flops: form.flops,
            memory_bytes: form.memory_bytes,
            gpu_use: form.gpu_use,
            attributes: form.attributes,
            failure: form.failure,
            counters: form.counters,
            runs,
        })
    }
}

fn default_device() -> String {
    Device::CPU.to_owned()
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = super::name(deserializer)?;
    if name.is_empty() {
        return Err(D::Error::custom(
            "the name is empty; give the operation a name",
        ));
    }
    Ok(name)
}

fn fraction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let value = Option::<f64>::deserialize(deserializer)?;
    match value {
        Some(value) if !(0.0..=1.0).contains(&value) => Err(D::Error::custom(format_args!(
            "{value} is not a fraction; give a number from 0 to 1"
        ))),
        value => Ok(value),
    }
}

fn samples<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<f64>>, D::Error> {
    super::time_list::deserialize(deserializer).map(Some)
}

fn runs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Run>>, D::Error> {
    deserializer.deserialize_seq(RunsVisitor).map(Some)
}

struct RunsVisitor;

impl<'de> Visitor<'de> for RunsVisitor {
    type Value = Vec<Run>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of runs, each {\"samples_ns\": […]}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut runs = Vec::new();
        while let Some(Object(run)) = list.next_element()? {
            runs.push(run);
        }
        Ok(runs)
    }
}

/// Something that only an object may stand for: what serde derives takes lists too.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}
