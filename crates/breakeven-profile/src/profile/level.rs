//! A figure over one or more readings of a sensor.

use serde::{Deserialize, Serialize};

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
