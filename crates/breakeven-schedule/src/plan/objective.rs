//! What a decision minimises, in the user's terms.

use std::fmt;
use std::ops::Index;
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
impl Resource {
    /// All of them, in the order in which they are printed.
    pub const ALL: [Self; 2] = [Self::Energy, Self::Cost];

    /// Its name, and the key of an amount of it in JSON.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Energy => ["energy", "energy_j"],
            Self::Cost => ["cost", "cost"],
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.names()[0])
    }
}

impl FromStr for Resource {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let known = Self::ALL.into_iter();
        let mut known = known.filter(|each| each.names()[0] == text);
        known.next().ok_or(())
    }
}

impl From<Resource> for Objective {
    fn from(resource: Resource) -> Self {
        match resource {
            Resource::Energy => Self::Energy,
            Resource::Cost => Self::Cost,
        }
    }
}

/// The amount of each resource that is known: J, and the currency of the prices.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Amounts([Option<f64>; Resource::ALL.len()]);

impl Amounts {
    /// One amount for each resource.
    pub(super) fn of(amount: impl Fn(Resource) -> Option<f64>) -> Self {
        Self(Resource::ALL.map(amount))
    }
}

impl Index<Resource> for Amounts {
    type Output = Option<f64>;

    fn index(&self, resource: Resource) -> &Option<f64> {
        &self.0[resource as usize]
    }
}

/// The known ones, each by its key.
impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let amount = |each: Resource| Some((each.names()[1], self[each]?));
        serializer.collect_map(Resource::ALL.into_iter().filter_map(amount))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => f.pad("time"),
            Self::Energy | Self::Cost => self.resource().into_iter().try_for_each(|of| of.fmt(f)),
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
        if lower == "time" {
            return Ok(Self::Time);
        }
        if let Ok(resource) = lower.parse::<Resource>() {
            return Ok(resource.into());
        }
        let deadline = || {
            let rest = lower.strip_prefix("deadline:")?;
            let (within, then) = match rest.split_once(',') {
                None => (rest, Resource::Energy),
                Some((within, then)) => (within, then.trim().parse().ok()?),
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
