//! Splits that keep their shares, whichever device ends first: a deadline may need them.

use super::forecast::asked_split;
use super::weigh::{Weighing, shared};
use super::{Candidate, Cost, Decision, ExecutionStrategy, OperationCosts, Way};

/// Step between splits that are tried if none is known to end in time, percent.
const STEP: u8 = 5;

impl Weighing<'_> {
    /// Returns the split that uses least, and what it uses. It compares splits in which one side
    /// runs as much as it can in time and the other the rest, and splits that ran before. None
    /// without a deadline, or if none is certain to end in time.
    pub(super) fn latest(&self, decision: &Decision) -> Option<(Candidate, f64)> {
        let within = self.within?;
        let [cpu, gpu, _] = &decision.candidates;
        if self.keeps(cpu) && self.keeps(gpu) {
            return None;
        }
        let tasks = self.workload.task_count;
        let ways = &self.costs.ways;
        let costs = self.beside();
        let overrun = ways.overrun();
        let in_time = within / overrun / self.costs.split_excess.max(1.0);
        let most = |cost: &Cost| {
            let at_once = cost.at_once.max(1) as f64;
            let wave = (cost.per_task_ns * at_once).max(f64::MIN_POSITIVE);
            ((in_time - cost.fixed_ns) / wave).floor().max(0.0) * at_once
        };
        let gpus = costs.gpus.iter().filter_map(|gpu| gpu.cost.as_ref());
        let on_gpus: f64 = gpus.map(most).sum();
        let on_cpu = costs.cpu.as_ref().map(most)?;
        let all = tasks as f64;
        let percents = [
            (100.0 * on_gpus / all).floor(),
            (100.0 * (all - on_cpu) / all).ceil(),
        ];
        #[expect(clippy::cast_sign_loss, reason = "1 to 99")]
        let by_costs = percents
            .into_iter()
            .filter(|percent| (1.0..=99.0).contains(percent))
            .map(|percent| percent as u8);
        let splits = by_costs.chain(ways.kept()).filter_map(|gpu| {
            let mut split = self.split(gpu, &costs)?;
            let longest_ns = match self.batches(Way::Kept(gpu)) {
                Some((took, longest)) => {
                    split.predicted_ns = Some(took.ns);
                    self.draw(&mut split, took.ns, (took.cpu, &took.gpus));
                    longest
                }
                None => split.predicted_ns? * overrun,
            };
            let spent = split.amounts[self.resource].filter(|_| longest_ns <= within)?;
            Some((split, spent))
        });
        splits.min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// Returns the untried split that may end in time and whose sides should end closest together.
    pub(super) fn untried(&self, decision: &Decision) -> Option<Candidate> {
        let within = self.within?;
        if self.is_stated() {
            return None;
        }
        let even: f64 = 100.0 * decision.candidates[2].gpu_parts.iter().sum::<f64>();
        let costs = self.beside();
        let was_tried = |gpu: u8| self.batches(Way::Kept(gpu)).is_some();
        let percents = (STEP..100).step_by(usize::from(STEP));
        let splits = percents.filter(|gpu| !was_tried(*gpu)).filter_map(|gpu| {
            let split = self.split(gpu, &costs)?;
            let is_in_time = split.predicted_ns.is_some_and(|ns| ns <= within);
            is_in_time.then_some(((f64::from(gpu) - even).abs(), split))
        });
        let nearest = splits.min_by(|(a, _), (b, _)| a.total_cmp(b));
        nearest.map(|(_, split)| split)
    }

    /// Predicts the split with `gpu` percent of the tasks for GPUs, from the costs of its devices.
    fn split(&self, gpu: u8, costs: &OperationCosts) -> Option<Candidate> {
        let strategy = ExecutionStrategy::hybrid(gpu).ok()?;
        let mut split = asked_split(strategy, self.workload, costs);
        let excess = self.costs.split_excess.max(1.0);
        split.predicted_ns = split.predicted_ns.map(|ns| ns * excess);
        self.weigh(&mut split);
        Some(split)
    }

    /// Returns the cost of each device while the other devices run.
    fn beside(&self) -> OperationCosts {
        let gpus = self.costs.gpus.iter().copied().map(|mut gpu| {
            gpu.cost = gpu.cost.map(shared);
            gpu
        });
        OperationCosts {
            cpu: self.costs.cpu.map(shared),
            gpus: gpus.collect(),
            ..OperationCosts::default()
        }
    }
}
