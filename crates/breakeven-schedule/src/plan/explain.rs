//! Formats a decision as text, on request.

use std::fmt;

use breakeven_profile::unit;

use super::Tuning;
use super::costs::Evidence;
use super::decision::{Basis, Candidate, Decision};
use super::orders::Order;
use super::placement::Placement;

/// Fraction of a batch's time from which its transfers are reported.
const MUCH: f64 = 0.1;

impl Decision {
    /// Returns the reasons, in sentences with their numbers. By the rule: what each stage found. By
    /// the model: the predicted time of the choice, its lead, the limit of a perfect split, and a
    /// split that was declined.
    pub fn reasons(&self) -> Vec<String> {
        let by_rule = || self.ruling.reasons();
        let by_stages = self.placement.as_deref().map(Placement::reasons);
        let reasons = match self.basis {
            Basis::Rule(_) => by_rule(),
            Basis::Model | Basis::Exploration => self.by_model(),
            Basis::Program => vec![format!("{} was asked for", self.strategy)],
            Basis::Operator => vec![format!("BREAKEVEN_STRATEGY asks for {}", self.strategy)],
            Basis::Placed if by_stages.is_some() => Vec::new(),
            Basis::Placed => vec!["its stages are measured one by one".to_owned()],
            Basis::Resident => vec!["the inputs are on the GPU already".to_owned()],
        };
        reasons
            .into_iter()
            .chain(self.unweighed())
            .chain(by_stages.into_iter().flatten())
            .chain(self.left_out.iter().cloned())
            .collect()
    }

    /// Returns the sentence that says what decided.
    pub fn reason(&self) -> String {
        match self.basis {
            Basis::Rule(_) => self.ruling.reason(),
            _ => self.reasons().into_iter().next().unwrap_or_default(),
        }
    }

    /// Returns the evidence for the choice; heuristic if nothing is known.
    pub fn evidence(&self) -> Evidence {
        let chosen = self.chosen().filter(|chosen| chosen.predicted_ns.is_some());
        chosen.map_or(Evidence::Heuristic, |chosen| chosen.evidence)
    }

    /// Returns the predicted time of the choice, ns; none if it is not known.
    pub fn predicted_ns(&self) -> Option<f64> {
        self.chosen()?.predicted_ns
    }

    fn by_model(&self) -> Vec<String> {
        let chosen = self.chosen();
        let least = chosen.and_then(|chosen| self.least_of(chosen));
        let ahead = || chosen.and_then(|chosen| self.ahead(chosen));
        let mut reasons = least.unwrap_or_else(|| Vec::from_iter(ahead()));
        reasons.extend(self.ceiling.map(|ceiling| {
            let times = match format!("{ceiling:.2}").as_str() {
                "1.00" => "only".to_owned(),
                times => format!("{times} times"),
            };
            format!("a perfect split could be {times} as fast as the better device alone")
        }));
        reasons.extend(self.transfers());
        reasons.extend(self.declined_gain.map(|gain| {
            let (gain, least) = (unit::percent(gain), unit::percent(Tuning::USUAL.least_gain));
            format!("a split would gain {gain}, under {least}: declined")
        }));
        let orders = &self.orders;
        if orders.try_gpu() {
            reasons.push("the GPU was left out for long and is tried with a few tasks".to_owned());
        } else if matches!(orders.cpu, Order::Try(_)) {
            reasons.push("the CPU was left out for long and is tried with a few tasks".to_owned());
        } else if orders.gpus_wait_ns > 0.0 {
            reasons.push(
                "the CPU begins before the GPUs, to measure how far they slow it down".to_owned(),
            );
        }
        let (stage, strategy) = (self.ruling.stage, self.ruling.strategy);
        reasons.push(match stage.number() {
            Some(_) => format!("without costs {stage} would say {strategy}"),
            None => format!("without costs the last answer would be {strategy}"),
        });
        reasons
    }

    /// Describes the share of transfers in the GPU's time, if it is large, and what data that stays
    /// on the device would change.
    fn transfers(&self) -> Option<String> {
        let [_, gpu, _] = &self.candidates;
        let moving = self.transfer_ns?;
        let all = gpu.predicted_ns?;
        let (part, without) = ((moving / all).min(1.0), (all - moving).max(0.0));
        let chosen = self.chosen().filter(|chosen| *chosen != gpu);
        let gain =
            chosen.and_then(|chosen| Some((chosen.strategy, chosen.predicted_ns? / without)));
        let kept = gain.filter(|(_, gain)| *gain > 1.0 && without > 0.0);
        let kept = kept.map_or_else(String::new, |(strategy, gain)| {
            format!(
                "; if the data stayed on the GPU, it would take {}, {strategy} {gain:.1} times as long",
                unit::time(without)
            )
        });
        let (moving, percent, strategy) = (unit::time(moving), unit::percent(part), gpu.strategy);
        (part >= MUCH).then(|| format!("of {strategy}, {moving} ({percent}) are transfers{kept}"))
    }

