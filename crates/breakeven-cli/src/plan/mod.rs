//! `breakeven plan`: shows where a batch would run, here or on a described machine, and why.

use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, bail};
use breakeven::execute::{measure_power, ordered_prices, ordered_strategy, read_prices};
use breakeven::hardware::{HardwareCapabilities, as_planned, gpu_spec};
use breakeven::kernels::NAMES;
use breakeven::plan::{
    Basis, ExecutionStrategy, Goal, GpuCosts, GpuSpec, Machine, Objective, OperationCosts, Prices,
    ProfilingHeuristics, Resource, costs_from_rates, decide_by, decide_for,
};
use breakeven::{Costs, WorkloadProfile};
use breakeven_judge::Outcome;
use breakeven_profile::unit;

use crate::engine::session::detect;
use crate::engine::{devices, session};
use crate::plan::args::PlanArgs;
use crate::plan::page::{Comparison, Plan, write_comparison, write_plan};
use crate::values::similar;

pub(crate) mod args;
mod chain;
pub(crate) mod page;

/// The preset that splits if no stage decides.
const HYBRID_FIRST: &str = "hybrid-first";

/// Seconds after which an unresponsive driver counts as hung.
pub(super) const TIMEOUT_S: u32 = 60;

pub(crate) fn run(args: &PlanArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    if !args.chain.is_empty() {
        return chain::run(args, out, err);
    }
    let operation = args.operation.as_deref();
    let measured = operation.map(|operation| Measured::open(operation, err));
    let forgotten = match &measured {
        Some(measured) if args.forget => Some(measured.forget()?),
        Some(measured) => {
            measured.check()?;
            None
        }
        None => None,
    };
    let Some(tasks) = args.tasks else {
        writeln!(out, "{}", forgotten.unwrap_or_default())?;
        return Ok(Outcome::Passed);
    };
    let question = Question::of(args, tasks, measured)?;
    let described = args.hardware.as_deref().map(described).transpose()?;
    let described = described
        .map(|(name, machine)| question.answer(name, machine, false))
        .transpose()?;
    if let (Some(plan), false) = (&described, args.compare) {
        write_plan(plan, args.format, out)?;
        return Ok(Outcome::Passed);
    }
    let found = detect(TIMEOUT_S, "interrupted")?;
    let mut machine = this_machine(&found, args.device.as_deref())?;
    if let (Some(measured), None) = (&question.measured, &args.device) {
        let slots = measured.slots();
        if !slots.is_empty() {
            machine.gpus = slots;
        }
    }
    let machine = question.with_power(machine, &found.hardware)?;
    let mut here = question.answer("this machine".to_owned(), machine, true)?;
    here.notes.extend(forgotten);
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
    Ok(Outcome::Passed)
}

/// This machine, with the GPUs to consider.
pub(super) fn this_machine(found: &session::Machine, device: Option<&str>) -> Result<Machine> {
    let mut machine = as_planned(&found.hardware, Some(&found.load));
    let gpus = devices::gpus(device, &found.hardware)?.into_iter();
    machine.gpus = gpus.map(|gpu| gpu_spec(gpu, Some(&found.load))).collect();
    Ok(machine)
}

/// Opens one of these GPUs.
#[cfg(feature = "gpu")]
pub(super) fn open(gpu: &GpuSpec) -> Result<breakeven::gpu::Gpu> {
    Ok(breakeven::gpu::Gpu::open(&gpu.name.parse()?)?)
}

/// The question, for either machine.
struct Question {
    workload: WorkloadProfile,
    heuristics: ProfilingHeuristics,
    objective: Objective,
    prices: Option<Prices>,
    /// The strategy that the operator set.
    ordered: Option<ExecutionStrategy>,
    /// Time of a task on one core, ns.
    task_time_ns: Option<f64>,
    measured: Option<Measured>,
    /// The assumptions.
    notes: Vec<String>,
}

