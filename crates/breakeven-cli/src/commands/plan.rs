//! `breakeven plan`: where a batch would run, here or on a machine that was
//! described, and why.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use breakeven::WorkloadProfile;
use breakeven::plan::{
    Basis, ExecutionStrategy, Machine, OperationCosts, ProfilingHeuristics, costs_from_rates,
    decide, decide_for,
};

use crate::args::PlanArgs;
use crate::exit::Exit;
use crate::output::plan::{Comparison, Plan, write_comparison, write_plan};
use crate::output::text;
use crate::session::detect;

/// Seconds after which a driver that does not answer counts as hung.
const TIMEOUT_S: u32 = 60;

/// The operator's switch: the strategy that overrides Auto.
const STRATEGY: &str = "BREAKEVEN_STRATEGY";

pub(crate) fn run(args: &PlanArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit> {
    let question = Question::of(args)?;
    let described = args.hardware.as_deref().map(described).transpose()?;
    let described = described
        .map(|(name, machine)| question.answer(name, machine))
        .transpose()?;
    if let (Some(plan), false) = (&described, args.compare) {
        write_plan(plan, args.format, out)?;
        return Ok(Exit::Done);
    }
    let Some(found) = detect(TIMEOUT_S)? else {
        let _ = writeln!(err, "interrupted");
        return Ok(Exit::Interrupted);
    };
    let machine = Machine::of(&found.hardware, Some(&found.load));
    let mut here = question.answer("this machine".to_owned(), machine)?;
    if here.machine.gpu().is_none() {
        let note = "`breakeven devices` says why there is no GPU to use here";
        here.notes.push(note.to_owned());
    }
    match described {
        Some(described) => {
            write_comparison(&Comparison { here, described }, args.format, out)?;
        }
        None => write_plan(&here, args.format, out)?,
    }
    Ok(Exit::Done)
}

/// What is asked, whichever the machine.
struct Question {
    workload: WorkloadProfile,
    heuristics: ProfilingHeuristics,
    /// The strategy that the operator ordered.
    ordered: Option<ExecutionStrategy>,
    /// Time of a task on one core, ns.
    task_time_ns: Option<f64>,
}

impl Question {
    fn of(args: &PlanArgs) -> Result<Self> {
        let workload = match args.task_bytes {
            None => WorkloadProfile::from_task_count(args.tasks).with_complexity(args.complexity),
            Some(bytes) => WorkloadProfile::from_task_size(args.tasks, bytes, args.complexity),
        };
        let workload = workload.with_parallelization(args.parallel);
        workload.check()?;
        let heuristics = match &args.heuristics {
            None => ProfilingHeuristics::default(),
            Some(path) => ProfilingHeuristics::from_toml(&read(path, "the heuristics")?)
                .with_context(|| path.display().to_string())?,
        };
        Ok(Self {
            workload,
            heuristics,
            ordered: ordered()?,
            task_time_ns: args.task_time,
        })
    }

    /// The decision for a machine, with what was not known of it.
    fn answer(&self, name: String, machine: Machine) -> Result<Plan> {
        let mut notes = Vec::new();
        let costs = match self.task_time_ns {
            None => OperationCosts::default(),
            Some(ns) => {
                notes.extend(unknown_rates(&machine));
                costs_from_rates(ns, &self.workload, &machine)?
            }
        };
        let free = decide(&self.workload, &machine, &self.heuristics, &costs)?;
        let (decision, otherwise) = match self.ordered {
            None => (free, None),
            Some(strategy) => {
                let ordered = decide_for(
                    strategy,
                    Basis::Operator,
                    &self.workload,
                    &machine,
                    &self.heuristics,
                    &costs,
                )?;
                (ordered, Some(free))
            }
        };
        Ok(Plan {
            name,
            machine,
            workload: self.workload,
            decision,
            otherwise,
            notes,
        })
    }
}

/// What is missing for a time on the GPU.
fn unknown_rates(machine: &Machine) -> Option<String> {
    let gpu = machine.gpu()?;
    if !gpu.speedup.is_known() {
        return Some(format!(
            "how much faster {} is than a core is not known (`speedup`): there is no estimate of its time",
            gpu.name
        ));
    }
    let missing: Vec<&str> = [
        (gpu.launch.is_known(), "`launch`"),
        (gpu.transfer_bytes_per_s.is_known(), "`transfer`"),
    ]
    .into_iter()
    .filter_map(|(known, name)| (!known).then_some(name))
    .collect();
    (!missing.is_empty()).then(|| {
        let missing = missing.join(" and ");
        format!("{missing} of {} not known, counted as nothing", gpu.name)
    })
}

/// The strategy in the operator's switch; none where it is not set, empty or `auto`.
fn ordered() -> Result<Option<ExecutionStrategy>> {
    let Some(text) = std::env::var_os(STRATEGY).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let strategy = text.to_string_lossy().parse().context(STRATEGY)?;
    Ok(Some(strategy).filter(|strategy| *strategy != ExecutionStrategy::Auto))
}

/// The machine that a file describes, with the file's name.
fn described(path: &Path) -> Result<(String, Machine)> {
    let mut name = path.display().to_string();
    let text = read(path, "the description of a machine")?;
    let mut machine = Machine::from_toml(&text).with_context(|| name.clone())?;
    text::shown(&mut name);
    for gpu in &mut machine.gpus {
        text::shown(&mut gpu.name);
    }
    Ok((name, machine))
}

fn read(path: &Path, what: &str) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {what} {}", path.display()))
}
