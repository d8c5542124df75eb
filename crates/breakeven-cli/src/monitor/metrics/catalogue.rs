//! Every served metric. docs/metrics.md has the same table; a test compares them.

use super::name::{Kind, Metric, Unit};

macro_rules! catalogue {
    ($($id:ident = $name:literal, $kind:ident, $unit:ident, $help:literal;)*) => {
        $(pub(super) const $id: Metric = Metric {
            name: $name,
            kind: Kind::$kind,
            unit: Unit::$unit,
            help: $help,
        };)*

        /// All of them.
        #[cfg(test)]
        pub(super) const ALL: &[Metric] = &[$($id),*];
    };
}

catalogue! {
    CPU_USE = "system.cpu.utilization", Gauge, One,
        "Fraction of a logical core's time in use since the previous reading, time stolen by the host included.";
    CPU_FREQUENCY = "system.cpu.frequency", Gauge, Hertz,
        "Clock of a logical core.";
    MEMORY_USAGE = "system.memory.usage", Sum, Bytes,
        "Memory in use: installed minus available.";
    MEMORY_LIMIT = "system.memory.limit", Sum, Bytes,
        "Memory installed.";
    RUN_QUEUE = "breakeven.cpu.run_queue", Gauge, One,
        "Threads that want a core, per logical core.";
    PRESSURE = "breakeven.cpu.pressure", Gauge, One,
        "Fraction of the last ten seconds in which some thread waited for a core.";
    STATUS = "hw.status", Sum, One,
        "1 for the state that a device is in: ok, degraded (its driver does not answer), failed (it cannot be reached any more).";
    TEMPERATURE = "hw.temperature", Gauge, Celsius,
        "Temperature: of the processor its hottest sensor, of a GPU its die.";
    POWER = "hw.power", Gauge, Watts,
        "Power: of all processor packages and their memory since the previous reading, of a GPU now.";
    ENERGY = "hw.energy", Counter, Joules,
        "Energy: of the processors since the server was started, of a GPU since its driver was loaded.";
    CLOCK_LIMITED = "breakeven.clock.limited", Sum, One,
        "1 for every active reason for a lowered clock, 0 for the other reasons.";
    GPU_USE = "hw.gpu.utilization", Gauge, One,
        "Fraction of the driver's last sampling period in which a kernel ran.";
    GPU_MEMORY_USE = "breakeven.gpu.memory.activity", Gauge, One,
        "Fraction of the driver's last sampling period in which the GPU's memory was read or written.";
    GPU_MEMORY_USAGE = "hw.gpu.memory.usage", Sum, Bytes,
        "Memory of the GPU that programs and the driver hold.";
    GPU_MEMORY_LIMIT = "hw.gpu.memory.limit", Sum, Bytes,
        "Memory of the GPU.";
    GPU_CLOCK = "breakeven.gpu.clock", Gauge, Hertz,
        "Clock of the GPU's multiprocessors or of its memory.";
    GPU_CLOCK_LIMIT = "breakeven.gpu.clock.limit", Gauge, Hertz,
        "Highest clock of the GPU's multiprocessors.";
    GPU_POWER_LIMIT = "breakeven.gpu.power.limit", Gauge, Watts,
        "Power at which the driver lowers the GPU's clocks.";
    GPU_PROCESS_MEMORY = "breakeven.gpu.process.memory.usage", Sum, Bytes,
        "Memory of the GPU that a process holds.";
    NVML_SILENT = "breakeven.nvml.silent", Gauge, Seconds,
        "Time for which NVIDIA's driver has not answered; absent while it does.";
    PROGRAM_BATCHES = "breakeven.program.batches", Counter, One,
        "Batches of a program that ended: done, or incomplete because they were stopped or failed.";
    PROGRAM_DURATION = "breakeven.program.batch.duration", Gauge, Seconds,
        "Percentiles of the time of a program's batches in the last minute, or of all batches if \
         none was done in it.";
    PROGRAM_TASKS = "breakeven.program.tasks", Counter, One,
        "Tasks of a program, by the device that did them.";
    PROGRAM_FALLBACK = "breakeven.program.fallback.tasks", Counter, One,
        "Tasks of a program that the CPU did instead of a GPU.";
    PROGRAM_QUARANTINES = "breakeven.program.quarantines", Counter, One,
        "How often a device of a program was quarantined after a failure.";
    OWN_MEMORY = "process.memory.usage", Sum, Bytes,
        "Memory of this server that is in RAM.";
    OWN_UPTIME = "process.uptime", Gauge, Seconds,
        "Time since this server was started.";
    READ_AT = "breakeven.reading.timestamp", Gauge, Seconds,
        "When the sensors were read, as Unix time.";
    BUILD = "breakeven.build", Info, One,
        "The version that serves these metrics.";
}
