//! Merges the recordings of one operation by several threads and call paths.

use std::collections::BTreeMap;

use super::clock::Clock;
use super::field::Figure;
use super::node::Reading;
use super::reservoir::CAPACITY;
use super::site::Site;
use crate::profile::{Operation, Run};
use crate::stats::Moments;

/// The operation of these readings, with one run.
pub(super) fn operation(site: &Site, readings: &[&Reading], clock: &Clock) -> Operation {
    let stated = readings
        .iter()
        .flat_map(|reading| reading.attributes.iter());
    let mut attributes: BTreeMap<String, _> = stated
        .map(|(name, value)| (name.to_owned(), value.to_json()))
        .collect();
    let cancelled: u64 = readings.iter().map(|reading| reading.cancelled).sum();
    if cancelled > 0 {
        attributes.insert("cancelled".to_owned(), cancelled.into());
    }
    let mut executions = readings.iter().rev();
    let executions = executions.find_map(|reading| reading.executions.as_ref());
    let memory_bytes = readings.iter().map(|reading| reading.memory).max();
    let memory_bytes = memory_bytes.filter(|bytes| *bytes > 0);
    Operation {
        size: site.size,
        bytes: mean(readings, Figure::Bytes),
        items: mean(readings, Figure::Items),
        flops: mean(readings, Figure::Flops),
        gpu_use: mean(readings, Figure::GpuUse).map(|units| units as f64 / 1e9),
        memory_bytes,
        attributes,
        executions: executions.map(|executions| (**executions).clone()),
        within_execution: readings.iter().any(|reading| reading.within_execution),
        runs: vec![Run {
            memory_bytes,
            ..run(readings, clock)
        }],
        ..Operation::new(site.name, site.device)
    }
}

fn run(readings: &[&Reading], clock: &Clock) -> Run {
    let calls: u64 = readings.iter().map(|reading| reading.count).sum();
    let kept = draw(readings);
    let mut run = Run {
        samples_ns: kept
            .iter()
            .map(|(ticks, _)| clock.ns_of(*ticks) as f64)
            .collect(),
        ..Run::default()
    };
    if calls > kept.len() as u64 {
        run.moments = Some(moments(readings, clock));
    }
    let own = readings.iter().map(|reading| {
        let own = reading.busy().saturating_sub(reading.children);
        clock.ns_of(own) as f64
    });
    run.self_ns = Some(own.sum());
    run.nested_calls = Some(readings.iter().map(|reading| reading.nested).sum());
    if kept.iter().any(|(ticks, polled)| ticks != polled) {
        let polled = |&(_, polled): &(u64, u64)| clock.ns_of(polled) as f64;
        let waiting =
            |&(ticks, polled): &(u64, u64)| clock.ns_of(ticks.saturating_sub(polled)) as f64;
        run.phases_ns = BTreeMap::from([
            ("polled".to_owned(), kept.iter().map(polled).collect()),
            ("waiting".to_owned(), kept.iter().map(waiting).collect()),
        ]);
    }
    run
}

/// The mean of a figure over the calls that set it.
fn mean(readings: &[&Reading], figure: Figure) -> Option<u64> {
    let stated = (readings.iter()).map(|reading| reading.figures[figure as usize]);
    let (sum, calls) = stated.fold((0_u128, 0_u128), |(sum, calls), (more, by)| {
        (sum + more, calls + u128::from(by))
    });
    let rounded = (sum + calls / 2).checked_div(calls)?;
    u64::try_from(rounded).ok()
}

/// Exact moments of all calls, ns.
fn moments(readings: &[&Reading], clock: &Clock) -> Moments {
    let ns = clock.ns_per_tick();
    let mut all = Moments::new();
    for reading in readings.iter().filter(|reading| reading.count > 0) {
        let (count, sum) = (u128::from(reading.count), u128::from(reading.sum));
        // Computed around the integer part of the mean, in integers: no rounding where large
        // numbers are subtracted. Wrapping cancels out.
        let about = sum / count;
        let squares = reading
            .squares
            .wrapping_sub(2_u128.wrapping_mul(about).wrapping_mul(sum))
            .wrapping_add(count.wrapping_mul(about * about));
        let rest = (sum - about * count) as f64 / reading.count as f64;
        let m2 = squares as f64 - reading.count as f64 * rest * rest;
        let parts = Moments::of_parts(
            reading.count,
            (about as f64 + rest) * ns,
            m2.max(0.0) * ns * ns,
            clock.ns_of(reading.min) as f64,
            clock.ns_of(reading.max) as f64,
        );
        if let Ok(parts) = parts {
            all.merge(&parts);
        }
    }
    all
}

