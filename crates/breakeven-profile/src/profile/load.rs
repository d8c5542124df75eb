//! The machine's load during a measurement: use, memory, temperature, power and clocks of each
//! device over time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::both;
use super::time;

/// The machine's load over one recording. A joined profile has one per run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// When the recording began, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// Time between two readings of the sensors, ns.
    #[serde(deserialize_with = "time::whole")]
    pub interval_ns: u64,
    /// Most readings per sample: above 1, neighbours were merged so that the recording stays within
    /// its bound.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub merged: u64,
    /// The devices, the CPU first.
    #[serde(default)]
    pub devices: Vec<DeviceLoad>,
}

/// A device's load over a recording.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceLoad {
    /// The device's id as operations have it, else its PCI address.
    pub device: String,
    /// The vendor's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// In the order of time.
    #[serde(default)]
    pub samples: Vec<LoadSample>,
}

/// One reading, or several neighbouring ones, of a device. Values that no sensor reported are
/// `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSample {
    /// From the beginning of the recording to that of this sample, ns.
    #[serde(deserialize_with = "time::whole")]
    pub start_ns: u64,
    /// The time that it covers, ns.
    #[serde(deserialize_with = "time::whole")]
    pub duration_ns: u64,
    /// Readings in it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub readings: u64,
    /// Fraction of the device's time in use, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Level>,
    /// Fraction of the cores' time that other programs used, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_used: Option<Level>,
    /// Memory in use, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<Level>,
    /// Temperature, °C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_celsius: Option<Level>,
    /// Power, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_watts: Option<Level>,
    /// Clock, Hz; of a CPU the mean of its cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_hz: Option<Level>,
    /// Readings with throttled clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<u64>,
    /// The reasons, each with its number of readings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, u64>,
}

impl Default for LoadSample {
    fn default() -> Self {
        Self {
            start_ns: 0,
            duration_ns: 0,
            readings: 1,
            used: None,
            other_used: None,
            memory_bytes: None,
            temperature_celsius: None,
            power_watts: None,
            clock_hz: None,
            limited: None,
            limits: BTreeMap::new(),
        }
    }
}

fn one() -> u64 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_one(count: &u64) -> bool {
    *count == 1
}

impl LoadSample {
    /// Merges the sample that follows.
    pub fn merge(&mut self, next: &Self) {
        let (one, more) = (self.readings, next.readings);
        for (known, other) in [
            (&mut self.used, next.used),
            (&mut self.other_used, next.other_used),
            (&mut self.memory_bytes, next.memory_bytes),
            (&mut self.temperature_celsius, next.temperature_celsius),
            (&mut self.power_watts, next.power_watts),
            (&mut self.clock_hz, next.clock_hz),
        ] {
            *known = both(*known, other, |known, other| known.and(one, other, more));
        }
        self.limited = both(self.limited, next.limited, u64::saturating_add);
        for (reason, count) in &next.limits {
            let known = self.limits.entry(reason.clone()).or_default();
            *known = known.saturating_add(*count);
        }
        let end = next.start_ns.saturating_add(next.duration_ns);
        self.duration_ns = end.saturating_sub(self.start_ns).max(self.duration_ns);
        self.readings = one.saturating_add(more);
    }
}

impl LoadRecord {
    /// Adds a reading of a device. If the device then has more than `most` samples, neighbours are
    /// merged on all devices, also in later samples.
    pub fn push(&mut self, device: &str, name: Option<&str>, sample: LoadSample, most: usize) {
        self.merged = self.merged.max(1);
        let known = self.devices.iter().position(|known| known.device == device);
        let index = known.unwrap_or_else(|| {
            self.devices.push(DeviceLoad {
                device: device.to_owned(),
                ..DeviceLoad::default()
            });
            self.devices.len() - 1
        });
        let to = &mut self.devices[index];
        to.name = to.name.take().or_else(|| name.map(str::to_owned));
        match to.samples.last_mut() {
            Some(last) if last.readings < self.merged => last.merge(&sample),
            _ => to.samples.push(sample),
        }
        if to.samples.len() > most.max(1) {
            self.merged = self.merged.saturating_mul(2);
            for device in &mut self.devices {
                device.halve();
            }
        }
    }
}

impl DeviceLoad {
    fn halve(&mut self) {
        let pairs = self.samples.chunks(2).map(|pair| {
            let mut sample = pair[0].clone();
            if let Some(next) = pair.get(1) {
                sample.merge(next);
            }
            sample
        });
        self.samples = pairs.collect();
    }
}

/// A figure over one or more readings. In a file it is a number if all are equal, else a list of
/// minimum, mean and maximum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "Spelt", into = "Spelt")]
pub struct Level {
    /// The minimum.
    pub least: f64,
    /// The mean.
    pub mean: f64,
    /// The maximum.
    pub greatest: f64,
}

