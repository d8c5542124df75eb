//! One reading of the sensors as families of samples.

use std::time::{Duration, SystemTime};

use breakeven::hardware::Fact;
use breakeven::hardware::sensors::{
    ClockLimit, CpuReading, EnergyCounter, EnergyDomain, EnergyMethod, GpuReading, GpuState,
    Reading,
};
use breakeven_judge::page::shown;

use super::{self as all, Families, Family, Labels, with};
use crate::engine::programs::{OperationReading, ProgramReading, ProgramsReading};

/// Reasons that a driver reports separately.
const REASONS: [ClockLimit; 7] = [
    ClockLimit::Idle,
    ClockLimit::Setting,
    ClockLimit::Power,
    ClockLimit::Thermal,
    ClockLimit::Hardware,
    ClockLimit::Group,
    ClockLimit::Other,
];

/// Metrics of the server itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own {
    /// When it read the sensors.
    pub(crate) read_at: SystemTime,
    pub(crate) uptime: Duration,
    pub(crate) memory_bytes: Option<u64>,
}

/// The metrics of a reading of the sensors and of the programs. Unknown figures have no sample.
pub(crate) fn families(
    processor: &str,
    reading: &Reading,
    energy: &[EnergyCounter],
    programs: &ProgramsReading,
    own: Own,
) -> Vec<Family> {
    let mut families = Families::default();
    add_cpu(&mut families, processor, &reading.cpu, energy);
    for (index, gpu) in reading.gpus.iter().enumerate() {
        add_gpu(&mut families, index, gpu, energy);
    }
    families.add(all::NVML_SILENT, &vec![], reading.nvml_silent_s);
    add_programs(&mut families, programs);
    add_own(&mut families, own);
    families.all()
}

fn add_cpu(to: &mut Families, name: &str, cpu: &CpuReading, energy: &[EnergyCounter]) {
    for core in &cpu.cores {
        let core_is = vec![("cpu_logical_number", core.number.to_string())];
        to.add(all::CPU_USE, &core_is, core.used.get());
        to.add(all::CPU_FREQUENCY, &core_is, core.clock_hz.get());
    }
    let used = vec![("system_memory_state", "used".to_owned())];
    to.add_bytes(all::MEMORY_USAGE, &used, cpu.memory_used_bytes.get());
    to.add_bytes(all::MEMORY_LIMIT, &vec![], cpu.memory_total_bytes.get());
    to.add(all::RUN_QUEUE, &vec![], cpu.run_queue_per_core.get());
    to.add(all::PRESSURE, &vec![], cpu.pressure.get());
    let device = device("cpu", "cpu", Some(name));
    to.add(all::TEMPERATURE, &device, cpu.temperature_celsius.get());
    to.add(all::POWER, &device, cpu.power_watts.get());
    to.add(all::ENERGY, &device, joules(energy, &EnergyDomain::Cpu));
    add_limits(to, &device, &cpu.limits);
}

fn add_gpu(to: &mut Families, index: usize, gpu: &GpuReading, energy: &[EnergyCounter]) {
    let load = &gpu.load;
    let pci = load.pci.known();
    let id = pci.cloned().unwrap_or_else(|| format!("gpu{index}"));
    let device = device(&id, "gpu", load.name.known().map(String::as_str));
    let state = match gpu.state {
        GpuState::Current => "ok",
        GpuState::Silent { .. } => "degraded",
        GpuState::Lost => "failed",
    };
    for each in ["ok", "degraded", "failed"] {
        let is_one = if each == state { 1.0 } else { 0.0 };
        to.add(all::STATUS, &with(&device, "hw_state", each), is_one);
    }
    if gpu.state != GpuState::Current {
        // The figures are outdated.
        return;
    }
    let celsius = load.temperature_celsius.map(f64::from);
    to.add(all::TEMPERATURE, &device, celsius.get());
    to.add(all::POWER, &device, gpu.power_watts.get());
    let summed = pci.and_then(|pci| joules(energy, &EnergyDomain::Gpu { pci: pci.clone() }));
    to.add(all::ENERGY, &device, gpu.energy_joules.get().or(summed));
    add_limits(to, &device, &gpu.limits);
    to.add(all::GPU_USE, &device, load.gpu_use.get());
    to.add(all::GPU_MEMORY_USE, &device, gpu.memory_use.get());
    to.add_bytes(all::GPU_MEMORY_USAGE, &device, load.memory_used_bytes.get());
    to.add_bytes(
        all::GPU_MEMORY_LIMIT,
        &device,
        load.memory_total_bytes.get(),
    );
    for (of, clock) in [("compute", gpu.clock_hz), ("memory", gpu.memory_clock_hz)] {
        to.add(all::GPU_CLOCK, &with(&device, "domain", of), clock.get());
    }
    let of_compute = with(&device, "domain", "compute");
    to.add(all::GPU_CLOCK_LIMIT, &of_compute, gpu.clock_max_hz.get());
    to.add(all::GPU_POWER_LIMIT, &device, gpu.power_limit_watts.get());
    for process in gpu.processes.known().into_iter().flatten() {
        let mut labels = with(&device, "process_pid", &process.pid.to_string());
        if let Some(name) = process.name.known() {
            labels.push(("process_executable_name", name.clone()));
        }
        to.add_bytes(all::GPU_PROCESS_MEMORY, &labels, process.memory_bytes.get());
    }
}