impl Question {
    fn of(args: &PlanArgs, tasks: usize, measured: Option<Measured>) -> Result<Self> {
        let mut notes = Vec::new();
        let mut workload = WorkloadProfile::from_task_count(tasks).with_complexity(args.complexity);
        if let Some(bytes) = args.task_bytes {
            workload = workload.with_memory_per_task(bytes);
        }
        let only_size = measured.as_ref().and_then(|each| each.only_size(&workload));
        if let (None, Some(size)) = (args.task_bytes, only_size) {
            workload = workload.with_memory_per_task(size);
            notes.push("the size of a task is the one that was measured".to_owned());
        }
        let workload = workload.with_parallelization(args.parallel);
        workload.check()?;
        let heuristics = match &args.heuristics {
            None => ProfilingHeuristics::default(),
            Some(path) if path.as_os_str() == HYBRID_FIRST => ProfilingHeuristics::hybrid_first(),
            Some(path) => ProfilingHeuristics::from_toml(&read(path, "the heuristics")?)
                .with_context(|| path.display().to_string())?,
        };
        let prices = match &args.prices {
            Some(path) => Some(read_prices(path)?),
            None => ordered_prices()?,
        };
        Ok(Self {
            workload,
            heuristics,
            objective: args.objective,
            prices,
            ordered: ordered_strategy().transpose()?,
            task_time_ns: args.task_time,
            measured,
            notes,
        })
    }

    /// This machine, with the power of its devices if the objective needs it.
    fn with_power(&self, mut machine: Machine, hardware: &HardwareCapabilities) -> Result<Machine> {
        let counts = self.objective.resource() == Some(Resource::Energy);
        if !counts || machine.gpus.is_empty() {
            return Ok(machine);
        }
        let measured = self.measured.as_ref();
        let costs = measured.map(|measured| measured.lookup(&self.workload, &machine));
        let costs = costs.unwrap_or_default();
        let unmeasured = measure_power(&mut machine, &costs, hardware)?;
        if !unmeasured.is_empty() {
            bail!(
                "energy cannot be weighed: the power of {} at the operation was not measured; \
                 `breakeven profile --strategy auto --objective energy` measures it for a kernel, \
                 `.objective(Objective::Energy)` for a program's operation (then --operation NAME)",
                unmeasured.join(" and ")
            );
        }
        Ok(machine)
    }

    /// The decision for a machine, with what was unknown.
    fn answer(&self, name: String, machine: Machine, is_here: bool) -> Result<Plan> {
        let (workload, heuristics) = (&self.workload, &self.heuristics);
        let mut notes = self.notes.clone();
        let costs = self.costs(&machine, is_here, &mut notes)?;
        notes.extend(machine.unfit(workload).with_context(|| name.clone())?);
        let goal = Goal {
            objective: self.objective,
            prices: self.prices.as_ref(),
        };
        let free = decide_by(goal, workload, &machine, heuristics, &costs);
        let free = free.map_err(|error| {
            let flag = match (self.objective.resource(), &self.prices) {
                (Some(Resource::Cost), None) => " (--prices)",
                _ => "",
            };
            anyhow!("{name}: {error}{flag}")
        })?;
        let ordered = self.ordered.map(|strategy| {
            decide_for(
                strategy,
                Basis::Operator,
                workload,
                &machine,
                heuristics,
                &costs,
            )
        });
        let (decision, otherwise) = match ordered.transpose()? {
            None => (free, None),
            Some(ordered) => (ordered, Some(free)),
        };
        Ok(Plan {
            shares: decision.shares(workload, &machine, &costs),
            name,
            machine,
            workload: self.workload,
            decision,
            otherwise,
            notes,
        })
    }

