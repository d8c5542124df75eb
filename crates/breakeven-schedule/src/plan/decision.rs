//! A decision and its reasons. Typed and small; the text is made on request.

use serde::Serialize;

use super::objective::{Amounts, Objective};
use super::orders::Orders;
use super::placement::Placement;
use super::rule::{Ruling, Stage};
use super::{Evidence, ExecutionStrategy, OperationCosts, Way};

/// How a decision came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The program set the strategy.
    #[serde(rename = "asked")]
    Program,
    /// The operator set it, by `BREAKEVEN_STRATEGY`.
    Operator,
    /// Auto stays on the GPU that the inputs are on.
    Resident,
    /// Each stage of a chain has its own device: [`Decision::placement`].
    Placed,
    /// A stage of the rule: nothing was measured.
    Rule(Stage),
    /// The cost model.
    Model,
    /// The cost model, with a trial of a device that was left out for long.
    Exploration,
}

impl Basis {
    /// Returns its name in profiles: `asked`, `operator`, `resident`, `placed`, `rule`, `model` or
    /// `exploration`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "asked",
            Self::Operator => "operator",
            Self::Resident => "resident",
            Self::Placed => "placed",
            Self::Rule(_) => "rule",
            Self::Model => "model",
            Self::Exploration => "exploration",
        }
    }
}

/// A way to run the batch, and its predicted time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// CpuOnly, GpuOnly or Hybrid, with the best shares.
    pub strategy: ExecutionStrategy,
    /// Fraction of the tasks for each GPU, 0 to 1, in the machine's order. Empty if no GPU has a
    /// share, or nothing is known of them.
    pub gpu_parts: Vec<f64>,
    /// Predicted time of the batch, ns; none if nothing is known.
    pub predicted_ns: Option<f64>,
    /// What the prediction is based on.
    pub evidence: Evidence,
    /// What all devices draw and cost in that time, if it is known and was requested.
    #[serde(flatten)]
    pub amounts: Amounts,
}

/// What a decision minimises other than time, and the outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Aim {
    /// The objective.
    pub objective: Objective,
    /// The outcome.
    pub outcome: Outcome,
    /// The split keeps its shares, whichever device ends first: one side works until the deadline.
    pub keeps_parts: bool,
    /// The currency of costs; none without prices.
    pub currency: Option<String>,
}

/// The outcome of an objective.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The choice uses least, among the candidates that are certain to end in time.
    Least,
    /// No candidate is certain to end in time: the fastest was chosen.
    Late,
    /// Nothing was weighed: there is only one device, or the times of the CPU and of a GPU are not
    /// both known.
    Unweighed,
    /// The power of these devices during this operation is not measured yet: all devices work, and
    /// are measured.
    Measuring(Vec<String>),
}

/// A decision, with everything it was based on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// What to run; never Auto.
    pub strategy: ExecutionStrategy,
    /// How it came about.
    pub basis: Basis,
    /// The candidates that were compared: CPU, GPUs, both. The split is the best one, or the one
    /// that was requested.
    pub candidates: [Candidate; 3],
    /// Predicted saving of the choice compared with the second best candidate, as a fraction of the
    /// latter's time or of what the objective counts, 0 to 1.
    pub margin: Option<f64>,
    /// Speed-up of a perfect split over the better side alone: the sum of the rates of the CPU and
    /// of all GPUs over the greater of the two.
    pub ceiling: Option<f64>,
    /// Transfer time within the batch's time on the GPU alone, ns. None if it is not known
    /// separately, or for several GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_ns: Option<f64>,
    /// Saving of a split that was declined as too small, as a fraction of the better side's time
    /// alone, 0 to 1.
    pub declined_gain: Option<f64>,
    /// What each device does.
    pub orders: Orders,
    /// Batch size that the heuristics advise, tasks. The executor sizes its spans and launches by
    /// the measured rates and the available memory.
    pub batch_size: usize,
    /// What the rule says, whether or not it was followed.
    pub ruling: Ruling,
    /// GPUs of the machine that cannot be used now, and why: quarantined, for example.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Where each stage of a chain runs; none if this is no chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Box<Placement>>,
    /// What was minimised; none if only time was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aim: Option<Box<Aim>>,
}

impl Decision {
    /// Returns the candidate that was chosen; none if the rule chose a split that is not among the
    /// candidates.
    pub fn chosen(&self) -> Option<&Candidate> {
        let mut candidates = self.candidates.iter();
        candidates.find(|candidate| candidate.strategy == self.strategy)
    }

