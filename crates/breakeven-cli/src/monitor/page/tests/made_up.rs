//! Readings of machines and programs that are made up.

use std::collections::BTreeMap;
use std::time::Instant;

use breakeven::execute::ManagerStats;
use breakeven::hardware::sensors::{
    ClockLimit, CoreReading, CpuReading, GpuProcess, GpuReading, GpuState, Reading, Source,
};
use breakeven::hardware::{Fact, GpuLoad};
use breakeven::monitor::DecisionFigures;

use crate::engine::programs::{
    OperationReading, ProgramReading, ProgramsReading, Quantiles, UnreadProgram,
};

/// A GPU of which everything is known.
pub(crate) fn gpu(pci: &str, name: &str) -> GpuReading {
    GpuReading {
        load: GpuLoad {
            name: Fact::Known(name.to_owned()),
            pci: Fact::Known(pci.to_owned()),
            gpu_use: Fact::Known(0.5),
            memory_used_bytes: Fact::Known(3 << 30),
            memory_total_bytes: Fact::Known(80 << 30),
            temperature_celsius: Fact::Known(61),
        },
        source: Source::Nvml,
        state: GpuState::Current,
        memory_use: Fact::Known(0.25),
        power_watts: Fact::Known(312.5),
        power_limit_watts: Fact::Known(700.0),
        energy_joules: Fact::Known(1e6),
        clock_hz: Fact::Known(1.41e9),
        clock_max_hz: Fact::Known(1.98e9),
        memory_clock_hz: Fact::Known(2.6e9),
        limits: Fact::Known(vec![ClockLimit::Power, ClockLimit::Thermal]),
        processes: Fact::Known(vec![GpuProcess {
            pid: 4242,
            name: Fact::Known("python3".to_owned()),
            memory_bytes: Fact::Known(2 << 30),
        }]),
    }
}

pub(crate) fn core(number: u32, used: Fact<f64>) -> CoreReading {
    CoreReading {
        number,
        used,
        clock_hz: Fact::Known(3.1e9),
    }
}

/// A reading of a machine of which everything is known.
pub(crate) fn reading(gpus: Vec<GpuReading>) -> Reading {
    Reading {
        at: Instant::now(),
        cpu: CpuReading {
            used: Fact::Known(0.75),
            cores: vec![core(0, Fact::Known(0.5)), core(1, Fact::Known(1.0))],
            run_queue_per_core: Fact::Known(1.5),
            pressure: Fact::Known(0.125),
            memory_used_bytes: Fact::Known(6 << 30),
            memory_total_bytes: Fact::Known(8 << 30),
            temperature_celsius: Fact::Known(70.125),
            power_watts: Fact::Known(45.0),
            limits: Fact::Known(vec![]),
        },
        gpus,
        nvml_silent_s: None,
    }
}

/// A reading of a machine that reports nothing.
pub(crate) fn nothing() -> Reading {
    Reading {
        at: Instant::now(),
        cpu: CpuReading::default(),
        gpus: Vec::new(),
        nvml_silent_s: None,
    }
}

fn counts(all: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let all = all.iter().map(|(name, count)| ((*name).to_owned(), *count));
    all.collect()
}

/// A program with an operation that was done on two devices and one that failed.
pub(crate) fn program(pid: u32, name: &str) -> ProgramReading {
    let mut stats = ManagerStats::default();
    stats.batches = 48_210;
    stats.tasks = counts(&[("cpu", 4_000_600), ("NVIDIA H100", 6_000_000)]);
    stats.fallback_tasks = 600;
    stats.device_errors = counts(&[("device lost", 1)]);
    stats.quarantines = 1;
    stats.recalled_tasks = 40;
    let convolve = OperationReading {
        name: "convolve".to_owned(),
        batches: 48_200,
        incomplete: 0,
        batches_per_s: Some(112.4),
        tasks: counts(&[("cpu", 4_000_600), ("NVIDIA H100", 6_000_000)]),
        fallback_tasks: 600,
        quarantines: 1,
        latency: Some(Quantiles {
            p50_s: 0.001_2,
            p95_s: 0.001_4,
            p99_s: 0.002,
            batches: 6_700,
        }),
    };
    let stopped = OperationReading {
        name: "render::a_scene_with_a_name_that_is_longer_than_a_column".to_owned(),
        batches: 10,
        incomplete: 10,
        batches_per_s: Some(0.0),
        tasks: BTreeMap::new(),
        fallback_tasks: 0,
        quarantines: 0,
        latency: None,
    };
    let decision = DecisionFigures {
        ago_s: 0.008,
        text: "convolve: 1 000 tasks in 1.21 ms, hybrid:60/40; why: model, the split should \
               take 1.18 ms, 23 % less than the second best; predicted 1.18 ms"
            .to_owned(),
    };
    ProgramReading {
        pid,
        name: name.to_owned(),
        since_s: 432.0,
        batches_per_s: Some(112.4),
        stats,
        quarantines: counts(&[("NVIDIA H100", 1)]),
        operations: vec![convolve, stopped],
        decisions: vec![decision.clone(), decision.clone(), decision],
    }
}

/// Two programs, and one that hangs.
pub(crate) fn programs() -> ProgramsReading {
    ProgramsReading {
        programs: vec![program(4242, "simulate"), program(4243, "python3.13")],
        left_out: vec![UnreadProgram {
            pid: 4244,
            why: "it did not answer within 250 ms: it hangs or is stopped".to_owned(),
        }],
        beyond: 0,
    }
}
