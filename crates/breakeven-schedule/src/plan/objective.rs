//! What a decision minimises, in the user's terms.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use breakeven_profile::unit;
use serde::{Serialize, Serializer};

use super::prices::Prices;
use crate::error::Error;

/// What a decision minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Objective {
    /// The time of the batch.
    #[default]
    Time,
    /// The energy that all devices draw while the batch runs, J, idle ones included.
    Energy,
    /// What the devices cost while the batch runs, by their prices per hour.
    Cost,
    /// The least of a resource among the choices that end within a time; if there is none, the
    /// fastest.
    Deadline {
        /// The time that the batch may take.
        within: Duration,
        /// What is minimised among the choices in time.
        then: Resource,
    },
}

/// What a batch uses, other than time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Energy, J.
    Energy,
    /// Money, in the currency of the prices.
    Cost,
}

/// What a decision minimises, and the prices for it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Goal<'g> {
    /// What is minimised.
    pub objective: Objective,
    /// Prices of the devices; needed if the objective weighs cost.
    pub prices: Option<&'g Prices>,
}

impl Objective {
    /// Returns what it weighs other than time; none for time alone.
    pub fn resource(self) -> Option<Resource> {
        match self {
            Self::Time => None,
            Self::Energy => Some(Resource::Energy),
            Self::Cost => Some(Resource::Cost),
            Self::Deadline { then, .. } => Some(then),
        }
    }

    /// Returns the deadline; none without one.
    pub fn within(self) -> Option<Duration> {
        match self {
            Self::Deadline { within, .. } => Some(within),
            Self::Time | Self::Energy | Self::Cost => None,
        }
    }
}

/// `energy` or `cost`.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Energy => "energy",
            Self::Cost => "cost",
        })
    }
}

/// `time`, `energy`, `cost` or `deadline:200ms,energy`.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => f.pad("time"),
            Self::Energy => Resource::Energy.fmt(f),
            Self::Cost => Resource::Cost.fmt(f),
            Self::Deadline { within, then } => f.pad(&format!("deadline:{within:?},{then}")),
        }
    }
}

/// As it is printed.
impl Serialize for Objective {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Objective {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let lower = text.trim().to_ascii_lowercase();
        match lower.as_str() {
            "time" => return Ok(Self::Time),
            "energy" => return Ok(Self::Energy),
            "cost" => return Ok(Self::Cost),
            _ => {}
        }
        let deadline = || {
            let rest = lower.strip_prefix("deadline:")?;
            let (within, then) = match rest.split_once(',') {
                None => (rest, Resource::Energy),
                Some((within, then)) if then.trim() == "energy" => (within, Resource::Energy),
                Some((within, then)) if then.trim() == "cost" => (within, Resource::Cost),
                Some(_) => return None,
            };
            let seconds = unit::parse_time(within).ok()? / 1e9;
            let within = Duration::try_from_secs_f64(seconds).ok()?;
            (!within.is_zero()).then_some(Self::Deadline { within, then })
        };
        deadline().ok_or_else(|| {
            Error::invalid(format!(
                "{text:?} is no objective; give time, energy, cost or deadline:TIME, as in deadline:200ms (the least energy within that time) or deadline:200ms,cost"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        for text in "time energy cost deadline:200ms,energy deadline:1.5s,cost".split(' ') {
            let objective: Objective = text.parse().expect("an objective");
            assert_eq!(objective.to_string(), text);
        }
        let usual: Objective = " Deadline:200 ms ".parse().expect("an objective");
        assert_eq!(usual.to_string(), "deadline:200ms,energy");
    }

    #[test]
    fn what_is_none_says_what_there_is() {
        let wrong = "fast||deadline|deadline:|deadline:0ms|deadline:-1s|deadline:5|deadline:1s,time|deadline:9e99h";
        for text in wrong.split('|') {
            let error = text.parse::<Objective>().expect_err(text).to_string();
            assert!(error.ends_with("or deadline:200ms,cost"), "{error}");
        }
    }
}