/// At most [`CAPACITY`] kept calls, evenly over the calls of all readings.
fn draw(readings: &[&Reading]) -> Vec<(u64, u64)> {
    let readings = readings.iter().filter(|reading| !reading.kept.is_empty());
    let calls: u128 = readings
        .clone()
        .map(|reading| u128::from(reading.count))
        .sum();
    let drawn = calls.min(CAPACITY.into());
    let mut places = (0..drawn)
        .map(|index| (2 * index + 1) * calls / (2 * drawn))
        .peekable();
    let (mut draw, mut end) = (Vec::new(), 0);
    for reading in readings {
        let (begin, count) = (end, u128::from(reading.count));
        end += count;
        while let Some(place) = places.next_if(|place| *place < end) {
            let index = (place - begin) * reading.kept.len() as u128 / count;
            draw.push(reading.kept[index as usize]);
        }
    }
    draw
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(count: u64, value: u64) -> Reading {
        let kept = (0..count.min(CAPACITY)).map(|_| (value, value));
        Reading {
            count,
            sum: count * value,
            squares: u128::from(count) * u128::from(value) * u128::from(value),
            min: value,
            max: value,
            kept: kept.collect(),
            ..Reading::default()
        }
    }

    #[test]
    fn a_draw_is_fair_to_calls_not_to_threads() {
        // A thread with nine tenths of the calls, one with a tenth.
        let (many, few) = (reading(90_000, 1), reading(10_000, 2));
        let drawn = draw(&[&many, &few]);
        let of_few = drawn.iter().filter(|(value, _)| *value == 2).count();
        assert_eq!(drawn.len() as u64, CAPACITY);
        assert!((102..=103).contains(&of_few), "{of_few}");
    }

    #[test]
    fn all_calls_are_drawn_where_there_is_room() {
        let (some, others) = (reading(600, 1), reading(424, 2));
        assert_eq!(draw(&[&some, &others]).len(), 1_024);
        assert_eq!(draw(&[&reading(90_000, 1)]).len(), 1_024);
        assert_eq!(draw(&[&reading(0, 1)]).len(), 0);
        let threads: Vec<Reading> = (0..5_000).map(|thread| reading(3, thread)).collect();
        let drawn = draw(&threads.iter().collect::<Vec<_>>());
        assert_eq!(drawn.len(), 1_024);
        assert!(drawn.iter().any(|(value, _)| *value > 4_990));
    }

    #[test]
    fn moments_are_exact_far_from_zero() {
        // An hour at 3 GHz, plus 0 to 9 ticks.
        let offset = 10_800_000_000_000_u64;
        let values: Vec<u64> = (0..10).map(|more| offset + more).collect();
        let reading = Reading {
            count: 10,
            sum: values.iter().sum(),
            squares: values.iter().map(|v| u128::from(*v) * u128::from(*v)).sum(),
            min: values[0],
            max: values[9],
            ..Reading::default()
        };
        let clock = Clock::new();
        let variance = moments(&[&reading], &clock).variance().unwrap();
        let expected = 82.5 / 9.0 * clock.ns_per_tick().powi(2);
        assert!((variance / expected - 1.0).abs() < 1e-9, "{variance}");
    }

    #[test]
    fn a_mean_is_over_those_who_stated() {
        let mut stated = reading(5, 1);
        stated.figures[Figure::Bytes as usize] = (101, 2);
        let silent = reading(5, 1);
        assert_eq!(mean(&[&stated, &silent], Figure::Bytes), Some(51));
        assert_eq!(mean(&[&silent], Figure::Bytes), None);
    }
}
