//! Families in the order of their first use.

use super::exposition::{Family, Labels};
use super::name::Metric;

#[derive(Debug, Default)]
pub(super) struct Families(Vec<Family>);

impl Families {
    pub(super) fn add(&mut self, metric: Metric, labels: &Labels, value: impl Into<Option<f64>>) {
        let is_same = |family: &Family| family.metric.name == metric.name;
        let index = self.0.iter().position(is_same).unwrap_or_else(|| {
            self.0.push(Family::new(metric));
            self.0.len() - 1
        });
        self.0[index].add(labels.clone(), value.into());
    }

    pub(super) fn add_bytes(&mut self, metric: Metric, labels: &Labels, bytes: Option<u64>) {
        self.add(metric, labels, bytes.map(|bytes| bytes as f64));
    }

    pub(super) fn all(self) -> Vec<Family> {
        self.0
    }
}
