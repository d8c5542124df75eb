//! A decision about a batch, for people and for programs.

use std::io::Write;

use anyhow::Result;
use breakeven::WorkloadProfile;
use breakeven::plan::{Basis, Candidate, Decision, ExecutionStrategy, Machine};
use breakeven_profile::unit;

use crate::args::TableFormat;

mod chain;
mod json;
mod page;

/// Where a batch runs on a machine.
pub(crate) struct Plan {
    /// What the machine is called: `this machine`, or a file's name.
    pub(crate) name: String,
    pub(crate) machine: Machine,
    pub(crate) workload: WorkloadProfile,
    /// What was decided.
    pub(crate) decision: Box<Decision>,
    /// What would have been, where the operator decided.
    pub(crate) otherwise: Option<Box<Decision>>,
    /// What was not known, and where to look.
    pub(crate) notes: Vec<String>,
}

/// A batch on this machine, and on one that was described.
pub(crate) struct Comparison {
    pub(crate) here: Plan,
    pub(crate) described: Plan,
}

impl Plan {
    /// What is decided where nobody gives orders.
    fn free(&self) -> &Decision {
        self.otherwise.as_ref().unwrap_or(&self.decision)
    }

    /// Tasks for the GPU and for the CPU. Without a GPU all are the CPU's,
    /// whatever was ordered.
    fn tasks(&self) -> (usize, usize) {
        let tasks = self.workload.task_count;
        match self.machine.gpu() {
            Some(_) => self.decision.strategy.shares(tasks),
            None => (0, tasks),
        }
    }

    /// Tasks for each GPU, where there are several and it is known what each has.
    fn gpu_tasks(&self) -> Option<Vec<(&str, usize)>> {
        let (tasks, gpus) = (self.tasks().0, &self.machine.gpus);
        let parts = &self.decision.chosen()?.gpu_parts;
        let all: f64 = parts.iter().sum();
        if gpus.len() < 2 || parts.len() != gpus.len() || all <= 0.0 {
            return None;
        }
        let (mut before, mut given) = (0.0, 0);
        let each = gpus.iter().zip(parts).map(|(gpu, part)| {
            before += part;
            let until = whole(tasks as f64 * (before / all).min(1.0));
            let own = until - given;
            given = until;
            (gpu.name.as_str(), own)
        });
        Some(each.collect())
    }

    /// Why, in sentences.
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

    /// The ways that were looked at and of whose time something is known.
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

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of a count"
)]
fn whole(tasks: f64) -> usize {
    tasks.round().max(0.0) as usize
}

impl Comparison {
    /// Would a GPU help? A line.
    fn answer(&self) -> String {
        let (here, there) = (self.here.free(), self.described.free());
        let why = match there.basis {
            Basis::Rule(stage) => format!(" ({stage})"),
            _ => String::new(),
        };
        let said = if self.described.machine.gpu().is_none() {
            "The described machine has no GPU".to_owned()
        } else if there.strategy == ExecutionStrategy::CpuOnly {
            format!("No: there too the work stays on the CPU{why}")
        } else {
            match (here.predicted_ns(), there.predicted_ns()) {
                (Some(here_ns), Some(there_ns)) if here_ns > 0.0 && there_ns > 0.0 => {
                    let [alone, ..] = &there.candidates;
                    times(here_ns, there_ns, alone.predicted_ns)
                }
                _ => format!(
                    "Yes, by the rule{why}: {} there; --task-time tells how much",
                    there.strategy
                ),
            }
        };
        format!("Would a GPU help? {said}.")
    }
}

/// How the times compare: here, there, and there without its GPU.
fn times(here_ns: f64, there_ns: f64, alone_ns: Option<f64>) -> String {
    let alone = alone_ns.map_or_else(String::new, |ns| {
        format!(" ({} without it)", unit::time(ns))
    });
    let (yes, times, fast) = match here_ns > there_ns {
        true => ("Yes", here_ns / there_ns, "fast"),
        false => ("No", there_ns / here_ns, "slow"),
    };
    format!(
        "{yes}: {} there{alone}, {} here: {} times as {fast}",
        unit::time(there_ns),
        unit::time(here_ns),
        unit::count(times)
    )
}

pub(crate) use chain::{ChainPlan, write_chain};

pub(crate) fn write_plan(plan: &Plan, format: TableFormat, out: &mut dyn Write) -> Result<()> {
    match format {
        TableFormat::Table => crate::output::print(&page::of(plan), out)?,
        TableFormat::Json => json::write(plan, out)?,
    }
    Ok(out.flush()?)
}

pub(crate) fn write_comparison(
    comparison: &Comparison,
    format: TableFormat,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        TableFormat::Table => crate::output::print(&page::of_both(comparison), out)?,
        TableFormat::Json => json::write_comparison(comparison, out)?,
    }
    Ok(out.flush()?)
}
