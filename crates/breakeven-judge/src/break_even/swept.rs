//! The result of a sweep: times at each size, and the break-even of each device.

use breakeven_profile::machine;
use breakeven_profile::profile::{self, Device, Environment, Failure, Operation, Profile, Run};
use breakeven_profile::stats::median;
use serde::Serialize;

use super::{BreakEven, SizeTimes, break_even};

/// Times over size on the CPU and on other devices. Its `Display` is the page.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Swept {
    /// The operation's name.
    pub name: String,
    /// The swept quantity, as in `size`.
    pub over: String,
    /// The devices' ids, the CPU's first.
    pub devices: Vec<String>,
    /// In the order of their values.
    pub points: Vec<Point>,
    /// The devices other than the CPU, each compared with it.
    pub rivals: Vec<Rival>,
    /// Values for which the time limit left no time.
    pub not_measured: Vec<u64>,
    /// Whether measuring was interrupted.
    pub interrupted: bool,
}

/// A value, and each device's times at it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The value of the swept quantity.
    pub value: u64,
    /// Elements of the input.
    pub elements: u64,
    /// In the order of the devices.
    pub times: Vec<Time>,
}

/// A device's times at a value.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Time {
    /// The device's id.
    pub device: String,
    /// The median over the rounds, ns.
    pub median_ns: Option<f64>,
    /// The times of the rounds, ns.
    pub rounds_ns: Vec<f64>,
    /// Why it has no times.
    pub failure: Option<Failure>,
}

/// A device compared with the CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Rival {
    /// The device's id.
    pub device: String,
    /// The times of both by value, where both were measured.
    pub times: Vec<SizeTimes>,
    /// None if no values lie between those measured.
    pub break_even: Option<BreakEven>,
}

impl Swept {
    /// The result for these points, with the times of all `devices`, the CPU's first. `is_range` is
    /// false if no values lie between those measured.
    pub fn new(
        name: impl Into<String>,
        over: &str,
        devices: &[String],
        mut points: Vec<Point>,
        is_range: bool,
    ) -> Self {
        points.sort_by_key(|point| point.value);
        for time in points.iter_mut().flat_map(|point| &mut point.times) {
            time.median_ns = median(&time.rounds_ns).ok();
        }
        let rivals = devices.iter().enumerate().skip(1);
        let rivals = rivals.map(|(index, device)| Rival::of(device, index, &points, is_range));
        Self {
            name: name.into(),
            over: over.to_owned(),
            devices: devices.to_vec(),
            rivals: rivals.collect(),
            points,
            ..Self::default()
        }
    }

    /// From which size the first device other than the CPU pays, in values of the swept quantity.
    pub fn break_even(&self) -> Option<BreakEven> {
        self.rivals.first()?.break_even
    }

    /// Whether a run failed.
    pub fn has_failed(&self) -> bool {
        let mut times = self.points.iter().flat_map(|point| &point.times);
        times.any(|time| time.failure.is_some())
    }

    /// The profile: an operation of this name per value and device with all its times as samples of
    /// one run, and the break-even as evidence.
    pub fn profile(&self) -> Profile {
        let mut profile = Profile {
            benchmark: true,
            interrupted: self.interrupted,
            environment: Environment {
                os: Some(std::env::consts::OS.to_owned()),
                arch: Some(std::env::consts::ARCH.to_owned()),
                cpu: Some(machine::cpu("/".as_ref())),
                ..Environment::default()
            },
            ..Profile::default()
        };
        for point in &self.points {
            for time in &point.times {
                let mut operation = Operation::new(self.name.as_str(), &time.device);
                operation.size = Some(point.elements);
                operation.failure = time.failure.clone();
                if !time.rounds_ns.is_empty() {
                    operation.runs.push(Run {
                        samples_ns: time.rounds_ns.clone(),
                        ..Run::default()
                    });
                }
                profile.operations.push(operation);
            }
        }
        profile.evidence.break_even = self.evidence();
        profile
    }

    /// The break-evens in a profile's form, in values of the swept quantity.
    pub fn evidence(&self) -> Vec<profile::BreakEven> {
        let found = self.rivals.iter().filter_map(|rival| {
            rival
                .break_even?
                .evidence(&self.name, &rival.device, Device::CPU, rival.tried_to())
        });
        found.collect()
    }
}

impl Rival {
    /// Compares the device at that place of the points' times with the CPU.
    pub(super) fn of(device: &str, index: usize, points: &[Point], is_range: bool) -> Self {
        let times = points.iter().map(|point| SizeTimes {
            size: point.value as f64,
            device_ns: point.times[index].rounds_ns.clone(),
            over_ns: point.times[0].rounds_ns.clone(),
        });
        let has_both = |times: &SizeTimes| !times.device_ns.is_empty() && !times.over_ns.is_empty();
        let times: Vec<SizeTimes> = times.filter(has_both).collect();
        let break_even = is_range.then(|| break_even(&times));
        Self {
            device: device.to_owned(),
            times,
            break_even,
        }
    }

    /// The largest value at which both were measured, 0 without any.
    pub fn tried_to(&self) -> f64 {
        self.times.last().map_or(0.0, |times| times.size)
    }

    /// True if it was faster at the largest value that both have.
    pub(super) fn pays_at_last(&self) -> bool {
        self.times.last().is_some_and(|times| {
            let [own, other] = [&times.device_ns, &times.over_ns].map(|ns| median(ns).ok());
            own.zip(other).is_some_and(|(own, other)| own < other)
        })
    }
}
