//! The result of a kernel's sweep, from the profile that its workers measured.

use anyhow::Result;
use breakeven_judge::break_even::{Point, Swept, Time};
use breakeven_judge::run_medians;
use breakeven_profile::profile::{BreakEven, Profile};

use super::axis::Axis;
use crate::engine::protocol::SWEEP_VALUE;

pub(super) fn found(axis: &Axis, devices: &[String], profile: &Profile) -> Swept {
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
        time.failure = operation.failure.clone();
    }
    Swept::new(
        axis.kernel,
        axis.over.name(),
        devices,
        points,
        axis.is_range,
    )
}

/// The break-evens in a profile's form: by elements.
pub(super) fn evidence(swept: &Swept, axis: &Axis) -> Result<Vec<BreakEven>> {
    let elements = |value: f64| match value {
        value if value <= 0.0 => Ok(0.0),
        value => axis.elements(value),
    };
    let mut evidence = swept.evidence();
    for found in &mut evidence {
        found.size = found.size.map(elements).transpose()?;
        let ends = |[low, high]: [f64; 2]| anyhow::Ok([elements(low)?, elements(high)?]);
        found.interval = found.interval.map(ends).transpose()?;
        found.tested_to = found.tested_to.map(elements).transpose()?;
    }
    Ok(evidence)
}