    /// The costs on a machine: measured, else derived from its rates.
    fn costs(
        &self,
        machine: &Machine,
        is_here: bool,
        notes: &mut Vec<String>,
    ) -> Result<OperationCosts> {
        let mut costs = OperationCosts::default();
        let mut task_time = self.task_time_ns;
        match &self.measured {
            Some(measured) if is_here => {
                costs = measured.lookup(&self.workload, machine);
                let unknown = |gpu: &GpuCosts| gpu.cost.is_none();
                if costs.cpu.is_none() && costs.gpus.iter().all(unknown) {
                    notes.push(measured.nothing_known(&self.workload));
                } else {
                    if costs.cpu.is_none() && task_time.is_none() {
                        notes.push(measured.not_on_cpu());
                    }
                    if let [_, _, ..] = &machine.gpus[..] {
                        let gpus = machine.gpus.iter().zip(&costs.gpus);
                        let gpus = gpus.filter(|(_, costs)| unknown(costs));
                        notes.extend(gpus.map(|(gpu, _)| measured.not_on(&gpu.name)));
                    }
                }
            }
            Some(measured) if task_time.is_none() => {
                let (time, note) = measured.task_time(&self.workload);
                notes.push(note);
                task_time = time;
            }
            Some(_) | None => {}
        }
        for (known, gpu) in costs.gpus.iter_mut().zip(&machine.gpus) {
            known.cost = known
                .cost
                .filter(|_| gpu.fits(self.workload.memory_per_task) > 0);
        }
        if let Some(ns) = task_time {
            let by_rates = costs_from_rates(ns, &self.workload, machine)?;
            costs.cpu = costs.cpu.or(by_rates.cpu);
            costs.gpus.resize(machine.gpus.len(), GpuCosts::default());
            let gpus = costs.gpus.iter_mut().zip(by_rates.gpus);
            for ((known, by_rates), gpu) in gpus.zip(&machine.gpus) {
                if known.cost.is_none() {
                    notes.extend(unknown_rates(gpu));
                }
                known.cost = known.cost.or(by_rates.cost);
            }
        }
        Ok(costs)
    }
}

/// The figures that an estimate for a GPU lacks.
fn unknown_rates(gpu: &GpuSpec) -> Option<String> {
    if gpu.speedup.is_unknown() {
        return Some(format!(
            "{}: its rate over that of a core (`speedup`) is not known: there is no estimate of its \
             time",
            gpu.name
        ));
    }
    let launch = gpu.launch.is_unknown().then_some("`launch`");
    let transfer = gpu
        .transfer_bytes_per_s
        .is_unknown()
        .then_some("`transfer`");
    let missing: Vec<&str> = [launch, transfer].into_iter().flatten().collect();
    let missing = missing.join(" and ");
    (!missing.is_empty()).then(|| format!("{}: not known, counted as zero: {missing}", gpu.name))
}

/// The machine described in a file, with the file's name.
fn described(path: &Path) -> Result<(String, Machine)> {
    let name = path.display().to_string();
    let text = read(path, "the description of a machine")?;
    let machine = Machine::from_toml(&text).with_context(|| name.clone())?;
    Ok((name, machine))
}

fn read(path: &Path, what: &str) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {what} {}", path.display()))
}

/// The cost model, and the selected operation.
pub(super) struct Measured {
    operation: String,
    costs: Costs,
}

impl Measured {
    /// Opens this user's model; an unreadable one gives a warning.
    pub(super) fn open(operation: &str, err: &mut dyn Write) -> Self {
        let (costs, warning) = Costs::open_default();
        if let Some(warning) = warning {
            // The reader of stderr may be gone.
            let _ = writeln!(err, "warning: {warning}");
        }
        Self {
            operation: operation.to_owned(),
            costs,
        }
    }

    /// Refuses an operation of which nothing was measured.
    pub(super) fn check(&self) -> Result<()> {
        if !self.costs.sizes(&self.operation).is_empty() {
            return Ok(());
        }
        let known = self.costs.operations();
        let hint = similar(&self.operation, known.iter().map(String::as_str));
        let known = match &known[..] {
            [] => "nothing else was measured either".to_owned(),
            known => format!("there are {}", known.join(", ")),
        };
        bail!(
            "nothing was measured of {:?} here; {hint}{known}",
            self.operation
        );
    }

