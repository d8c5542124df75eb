//! Placeholder until the statistics land.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Moments { pub count: u64, pub mean: f64, pub m2: f64, pub min: f64, pub max: f64 }