    /// Describes the predicted time of the choice, and its lead over the next candidate.
    fn ahead(&self, chosen: &Candidate) -> Option<String> {
        let ns = chosen.predicted_ns?;
        let others = self.candidates.iter().filter(|other| *other != chosen);
        let next = others
            .filter_map(|other| Some((other.predicted_ns?, other.strategy)))
            .min_by(|(a, _), (b, _)| a.total_cmp(b));
        let ahead = next.map_or_else(String::new, |(other, strategy)| {
            let other = unit::time(other);
            match self
                .margin
                .filter(|margin| *margin > 0.0)
                .map(unit::percent)
            {
                Some(margin) => format!(", {margin} less than {strategy}, {other}"),
                None => format!("; {strategy} {other}"),
            }
        });
        let (strategy, evidence, time) = (chosen.strategy, chosen.evidence, unit::time(ns));
        Some(format!("{strategy} should take {time} ({evidence}){ahead}"))
    }
}

/// `measured`, `fitted` or `heuristic`.
impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Heuristic => "heuristic",
            Self::Fitted => "fitted",
            Self::Measured => "measured",
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::WorkloadProfile;
    use crate::plan::{
        Basis, Decision, Evidence, ExecutionStrategy, Machine, OperationCosts, ProfilingHeuristics,
        costs_from_rates, decide, decide_for,
    };

    const FAST: &str = "cores = 16\n[[gpu]]\nspeedup = 20\nlaunch = \"20 us\"";

    fn decision(machine: &str, task_ns: Option<f64>) -> Box<Decision> {
        let machine = Machine::from_toml(machine).expect("a machine");
        let workload = WorkloadProfile::from_task_count(1_000);
        let costs = task_ns.map_or(OperationCosts::default(), |ns| {
            costs_from_rates(ns, &workload, &machine).expect("costs")
        });
        let heuristics = ProfilingHeuristics::default();
        decide(&workload, &machine, &heuristics, &costs).expect("a decision")
    }

    fn reasons(decision: &Decision) -> String {
        decision.reasons().join("\n")
    }

    #[test]
    fn the_model_says_what_each_should_take() {
        let decision = decision(FAST, Some(1e6));
        assert_eq!(decision.evidence(), Evidence::Heuristic);
        assert_eq!(decision.reason(), decision.reasons()[0]);
        insta::assert_snapshot!(reasons(&decision), @r"
        hybrid:55/45 should take 28.0 ms (heuristic), 44.0 % less than gpu-only, 50.0 ms
        a perfect split could be 1.80 times as fast as the better device alone
        without costs stage 6 would say gpu-only
        ");
    }

    #[test]
    fn a_declined_split_has_its_number() {
        let decision = decision("cores = 1\n[[gpu]]\nspeedup = 50", Some(1e6));
        assert_eq!(decision.strategy, ExecutionStrategy::GpuOnly);
        insta::assert_snapshot!(reasons(&decision), @r"
        gpu-only should take 20.0 ms (heuristic); hybrid:98/2 19.6 ms
        a perfect split could be 1.02 times as fast as the better device alone
        a split would gain 1.9 %, under 3.0 %: declined
        without costs stage 6 would say gpu-only
        ");
    }

    #[test]
    fn the_rule_says_what_its_stages_found() {
        let decision = decision(FAST, None);
        assert_eq!(decision.reasons(), decision.ruling.reasons());
        let reason = decision.reason();
        assert!(reason.starts_with("stage 6: 1 000 tasks are more"));
        assert!(reason.ends_with(": gpu-only"));
        assert_eq!(decision.evidence(), Evidence::Heuristic);
        assert_eq!(decision.predicted_ns(), None);
    }

    #[test]
    fn who_asked_is_said() {
        let workload = WorkloadProfile::from_task_count(1_000);
        let asked = |basis| {
            let decision = decide_for(
                ExecutionStrategy::CpuOnly,
                basis,
                &workload,
                &Machine::from_toml(FAST).expect("a machine"),
                &ProfilingHeuristics::default(),
                &OperationCosts::default(),
            );
            reasons(&decision.expect("a decision"))
        };
        assert_eq!(asked(Basis::Program), "cpu-only was asked for");
        let ordered = "BREAKEVEN_STRATEGY asks for cpu-only";
        assert_eq!(asked(Basis::Operator), ordered);
    }
}