    /// Deletes the operation's measurements, in the file too. Returns a sentence about the result.
    pub(super) fn forget(&self) -> Result<String> {
        let known = !self.costs.sizes(&self.operation).is_empty();
        self.costs.forget(&self.operation, SystemTime::now());
        self.costs.save()?;
        Ok(match known {
            true => format!("the measurements of {:?} are deleted", self.operation),
            false => format!("there are no measurements of {:?}", self.operation),
        })
    }

    /// The measured size of a task, if there is exactly one and it is not the workload's.
    pub(super) fn only_size(&self, workload: &WorkloadProfile) -> Option<usize> {
        let sizes = self.costs.sizes(&self.operation);
        let [size] = sizes[..] else { return None };
        // The workload's tasks have that size: sizes are powers of two.
        let is_same = workload.memory_per_task.checked_ilog2() == size.checked_ilog2();
        (!is_same).then_some(size)
    }

    /// Slots of the operation that no driver knows: [`Costs::slots`].
    pub(super) fn slots(&self) -> Vec<GpuSpec> {
        self.costs.slots(&self.operation)
    }

    pub(super) fn lookup(&self, workload: &WorkloadProfile, machine: &Machine) -> OperationCosts {
        for gpu in &machine.gpus {
            if let Some(driver) = gpu.driver.known() {
                self.costs.declare_driver(&gpu.name, driver);
            }
        }
        let gpus: Vec<&str> = machine.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
        let (operation, memory) = (&self.operation, workload.memory_per_task);
        let mut costs = self.costs.lookup(operation, memory, &gpus, machine.cores);
        // A slot of `breakeven run` starts one process for as many inputs as before.
        for (known, gpu) in costs.gpus.iter_mut().zip(&gpus) {
            if let Some(cost) = known.cost.as_mut().filter(|_| gpu.starts_with("gpu:")) {
                cost.per_task_ns += cost.fixed_ns / cost.most.max(1) as f64;
                cost.fixed_ns = 0.0;
            }
        }
        costs
    }

    /// Says that nothing is known of that size, and of which sizes something is.
    pub(super) fn nothing_known(&self, workload: &WorkloadProfile) -> String {
        let sizes = self.costs.sizes(&self.operation);
        let bytes = |size: &usize| unit::bytes(*size as u64);
        let sizes: Vec<String> = sizes.iter().map(bytes).collect();
        format!(
            "{:?} was not measured here at {} per task; it was at {} and a little more",
            self.operation,
            unit::bytes(workload.memory_per_task as u64),
            sizes.join(", ")
        )
    }

    /// Says that nothing is known of the operation on that GPU.
    pub(super) fn not_on(&self, gpu: &str) -> String {
        let operation = &self.operation;
        format!("{operation:?} was not measured on {gpu}, whose time is not included")
    }

    /// Says that nothing is known of the operation on the CPU, and how to measure it.
    pub(super) fn not_on_cpu(&self) -> String {
        let operation = &self.operation;
        let how = match NAMES.contains(&&**operation) {
            true => format!("`breakeven profile --strategy auto --kernel {operation}` measures it"),
            false => "executions with the strategy Auto measure it".to_owned(),
        };
        format!("{operation:?} was not measured on the CPU, so no times are compared; {how}")
    }

    /// Time of a task on one core of this machine, ns, which is assumed for a described machine;
    /// and a note that says so.
    pub(super) fn task_time(&self, workload: &WorkloadProfile) -> (Option<f64>, String) {
        let (operation, memory) = (&self.operation, workload.memory_per_task);
        let known = self.costs.lookup(operation, memory, &[""; 0], 1);
        let time = known.cpu.map(|cpu| cpu.per_task_ns).filter(|ns| *ns > 0.0);
        let note = time.map(unit::time).map(|time| {
            format!(
                "a task of {operation:?} takes {time} on a core of this machine, and is assumed \
                 to do so there"
            )
        });
        (time, note.unwrap_or_else(|| self.nothing_known(workload)))
    }
}
