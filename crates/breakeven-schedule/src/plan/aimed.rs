//! Describes the outcome of an objective in sentences.

use breakeven_profile::unit;

use super::decision::{Aim, Candidate, Decision, Outcome};
use super::objective::Resource;
use super::prices::Prices;
use super::rule::Stage;

impl Aim {
    /// Formats what a candidate uses of a resource: `12.3 J`, `0.0123 EUR`.
    pub fn spent(&self, candidate: &Candidate, resource: Resource) -> Option<String> {
        let spent = candidate.amounts[resource]?;
        Some(match (resource, &self.currency) {
            (Resource::Energy, _) => unit::joules(spent),
            (Resource::Cost, currency) => Prices::amount(spent, currency.as_deref()?),
        })
    }
}

impl Decision {
    /// Describes what the choice uses, how much less that is than the next candidate, and which
    /// candidates would be late. None if the choice was made by time alone.
    pub(super) fn least_of(&self, chosen: &Candidate) -> Option<Vec<String>> {
        let aim = self.aim.as_deref()?;
        let resource = aim.objective.resource()?;
        if aim.outcome != Outcome::Least {
            return None;
        }
        let taken = |candidate: &Candidate| {
            let (spent, ns) = (aim.spent(candidate, resource)?, candidate.predicted_ns?);
            Some(format!("{spent} in {}", unit::time(ns)))
        };
        let mut sentence = format!(
            "{} should take {} ({})",
            chosen.strategy,
            taken(chosen)?,
            chosen.evidence
        );
        let within_ns = aim
            .objective
            .within()
            .map(|within| within.as_nanos() as f64);
        let is_late = |candidate: &&Candidate| {
            let ns = candidate.predicted_ns.unwrap_or(f64::INFINITY);
            within_ns.is_some_and(|within| ns > within)
        };
        let others = self.candidates.iter().filter(|other| *other != chosen);
        let in_time = others.clone().filter(|other| !is_late(other));
        let next = in_time
            .filter_map(|other| Some((other.amounts[resource]?, other)))
            .min_by(|(a, _), (b, _)| a.total_cmp(b));
        if let Some((spent, next)) = next {
            let saved = 1.0 - chosen.amounts[resource]? / spent.max(f64::MIN_POSITIVE);
            let (next, taken) = (next.strategy, taken(next)?);
            sentence += &match saved > 0.0 {
                true => format!(", {} less than {next}, {taken}", unit::percent(saved)),
                false => format!("; {next} {taken}"),
            };
        }
        let within = within_ns.map(unit::time).unwrap_or_default();
        let late = others.filter(is_late).filter_map(|other| {
            let time = unit::time(other.predicted_ns?);
            let strategy = other.strategy;
            Some(format!("{strategy} would take {time}: not within {within}"))
        });
        Some(std::iter::once(sentence).chain(late).collect())
    }

    /// Explains why the objective did not decide, if it did not.
    pub(super) fn unweighed(&self) -> Option<String> {
        let aim = self.aim.as_deref()?;
        let resource = aim.objective.resource()?;
        match &aim.outcome {
            Outcome::Least => None,
            Outcome::Late => {
                let within = aim.objective.within().unwrap_or_default();
                let within = unit::time(within.as_nanos() as f64);
                let taken = match self.keeps_parts() {
                    true => "an untried split is chosen that may be in time",
                    false => "the fastest is chosen",
                };
                Some(format!(
                    "no choice is certain to end within {within}: {taken}"
                ))
            }
            Outcome::Unweighed if !self.ruling.facts.has_gpu => {
                let why = match self.ruling.facts.gpus_left_out {
                    0 => "the CPU is the only device",
                    _ => "no GPU can be used now",
                };
                Some(format!("{resource} was not weighed: {why}"))
            }
            Outcome::Unweighed if self.ruling.stage == Stage::Sequential => Some(format!(
                "{resource} was not weighed: sequential tasks are the CPU's"
            )),
            Outcome::Unweighed => Some(format!(
                "{resource} was not weighed: the times of the CPU and of a GPU are not both known"
            )),
            Outcome::Measuring(devices) => Some(format!(
                "the power of {} at this operation is not measured yet: all devices work, and are measured",
                devices.join(" and ")
            )),
        }
    }
}
