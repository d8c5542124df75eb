//! Any recording of the machine's load.

use breakeven_profile::profile::{DeviceLoad, Level, LoadRecord, LoadSample};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;

use super::{name, text, whole_time};

fn level(range: std::ops::RangeInclusive<f64>) -> impl Strategy<Value = Level> {
    (range.clone(), range.clone(), range).prop_map(|(a, b, c)| {
        let mut three = [a, b, c];
        three.sort_by(f64::total_cmp);
        let [least, mean, greatest] = three;
        Level {
            least,
            mean,
            greatest,
        }
    })
}

fn load_sample() -> impl Strategy<Value = LoadSample> {
    let part = || of(level(0.0..=1.0));
    let any_level = || of(level(-1e18..=1e18));
    let levels = (
        part(),
        part(),
        any_level(),
        any_level(),
        any_level(),
        any_level(),
    );
    let times = (whole_time(), whole_time(), any::<u64>());
    let limits = (of(any::<u64>()), btree_map(name(), any::<u64>(), 0..3));
    (times, levels, limits).prop_map(
        |((start_ns, duration_ns, readings), levels, (limited, limits))| LoadSample {
            start_ns,
            duration_ns,
            readings,
            used: levels.0,
            other_used: levels.1,
            memory_bytes: levels.2,
            temperature_celsius: levels.3,
            power_watts: levels.4,
            clock_hz: levels.5,
            limited,
            limits,
        },
    )
}

pub(super) fn load() -> impl Strategy<Value = LoadRecord> {
    let device =
        (name(), of(text()), vec(load_sample(), 0..4)).prop_map(|(device, name, samples)| {
            DeviceLoad {
                device,
                name,
                samples,
            }
        });
    (of(text()), whole_time(), any::<u64>(), vec(device, 0..3)).prop_map(
        |(began, interval_ns, merged, devices)| LoadRecord {
            began,
            interval_ns,
            merged,
            devices,
        },
    )
}
