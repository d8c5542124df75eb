//! Measurements of an operation on this machine.

use std::io::Write;
use std::time::SystemTime;

use anyhow::{Result, bail};
use breakeven::kernels::NAMES;
use breakeven::plan::{GpuSpec, Machine, OperationCosts};
use breakeven::{Costs, WorkloadProfile};
use breakeven_profile::unit;

use crate::values::similar;

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