fn add_limits(to: &mut Families, labels: &Labels, limits: &Fact<Vec<ClockLimit>>) {
    for reason in limits.known().iter().flat_map(|_| REASONS) {
        let labels = with(labels, "reason", reason.name());
        let holds = limits.known().is_some_and(|all| all.contains(&reason));
        to.add(all::CLOCK_LIMITED, &labels, if holds { 1.0 } else { 0.0 });
    }
}

fn add_own(to: &mut Families, own: Own) {
    to.add_bytes(all::OWN_MEMORY, &vec![], own.memory_bytes);
    to.add(all::OWN_UPTIME, &vec![], own.uptime.as_secs_f64());
    let since_1970 = own.read_at.duration_since(SystemTime::UNIX_EPOCH).ok();
    to.add(all::READ_AT, &vec![], since_1970.map(|at| at.as_secs_f64()));
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    to.add(all::BUILD, &version, 1.0);
}

/// OpenTelemetry's attributes of a component of the machine.
fn device(id: &str, kind: &str, name: Option<&str>) -> Labels {
    let mut labels = vec![("hw_id", id.to_owned()), ("hw_type", kind.to_owned())];
    labels.extend(name.map(|name| ("hw_name", name.to_owned())));
    labels
}

/// Joules that this program counted: RAPL's, or a GPU's power integrated.
fn joules(energy: &[EnergyCounter], of: &EnergyDomain) -> Option<f64> {
    // A driver's own counter is in its reading: two counters of the same name would look like one
    // that was reset.
    let mut counters = energy
        .iter()
        .filter(|counter| counter.method != EnergyMethod::Counter);
    let counter = counters.find(|counter| counter.domain == *of)?;
    counter.joules.as_ref().ok().copied()
}

/// Most programs that are served.
const MOST_PROGRAMS: usize = 32;

/// Longest label value, characters.
const MOST_OF_NAME: usize = 120;

fn add_programs(to: &mut Families, programs: &ProgramsReading) {
    for program in programs.programs.iter().take(MOST_PROGRAMS) {
        let labels = vec![
            ("process_pid", program.pid.to_string()),
            ("process_executable_name", name(&program.name)),
        ];
        add_program(to, program, &labels);
        for operation in &program.operations {
            let labels = with(&labels, "operation", &name(&operation.name));
            add_operation(to, operation, &labels);
        }
    }
}

fn add_program(to: &mut Families, program: &ProgramReading, labels: &Labels) {
    for (device, count) in &program.quarantines {
        let labels = with(labels, "device", &name(device));
        to.add(all::PROGRAM_QUARANTINES, &labels, *count as f64);
    }
}

fn add_operation(to: &mut Families, operation: &OperationReading, labels: &Labels) {
    let incomplete = operation.incomplete.min(operation.batches);
    let done = operation.batches - incomplete;
    for (outcome, count) in [("done", done), ("incomplete", incomplete)] {
        let labels = with(labels, "outcome", outcome);
        to.add(all::PROGRAM_BATCHES, &labels, count as f64);
    }
    if let Some(latency) = operation.latency {
        // `quantile` is the label of a summary, which covers all time.
        let percentiles = [
            ("50", latency.p50_s),
            ("95", latency.p95_s),
            ("99", latency.p99_s),
        ];
        for (percentile, seconds) in percentiles {
            let labels = with(labels, "percentile", percentile);
            to.add(all::PROGRAM_DURATION, &labels, seconds);
        }
    }
    for (device, tasks) in &operation.tasks {
        let labels = with(labels, "device", &name(device));
        to.add(all::PROGRAM_TASKS, &labels, *tasks as f64);
    }
    to.add(
        all::PROGRAM_FALLBACK,
        labels,
        operation.fallback_tasks as f64,
    );
}

fn name(text: &str) -> String {
    shown(text, MOST_OF_NAME)
}
