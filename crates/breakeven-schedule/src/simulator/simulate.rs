//! Runs a scenario: decides for it, and simulates the batch.

use super::events::Run;
use super::scenario::{Scenario, ScenarioGpu, Simulated};
use crate::Fact;
use crate::WorkloadProfile;
use crate::error::Error;
use crate::plan::Model;
use crate::plan::{
    Basis, Decision, Draws, ExecutionStrategy, Goal, GpuSpec, Machine, OperationCosts,
    ProfilingHeuristics, Query, Resource, decide_tuned,
};
use crate::schedule::{GpuSetup, Schedule, Setup};

impl Scenario {
    /// Runs the batch under a strategy with what the model knows, and records the result in the
    /// model.
    ///
    /// # Errors
    ///
    /// As [`decide`](crate::plan::decide).
    pub fn run(&self, strategy: ExecutionStrategy, model: &mut Model) -> Result<Simulated, Error> {
        model.tuning = self.tuning;
        let known = model.lookup(
            "simulated",
            self.memory_per_task,
            &self.names(),
            self.workers,
        );
        let (mut run, decision) = self.run_by(strategy, &known)?;
        run.teach(model, &decision, &known);
        Ok(run.result(decision))
    }

    /// Returns its machine, as a decision sees it.
    fn machine(&self) -> Machine {
        let gpus = self.names().into_iter().zip(&self.gpus);
        Machine {
            cores: self.workers,
            memory_bytes: Fact::Unknown,
            cpu_power: self.cpu_power,
            gpus: gpus
                .map(|(name, gpu)| GpuSpec {
                    power: gpu.power,
                    ..GpuSpec::named(name)
                })
                .collect(),
        }
    }

    /// Returns how much a run used of a resource: J, or currency by its prices.
    ///
    /// # Errors
    ///
    /// As [`decide_by`](crate::plan::decide_by).
    pub fn spent(&self, run: &Simulated, resource: Resource) -> Result<f64, Error> {
        let draws = Draws::of(resource, self.prices.as_ref(), &self.machine())?;
        Ok(draws.spent(run.makespan_ns, run.cpu_busy_ns, &run.gpu_busy_ns))
    }

    /// Runs the batch by stated costs, without teaching a model.
    ///
    /// # Errors
    ///
    /// As [`decide`](crate::plan::decide).
    pub fn run_known(
        &self,
        strategy: ExecutionStrategy,
        known: &OperationCosts,
    ) -> Result<Simulated, Error> {
        let (run, decision) = self.run_by(strategy, known)?;
        Ok(run.result(decision))
    }

    fn run_by(
        &self,
        strategy: ExecutionStrategy,
        known: &OperationCosts,
    ) -> Result<(Run<'_>, Box<Decision>), Error> {
        let workload = &WorkloadProfile::from_task_count(self.tasks())
            .with_memory_per_task(self.memory_per_task)
            .with_parallelization(self.parallelization);
        let heuristics = &ProfilingHeuristics::default();
        let tuning = self.tuning;
        let query = Query {
            strategy,
            basis: Basis::Program,
            goal: Goal {
                objective: self.objective,
                prices: self.prices.as_ref(),
            },
            tuning,
        };
        let reported = |gpu: &ScenarioGpu| gpu.reports_launch.then_some(gpu.launch_ns);
        let known = known
            .clone()
            .with_reported_launches(self.gpus.iter().map(reported));
        let known = &known.in_launches_of(std::iter::repeat(usize::MAX), self.tasks());
        let decision = decide_tuned(query, workload, &self.machine(), heuristics, known)?;
        let gpus = (0..self.gpus.len()).map(|gpu| GpuSetup {
            depth: 3,
            fits: known.gpu(gpu).most_tasks(),
            ..GpuSetup::UNKNOWN
        });
        let gpus: Vec<_> = gpus.collect();
        let size = (self.tasks(), self.workers);
        let setup = Setup::of(&decision, known, size, &gpus, tuning);
        let mut run = Run::new(self, decision.strategy, Schedule::new(setup));
        run.run();
        Ok((run, decision))
    }

    /// Runs the batch by a decision without the cost model: the seven-stage rule's, for instance,
    /// with the split kept as it is.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_fixed(&self, strategy: ExecutionStrategy) -> Result<f64, Error> {
        Ok(self.run(strategy, &mut Model::default())?.makespan_ns)
    }
}
