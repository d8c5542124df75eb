//! Prints a decision about a batch, as a page or as JSON.

use std::io::Write;

use anyhow::Result;
use breakeven::WorkloadProfile;
use breakeven::plan::{Basis, Candidate, Decision, Evidence, ExecutionStrategy, Machine, Share};
use breakeven_profile::unit;
use serde::Serialize;

use crate::print::page_or_document;
use crate::values::PageFormat;

mod chain;
mod table;

/// Where a batch runs on a machine.
pub(crate) struct Plan {
    /// The machine's label: `this machine`, or a file's name.
    pub(crate) name: String,
    pub(crate) machine: Machine,
    pub(crate) workload: WorkloadProfile,
    /// Each device's share, the CPU first.
    pub(crate) shares: Vec<Share>,
    /// The decision.
    pub(crate) decision: Box<Decision>,
    /// The decision without the operator's setting.
    pub(crate) otherwise: Option<Box<Decision>>,
    /// What was unknown, and where to find it.
    pub(crate) notes: Vec<String>,
}

/// A batch on this machine, and on a described one.
pub(crate) struct Comparison {
    pub(crate) here: Plan,
    pub(crate) described: Plan,
}

impl Plan {
    /// The decision without the operator's setting.
    fn free(&self) -> &Decision {
        self.otherwise.as_ref().unwrap_or(&self.decision)
    }

    /// Tasks for the GPU and for the CPU. Without a GPU all tasks run on the CPU, whatever was set.
    fn tasks(&self) -> (usize, usize) {
        let cpu = self.shares.first().map_or(0, |cpu| cpu.tasks);
        (self.workload.task_count - cpu, cpu)
    }

    /// The share of each GPU, if there are several and each is known.
    fn gpu_shares(&self) -> Option<&[Share]> {
        let (_, gpus) = self.shares.split_first()?;
        (gpus.len() > 1 && self.tasks().0 > 0).then_some(gpus)
    }

    /// The reasons, in sentences.
    fn reasoning(&self) -> Vec<String> {
        let mut reasons = self.decision.reasons();
        if self.machine.gpu().is_none() && self.decision.strategy != ExecutionStrategy::CpuOnly {
            reasons.push("there is no GPU: every task falls back to the CPU".to_owned());
        }
        if let Some(otherwise) = &self.otherwise {
            reasons.push(format!("otherwise it would be {}", otherwise.strategy));
            reasons.extend(otherwise.reasons());
        }
        reasons
    }

    /// The candidates with a known time.
    fn candidates(&self) -> impl Iterator<Item = (&Candidate, f64)> {
        let candidates = self.decision.candidates.iter();
        candidates.filter_map(|candidate| Some((candidate, candidate.predicted_ns?)))
    }

    /// What decided: a stage, the model, or the operator.
    fn decided_by(&self) -> String {
        match self.decision.basis {
            Basis::Rule(stage) => stage.to_string(),
            Basis::Model => "costs".to_owned(),
            Basis::Exploration => "costs, exploring".to_owned(),
            Basis::Program => "asked for".to_owned(),
            Basis::Resident => "where the inputs are".to_owned(),
            Basis::Placed => "each stage has its place".to_owned(),
            Basis::Operator => "BREAKEVEN_STRATEGY".to_owned(),
        }
    }
}

impl Comparison {
    /// Would a GPU help? Compares the described machine with its GPUs against its own CPU; another
    /// sentence compares the CPUs of both machines.
    fn answer(&self) -> String {
        let there = self.described.free();
        let why = match there.basis {
            Basis::Rule(stage) => format!(" ({stage})"),
            _ => String::new(),
        };
        let [there_alone, here_alone] = [there, self.here.free()].map(|decision| {
            let [cpu, ..] = &decision.candidates;
            cpu.predicted_ns.filter(|ns| *ns > 0.0)
        });
        let said = if self.described.machine.gpu().is_none() {
            "The described machine has no GPU".to_owned()
        } else if there.strategy == ExecutionStrategy::CpuOnly {
            format!("No: there too the work stays on the CPU{why}")
        } else {
            match (there.predicted_ns(), there_alone) {
                (Some(ns), Some(alone)) if ns > 0.0 => {
                    let yes = if ns < alone { "Yes" } else { "No" };
                    let times = times(ns, alone);
                    format!(
                        "{yes}: there {} with it and {} without: {times}",
                        unit::time(ns),
                        unit::time(alone)
                    )
                }
                _ => format!(
                    "Yes, by the rule{why}: {} there; --task-time shows how much",
                    there.strategy
                ),
            }
        };
        let cpus = here_alone
            .zip(there_alone)
            .map_or_else(String::new, |(here, there)| {
                let (this, that) = (unit::time(here), unit::time(there));
                format!(
                    " The CPU alone: {that} there and {this} here: {}.",
                    times(there, here)
                )
            });
        format!("Would a GPU help? {said}.{cpus}")
    }
}

/// How many times faster, or slower, the first is.
fn times(ns: f64, other: f64) -> String {
    let (times, fast) = match ns <= other {
        true => (other / ns, "fast"),
        false => (ns / other, "slow"),
    };
    match unit::count(times).as_str() {
        "1" | "1.00" => format!("as {fast}"),
        times => format!("{times} times as {fast}"),
    }
}

pub(crate) use chain::{ChainPlan, write_chain};

/// A decision as JSON.
#[derive(Serialize)]
struct Document<'p> {
    #[serde(flatten)]
    decision: &'p Decision,
    estimated_gpu_tasks: usize,
    estimated_cpu_tasks: usize,
    shares: &'p [Share],
    reasoning: Vec<String>,
    /// `measured`, `fitted` or `heuristic`: the source of the chosen time.
    evidence: Evidence,
    /// The strategy without the operator's.
    otherwise: Option<ExecutionStrategy>,
    workload: WorkloadProfile,
    machine: MachineEntry<'p>,
    notes: &'p [String],
}

#[derive(Serialize)]
struct MachineEntry<'p> {
    name: &'p str,
    #[serde(flatten)]
    machine: &'p Machine,
}

/// Both decisions as JSON.
#[derive(Serialize)]
struct Both<'p> {
    here: Document<'p>,
    described: Document<'p>,
    answer: String,
}

fn document(plan: &Plan) -> Document<'_> {
    let (estimated_gpu_tasks, estimated_cpu_tasks) = plan.tasks();
    Document {
        decision: &plan.decision,
        estimated_gpu_tasks,
        estimated_cpu_tasks,
        shares: &plan.shares,
        reasoning: plan.reasoning(),
        evidence: plan.decision.evidence(),
        otherwise: plan.otherwise.as_ref().map(|otherwise| otherwise.strategy),
        workload: plan.workload,
        machine: MachineEntry {
            name: &plan.name,
            machine: &plan.machine,
        },
        notes: &plan.notes,
    }
}

pub(crate) fn write_plan(plan: &Plan, format: PageFormat, out: &mut dyn Write) -> Result<()> {
    page_or_document(format, || table::of(plan), || document(plan), out)
}

pub(crate) fn write_comparison(
    comparison: &Comparison,
    format: PageFormat,
    out: &mut dyn Write,
) -> Result<()> {
    let both = || Both {
        here: document(&comparison.here),
        described: document(&comparison.described),
        answer: comparison.answer(),
    };
    page_or_document(format, || table::of_both(comparison), both, out)
}