impl From<f64> for Level {
    fn from(value: f64) -> Self {
        Self {
            least: value,
            mean: value,
            greatest: value,
        }
    }
}

impl Level {
    /// True if minimum, mean and maximum are numbers in this order.
    pub fn is_sound(self) -> bool {
        self.least.is_finite()
            && self.greatest.is_finite()
            && self.least <= self.mean
            && self.mean <= self.greatest
    }

    /// The level over both, weighted by their numbers of readings.
    pub fn and(self, readings: u64, other: Self, other_readings: u64) -> Self {
        let [one, more] = [readings, other_readings].map(|count| count as f64);
        let part = if one + more > 0.0 {
            one / (one + more)
        } else {
            0.5
        };
        let least = self.least.min(other.least);
        let greatest = self.greatest.max(other.greatest);
        Self {
            least,
            // Not `clamp`, which panics if an invalid level has its ends swapped.
            mean: (self.mean * part + other.mean * (1.0 - part))
                .max(least)
                .min(greatest),
            greatest,
        }
    }
}

/// The form in a file.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, or a list of minimum, mean and maximum"
)]
enum Spelt {
    Number(f64),
    Three([f64; 3]),
}

impl From<Level> for Spelt {
    fn from(level: Level) -> Self {
        match level.least == level.greatest {
            true => Self::Number(level.mean),
            false => Self::Three([level.least, level.mean, level.greatest]),
        }
    }
}

impl From<Spelt> for Level {
    fn from(spelt: Spelt) -> Self {
        match spelt {
            Spelt::Number(value) => value.into(),
            Spelt::Three([least, mean, greatest]) => Self {
                least,
                mean,
                greatest,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64, used: f64) -> LoadSample {
        LoadSample {
            start_ns: second * 1_000_000_000,
            duration_ns: 1_000_000_000,
            used: Some(used.into()),
            limited: Some(second % 2),
            ..LoadSample::default()
        }
    }

    #[test]
    fn a_long_recording_keeps_its_bound_and_its_extremes() {
        let mut record = LoadRecord::default();
        for second in 0..1_000 {
            record.push("cpu", None, at(second, second as f64 / 1e3), 16);
            let samples = &record.devices[0].samples;
            assert!(samples.len() <= 16, "{second}");
            assert_eq!(samples.iter().map(|s| s.readings).sum::<u64>(), second + 1);
        }
        let samples = &record.devices[0].samples;
        assert_eq!(record.merged, 64);
        let first = samples[0].used.unwrap();
        // Seconds 0 to 63, whose mean is 31.5.
        assert_eq!((first.least, first.greatest), (0.0, 0.063));
        assert!((first.mean - 0.0315).abs() < 1e-12);
        assert_eq!(samples[0].limited, Some(32));
        let mut ends = samples.iter().map(|s| s.start_ns + s.duration_ns);
        assert_eq!(ends.next_back(), Some(1_000_000_000_000));
    }

    #[test]
    fn a_device_that_is_there_for_a_while_is_merged_with_the_others() {
        let mut record = LoadRecord::default();
        for second in 0..8 {
            record.push("cpu", None, at(second, 0.5), 4);
            if second < 3 {
                record.push("cuda:0", Some("GPU"), at(second, 0.25), 4);
            }
        }
        let readings = |device: usize| -> Vec<u64> {
            let samples = record.devices[device].samples.iter();
            samples.map(|sample| sample.readings).collect()
        };
        assert_eq!((readings(0), readings(1)), (vec![2; 4], vec![2, 1]));
        assert_eq!(record.devices[1].name.as_deref(), Some("GPU"));
    }

    #[test]
    fn a_level_is_a_number_where_it_can_be() {
        let read = |text: &str| serde_json::from_str::<Level>(text);
        let level = Level {
            least: 1.0,
            mean: 2.0,
            greatest: 4.0,
        };
        assert_eq!(read("[1, 2, 4]").unwrap(), level);
        assert_eq!(serde_json::to_string(&level).unwrap(), "[1.0,2.0,4.0]");
        assert_eq!(serde_json::to_string(&Level::from(0.5)).unwrap(), "0.5");
        assert_eq!(read("-3").unwrap(), Level::from(-3.0));
        for wrong in ["[1, 2]", "[1, 2, 3, 4]", "null", "\"7\"", "{}"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn levels_that_nobody_read_do_not_panic() {
        let nothing = Level::from(f64::NAN);
        assert!(nothing.and(1, nothing, 1).mean.is_nan());
        let wrong_way_round = Level {
            least: 2.0,
            mean: 1.5,
            greatest: 1.0,
        };
        let both = wrong_way_round.and(1, wrong_way_round, 1);
        assert_eq!((both.least, both.greatest), (2.0, 1.0));
    }
}
