//! The result of a sweep: times at each value, and the break-evens of devices.

use anyhow::Result;
use breakeven_judge::break_even::{BreakEven, SizeTimes, break_even};
use breakeven_judge::run_medians;
use breakeven_profile::profile::{self, Device, Profile};
use breakeven_profile::stats::median;
use serde::Serialize;

use super::axis::Axis;
use crate::engine::protocol::SWEEP_VALUE;

pub(crate) struct Found {
    pub(crate) kernel: &'static str,
    pub(crate) over: crate::engine::suite::Over,
    /// In the order of their values.
    pub(crate) points: Vec<Point>,
    /// The GPUs, each compared with the CPU.
    pub(crate) rivals: Vec<Rival>,
    /// The devices, the CPU first.
    pub(crate) devices: Vec<String>,
}

/// A value, and each device's time at it.
#[derive(Serialize)]
pub(crate) struct Point {
    pub(crate) value: u64,
    pub(crate) elements: u64,
    /// In the order of the devices.
    pub(crate) times: Vec<Time>,
}

/// A device's time at a value.
#[derive(Default, Serialize)]
pub(crate) struct Time {
    pub(crate) device: String,
    /// The median over the rounds, ns.
    pub(crate) median_ns: Option<f64>,
    /// The medians of the rounds, ns.
    pub(crate) rounds_ns: Vec<f64>,
    /// Why it has no times.
    pub(crate) failure: Option<profile::Failure>,
}

/// A device compared with the CPU.
pub(crate) struct Rival {
    pub(crate) device: String,
    /// Ratios by value, if both were measured.
    pub(crate) times: Vec<SizeTimes>,
    /// None if no values lie between those measured.
    pub(crate) break_even: Option<BreakEven>,
}

impl Found {
    pub(crate) fn of(axis: &Axis, devices: &[String], profile: &Profile) -> Self {
        let mut points: Vec<Point> = Vec::new();
        for operation in &profile.operations {
            let value = operation.attributes.get(SWEEP_VALUE);
            let value = value.and_then(serde_json::Value::as_u64);
            let mut all = devices.iter();
            let device = all.position(|device| *device == operation.device);
            let (Some(value), Some(device)) = (value, device) else {
                continue;
            };
            let found = points.iter().position(|point| point.value == value);
            let index = found.unwrap_or_else(|| {
                let time = |device: &String| Time {
                    device: device.clone(),
                    ..Time::default()
                };
                points.push(Point {
                    value,
                    elements: operation.size.unwrap_or(0),
                    times: devices.iter().map(time).collect(),
                });
                points.len() - 1
            });
            let time = &mut points[index].times[device];
            time.rounds_ns = run_medians(operation);
            time.median_ns = median(&time.rounds_ns).ok();
            time.failure = operation.failure.clone();
        }
        points.sort_by_key(|point| point.value);
        let rival = |(index, device): (usize, &String)| Rival::of(device, index, &points, axis);
        let rivals = devices.iter().enumerate().skip(1).map(rival).collect();
        Self {
            kernel: axis.kernel,
            over: axis.over,
            points,
            rivals,
            devices: devices.to_vec(),
        }
    }

    /// The break-evens in a profile's form: by elements.
    pub(crate) fn evidence(&self, axis: &Axis) -> Result<Vec<profile::BreakEven>> {
        let mut evidence = Vec::new();
        for rival in &self.rivals {
            let tried_to = rival.times.last().map_or(0.0, |times| times.size);
            let found = rival.break_even.and_then(|found| {
                found.evidence(self.kernel, &rival.device, Device::CPU, tried_to)
            });
            let Some(mut found) = found else { continue };
            let elements = |value: f64| match value {
                value if value <= 0.0 => Ok(0.0),
                value => axis.elements(value),
            };
            found.size = found.size.map(elements).transpose()?;
            let ends = |[low, high]: [f64; 2]| anyhow::Ok([elements(low)?, elements(high)?]);
            found.interval = found.interval.map(ends).transpose()?;
            found.tested_to = found.tested_to.map(elements).transpose()?;
            evidence.push(found);
        }
        Ok(evidence)
    }
}

impl Rival {
    fn of(device: &str, index: usize, points: &[Point], axis: &Axis) -> Self {
        let times = points.iter().map(|point| SizeTimes {
            size: point.value as f64,
            device_ns: point.times[index].rounds_ns.clone(),
            over_ns: point.times[0].rounds_ns.clone(),
        });
        let has_both = |times: &SizeTimes| !times.device_ns.is_empty() && !times.over_ns.is_empty();
        let times: Vec<SizeTimes> = times.filter(has_both).collect();
        let break_even = axis.is_range.then(|| break_even(&times));
        Self {
            device: device.to_owned(),
            times,
            break_even,
        }
    }

    /// True if it was faster at the largest value that both have.
    pub(crate) fn pays_at_last(&self) -> bool {
        self.times.last().is_some_and(|times| {
            let [own, other] = [&times.device_ns, &times.over_ns].map(|ns| median(ns).ok());
            own.zip(other).is_some_and(|(own, other)| own < other)
        })
    }
}
