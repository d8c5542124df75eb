//! What was decided and why: typed and small; text is made when it is asked for.

use serde::Serialize;

use super::objective::{Objective, Resource};
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
    /// The operator did, by `BREAKEVEN_STRATEGY`.
    Operator,
    /// Auto stays on the GPU that the inputs are on.
    Resident,
    /// Each stage of a chain has its place: [`Decision::placement`].
    Placed,
    /// A stage of the rule: nothing was measured.
    Rule(Stage),
    /// The cost model.
    Model,
    /// The cost model, and a device that was not tried for long gets its chance.
    Exploration,
}

impl Basis {
    /// Its word in profiles: `asked`, `operator`, `resident`, `placed`, `rule`, `model`
    /// or `exploration`.
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

/// A way to run the batch, and how long it should take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// CpuOnly, GpuOnly or Hybrid, with the shares that would be best.
    pub strategy: ExecutionStrategy,
    /// Part of the tasks for each GPU, 0 to 1, in the machine's order; empty where no GPU
    /// has one, or nothing is known of them.
    pub gpu_parts: Vec<f64>,
    /// Time of the whole batch, ns; none where nothing is known.
    pub predicted_ns: Option<f64>,
    /// What the prediction is made from.
    pub evidence: Evidence,
    /// Energy that all devices draw in that time, J; none where it is not known, or
    /// nobody asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    /// What the devices cost in that time, in the currency of the prices; none where it is
    /// not known, or nobody asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl Candidate {
    /// What it takes of that resource.
    pub fn spent(&self, resource: Resource) -> Option<f64> {
        match resource {
            Resource::Energy => self.energy_j,
            Resource::Cost => self.cost,
        }
    }
}

/// What a decision minimises beside time, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Aim {
    /// What was to be minimised.
    pub objective: Objective,
    /// What came of it.
    pub outcome: Outcome,
    /// The split keeps its parts, whoever is done earlier: one side works until the
    /// deadline.
    pub keeps_parts: bool,
    /// What costs are in; none without prices.
    pub currency: Option<String>,
}

/// What came of an objective.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The choice takes least, of those that are sure to be done in time.
    Least,
    /// No choice is sure to be done in time: the fastest was chosen.
    Late,
    /// Nothing was weighed: there is one device only, or the times of the CPU and of a GPU
    /// are not both known.
    Unweighed,
    /// The power of these devices at this operation was not measured yet: all work, and
    /// are measured.
    Measuring(Vec<String>),
}

/// A decision, with all that went into it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// What to run; never Auto.
    pub strategy: ExecutionStrategy,
    /// How it came about.
    pub basis: Basis,
    /// The ways that were looked at: CPU, GPUs, both. The split is the best one,
    /// or the one that was asked for.
    pub candidates: [Candidate; 3],
    /// What the choice should save of the second best candidate's time, or of what the
    /// objective counts in its place, 0 to 1.
    pub margin: Option<f64>,
    /// How many times as fast as the better side alone a perfect split would
    /// be: the sum of the rates of the CPU and of all GPUs over the greater of the two.
    pub ceiling: Option<f64>,
    /// Of the time that the batch would take on the GPU alone, what moving its data takes, ns;
    /// none where that is not known apart, and of several GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_ns: Option<f64>,
    /// Time that a split would have saved of the better side's alone, 0 to 1, where it was
    /// declined because that is too little.
    pub declined_gain: Option<f64>,
    /// What each device is to do.
    pub orders: Orders,
    /// Tasks at once that the heuristics advise. The executor sizes its spans and
    /// launches by the rates that it sees and by the memory there is.
    pub batch_size: usize,
    /// What the rule says, whether it was followed or not.
    pub ruling: Ruling,
    /// GPUs of the machine that cannot be used now, and why: one is in quarantine, say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Where each stage of a chain runs; none of anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Box<Placement>>,
    /// What was minimised; none for time alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aim: Option<Box<Aim>>,
}

impl Decision {
    /// The candidate that was chosen; none for a split of the rule that is not
    /// among them.
    pub fn chosen(&self) -> Option<&Candidate> {
        let mut candidates = self.candidates.iter();
        candidates.find(|candidate| candidate.strategy == self.strategy)
    }

    /// True if nothing was measured before: every device begins, and the measured rates decide
    /// the rest.
    pub fn measures_all(&self) -> bool {
        matches!(self.basis, Basis::Rule(_)) && self.orders.use_gpus()
    }

    /// The decision while the power of these devices is still to be measured: all work.
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

    /// Something else runs than what came out best: what that should save is of no meaning.
    pub(super) fn overrule(&mut self, strategy: ExecutionStrategy, basis: Basis) {
        (self.strategy, self.basis) = (strategy, basis);
        (self.margin, self.declined_gain) = (None, None);
    }

    /// Notes which GPUs cannot be used now.
    pub fn leave_out(&mut self, left_out: impl Iterator<Item = String>) {
        self.left_out = left_out.collect();
        self.ruling.facts.gpus_left_out = self.left_out.len();
    }

    /// True where the choice takes least of what the objective counts, rather than time.
    pub(crate) fn is_least(&self) -> bool {
        let aim = self.aim.as_ref();
        aim.is_some_and(|aim| aim.outcome == Outcome::Least)
    }

    /// In which way a batch ran whose time tells of others that an objective weighs; none
    /// where there is no objective, or where something was tried besides.
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

    /// True where a split keeps its parts, whoever is done earlier.
    pub(crate) fn keeps_parts(&self) -> bool {
        self.aim.as_ref().is_some_and(|aim| aim.keeps_parts)
    }

    /// The decision for a chain whose stages have those places.
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
            energy_j: None,
            cost: None,
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

    /// What the costs of its devices say of a split that the model chose, ns.
    pub fn predicted_split(&self, costs: &OperationCosts) -> Option<f64> {
        let is_split = matches!(self.strategy, ExecutionStrategy::Hybrid { .. });
        let by_model = self.basis == Basis::Model;
        let chosen = self.chosen().filter(|_| is_split && by_model);
        let chosen = chosen.filter(|_| self.aim.is_none());
        Some(chosen?.predicted_ns? / costs.split_excess.max(1.0))
    }
}