    /// Returns true if nothing was measured before: every device begins, and the measured rates
    /// decide the rest.
    pub fn measures_all(&self) -> bool {
        matches!(self.basis, Basis::Rule(_)) && self.orders.use_gpus()
    }

    /// Makes all devices work while the power of these devices is not measured yet.
    pub fn measure(&mut self, objective: Objective, devices: Vec<String>) {
        self.aim = Some(Box::new(Aim {
            objective,
            outcome: Outcome::Measuring(devices),
            keeps_parts: false,
            currency: None,
        }));
        let split = &self.candidates[2];
        if self.basis == Basis::Model && split.predicted_ns.is_some() {
            self.overrule(split.strategy, Basis::Exploration);
            self.orders = Orders::all(self.orders.gpus.len());
        }
    }

    /// Replaces the strategy, and drops the margin, which no longer applies.
    pub(super) fn overrule(&mut self, strategy: ExecutionStrategy, basis: Basis) {
        (self.strategy, self.basis) = (strategy, basis);
        (self.margin, self.declined_gain) = (None, None);
    }

    /// Records which GPUs cannot be used now.
    pub fn leave_out(&mut self, left_out: impl Iterator<Item = String>) {
        self.left_out = left_out.collect();
        self.ruling.facts.gpus_left_out = self.left_out.len();
    }

    /// Returns true if the choice minimises what the objective counts, rather than time.
    pub(crate) fn is_least(&self) -> bool {
        let aim = self.aim.as_ref();
        aim.is_some_and(|aim| aim.outcome == Outcome::Least)
    }

    /// Returns the way this batch runs, if its time can be compared with other batches under the
    /// objective. None without an objective, or if a device was tried as well.
    pub fn way(&self) -> Option<Way> {
        self.aim.as_ref()?;
        if self.keeps_parts() {
            return match self.strategy {
                ExecutionStrategy::Hybrid { gpu_allocation, .. } => Some(Way::Kept(gpu_allocation)),
                _ => None,
            };
        }
        if self.basis != Basis::Model {
            return None;
        }
        let is_chosen = |candidate: &Candidate| candidate.strategy == self.strategy;
        self.candidates
            .iter()
            .position(is_chosen)
            .map(Way::Candidate)
    }

    /// Returns true if a split keeps its shares, whichever device ends first.
    pub(crate) fn keeps_parts(&self) -> bool {
        self.aim.as_ref().is_some_and(|aim| aim.keeps_parts)
    }

    /// Replaces the strategy by the placement of a chain's stages.
    pub fn place(&mut self, placement: Option<Placement>) {
        self.overrule(self.strategy, Basis::Placed);
        (self.ceiling, self.transfer_ns) = (None, None);
        let Some(placement) = placement else {
            return;
        };
        let of = |strategy, predicted_ns| Candidate {
            strategy,
            gpu_parts: Vec::new(),
            predicted_ns,
            evidence: placement.evidence(),
            amounts: Amounts::default(),
        };
        let all: f64 = placement.stages.iter().map(|stage| stage.time.ns).sum();
        let on_gpus = placement
            .stages
            .iter()
            .filter(|stage| stage.device != "cpu");
        let on_gpus: f64 = on_gpus.map(|stage| stage.time.ns).sum();
        let cpu_is_idle = placement.stages.iter().all(|stage| stage.device != "cpu");
        self.strategy = if on_gpus == 0.0 {
            ExecutionStrategy::CpuOnly
        } else if cpu_is_idle {
            ExecutionStrategy::GpuOnly
        } else {
            ExecutionStrategy::split_at(on_gpus / all)
        };
        let mut alone = placement.alone.iter().map(|alone| alone.predicted_ns);
        let cpu = alone.next().flatten();
        let gpu = alone.flatten().min_by(f64::total_cmp);
        self.candidates = [
            of(ExecutionStrategy::CpuOnly, cpu),
            of(ExecutionStrategy::GpuOnly, gpu),
            of(self.strategy, Some(placement.predicted_ns)),
        ];
        self.placement = Some(Box::new(placement));
    }

    /// Predicts the time of a split that the model chose from the costs of its devices, ns.
    pub fn predicted_split(&self, costs: &OperationCosts) -> Option<f64> {
        let is_split = matches!(self.strategy, ExecutionStrategy::Hybrid { .. });
        let by_model = self.basis == Basis::Model;
        let chosen = self.chosen().filter(|_| is_split && by_model);
        let chosen = chosen.filter(|_| self.aim.is_none());
        Some(chosen?.predicted_ns? / costs.split_excess.max(1.0))
    }
}
