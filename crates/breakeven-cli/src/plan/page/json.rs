//! Writes the decision as JSON.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use breakeven::WorkloadProfile;
use breakeven::plan::{Aim, Amounts, Basis, Evidence, ExecutionStrategy, Machine, Stage};
use serde::Serialize;

use super::{Comparison, Plan};

#[derive(Serialize)]
struct Document<'p> {
    strategy: ExecutionStrategy,
    batch_size: usize,
    estimated_gpu_tasks: usize,
    estimated_cpu_tasks: usize,
    /// Tasks per device, if there are several and each share is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_device_tasks: Option<BTreeMap<&'p str, usize>>,
    /// Time of each device's share; for several GPUs only if each share is known.
    estimated_device_ns: BTreeMap<&'p str, Option<f64>>,
    reasoning: Vec<String>,
    /// `stage`, `last_answer`, `costs`, `exploration`, `asked` or `operator`.
    basis: &'static str,
    /// The number of the stage that decided; `null` if none did.
    stage: Option<u8>,
    /// `measured`, `fitted` or `heuristic`: the source of the chosen time.
    evidence: Evidence,
    candidates: Vec<CandidateEntry>,
    /// Relative saving compared with the next candidate, 0 to 1.
    margin: Option<f64>,
    /// Speedup of a perfect split over the better single device.
    ceiling: Option<f64>,
    /// Fraction of the time on the GPU alone that transfers take; omitted if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer_ns: Option<f64>,
    /// Relative saving that a declined split would have had, 0 to 1.
    declined_gain: Option<f64>,
    /// The strategy without the operator's.
    otherwise: Option<ExecutionStrategy>,
    /// The objective, its value, and the unit of costs; omitted for time.
    #[serde(skip_serializing_if = "Option::is_none")]
    aim: Option<&'p Aim>,
    workload: WorkloadEntry,
    machine: MachineEntry<'p>,
    notes: &'p [String],
}

#[derive(Serialize)]
struct CandidateEntry {
    strategy: ExecutionStrategy,
    predicted_ns: Option<f64>,
    #[serde(flatten)]
    amounts: Amounts,
    evidence: Evidence,
}

#[derive(Serialize)]
struct WorkloadEntry {
    #[serde(flatten)]
    workload: WorkloadProfile,
    size: u64,
}

#[derive(Serialize)]
struct MachineEntry<'p> {
    name: &'p str,
    #[serde(flatten)]
    machine: &'p Machine,
}

#[derive(Serialize)]
struct ComparisonDocument<'p> {
    here: Document<'p>,
    described: Document<'p>,
    answer: String,
}

pub(super) fn write(plan: &Plan, out: &mut dyn Write) -> Result<()> {
    crate::print::document(&document(plan), out)
}

pub(super) fn write_comparison(comparison: &Comparison, out: &mut dyn Write) -> Result<()> {
    let document = ComparisonDocument {
        here: document(&comparison.here),
        described: document(&comparison.described),
        answer: comparison.answer(),
    };
    crate::print::document(&document, out)
}

fn document(plan: &Plan) -> Document<'_> {
    let decision = &plan.decision;
    let (estimated_gpu_tasks, estimated_cpu_tasks) = plan.tasks();
    let (basis, stage) = match decision.basis {
        Basis::Rule(Stage::Last) => ("last_answer", None),
        Basis::Rule(stage) => ("stage", stage.number()),
        Basis::Model => ("costs", None),
        Basis::Exploration => ("exploration", None),
        Basis::Program => ("asked", None),
        Basis::Operator => ("operator", None),
        Basis::Resident => ("resident", None),
        Basis::Placed => ("placed", None),
    };
    Document {
        strategy: decision.strategy,
        batch_size: decision.batch_size,
        estimated_gpu_tasks,
        estimated_cpu_tasks,
        estimated_device_tasks: plan.gpu_shares().map(|_| {
            let shares = plan.shares.iter();
            shares.map(|share| (&*share.device, share.tasks)).collect()
        }),
        estimated_device_ns: (plan.shares.iter())
            .map(|share| (&*share.device, share.predicted_ns))
            .collect(),
        reasoning: plan.reasoning(),
        basis,
        stage,
        evidence: decision.evidence(),
        candidates: decision
            .candidates
            .iter()
            .map(|candidate| CandidateEntry {
                strategy: candidate.strategy,
                predicted_ns: candidate.predicted_ns,
                amounts: candidate.amounts,
                evidence: candidate.evidence,
            })
            .collect(),
        margin: decision.margin,
        ceiling: decision.ceiling,
        transfer_ns: decision.transfer_ns,
        declined_gain: decision.declined_gain,
        otherwise: (plan.otherwise.as_ref()).map(|otherwise| otherwise.strategy),
        aim: plan.free().aim.as_deref(),
        workload: WorkloadEntry {
            workload: plan.workload,
            size: plan.workload.workload_size(),
        },
        machine: MachineEntry {
            name: &plan.name,
            machine: &plan.machine,
        },
        notes: &plan.notes,
    }
}
