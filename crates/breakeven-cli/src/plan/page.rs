//! Prints a decision about a batch, as a page or as JSON.

use std::io::Write;

use anyhow::Result;
use breakeven::WorkloadProfile;
use breakeven::plan::{
    Basis, Candidate, Decision, Evidence, ExecutionStrategy, Machine, Resource, Share,
};
use breakeven_judge::page::figures::plural;
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone};
use breakeven_profile::unit;
use serde::Serialize;

use crate::print::page_or_document;
use crate::values::PageFormat;

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
    page_or_document(format, || of(plan), || document(plan), out)
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
    page_or_document(format, || of_both(comparison), both, out)
}

fn of(plan: &Plan) -> Page {
    let mut page = Page::default();
    page.heading(format!("{}: {}", plan.decision.strategy, work(plan)));
    add(plan, &mut page);
    page
}

fn of_both(comparison: &Comparison) -> Page {
    let mut page = Page::default();
    for plan in [&comparison.here, &comparison.described] {
        let (strategy, work) = (plan.decision.strategy, work(plan));
        page.heading(format!("{}: {strategy}: {work}", plan.name));
        add(plan, &mut page);
    }
    page.heading(comparison.answer());
    page
}

/// The question, the reasons and the candidates.
fn add(plan: &Plan, page: &mut Page) {
    let aim = plan.free().aim.as_deref();
    let objective = aim.map(|aim| ("objective", aim.objective.to_string()));
    let facts = [
        ("workload", plan.workload.to_string()),
        ("machine", plan.machine.to_string()),
    ];
    page.facts(facts.into_iter().chain(objective));
    let names = std::iter::once("why").chain(std::iter::repeat(""));
    page.facts(names.zip(plan.reasoning()));
    let shares = plan.shares.iter().filter(|share| share.tasks > 0);
    let shares: Vec<_> = shares
        .filter_map(|share| {
            let time = unit::time(share.predicted_ns?);
            let tasks = plural(share.tasks as u64, "task");
            Some(format!("{}: {tasks} in {time}", share.device))
        })
        .collect();
    if shares.len() > 1 {
        page.facts([("shares", shares.join("; "))]);
    }
    // What candidates use besides time.
    let is_known = |resource: &Resource| {
        plan.candidates()
            .any(|(each, _)| each.amounts[*resource].is_some())
    };
    let resources: Vec<Resource> = Resource::ALL.into_iter().filter(is_known).collect();
    let spent = |candidate: &Candidate, resource: &Resource| {
        let spent = aim.and_then(|aim| aim.spent(candidate, *resource));
        spent.unwrap_or_else(|| unit::UNKNOWN.to_owned())
    };
    let kind = |strategy: &ExecutionStrategy| std::mem::discriminant(strategy);
    let rows = plan.candidates().map(|(candidate, ns)| {
        let tone = match kind(&candidate.strategy) == kind(&plan.decision.strategy) {
            true => Tone::Strong,
            false => Tone::Plain,
        };
        let head = [candidate.strategy.to_string(), unit::time(ns)];
        let spent = resources.iter().map(|resource| spent(candidate, resource));
        let cells = head.into_iter().chain(spent);
        let cells = cells.chain([candidate.evidence.to_string()]);
        Row::new(cells.map(|cell| Text::new(cell, tone)))
    });
    let spent = resources.iter();
    let spent = spent.map(|resource| Column::figures(resource.to_string(), Column::KEPT));
    let columns = [
        Column::words("candidate", Column::KEPT),
        Column::figures("predicted", Column::KEPT),
    ];
    page.table(Table {
        columns: (columns.into_iter().chain(spent))
            .chain([Column::words("evidence", Column::KEPT)])
            .collect(),
        rows: rows.collect(),
        ..Table::default()
    });
    page.facts(plan.notes.iter().map(|note| ("note", note)));
}

/// How many tasks each side gets, and how large a batch is.
fn work(plan: &Plan) -> String {
    let (gpu, cpu) = plan.tasks();
    let tasks = |tasks: usize| plural(tasks as u64, "task");
    let gpus = match plan.machine.gpus.len() {
        0 | 1 => "GPU",
        _ => "GPUs",
    };
    let on_gpus = format!("{} on the {gpus}", tasks(gpu));
    let sides = match (gpu, cpu) {
        (0, 0) => return "there is nothing to run".to_owned(),
        (0, cpu) => format!("{} on the CPU", tasks(cpu)),
        (_, 0) => on_gpus,
        (_, cpu) => format!("{on_gpus}, {} on the CPU", tasks(cpu)),
    };
    let batch = unit::count(plan.decision.batch_size as f64);
    format!("{sides}, {batch} per batch")
}
