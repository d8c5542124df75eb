//! What a scrape is answered with, for machines that are made up.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use breakeven::hardware::Fact;
use breakeven::hardware::sensors::{
    CpuReading, EnergyCounter, EnergyDomain, EnergyMethod, EnergyUnknown, GpuProcess, GpuState,
    Reading,
};

use super::*;
use crate::engine::programs::ProgramsReading;
use crate::monitor::page::tests::made_up::{core, gpu, program, programs, reading};

fn own() -> Own {
    Own {
        read_at: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250),
        uptime: Duration::from_secs(90),
        memory_bytes: Some(9 << 20),
    }
}

fn none() -> ProgramsReading {
    ProgramsReading::default()
}

fn counted(domain: EnergyDomain, method: EnergyMethod, joules: f64) -> EnergyCounter {
    EnergyCounter {
        domain,
        joules: Ok(joules),
        method,
        covers: "packages",
    }
}
/// A machine of which everything is known.
fn whole() -> String {
    let mut silent = gpu("0000:c1:00.0", "second");
    silent.state = GpuState::Silent { seconds: 12.0 };
    let mut reading = reading(vec![gpu("0000:01:00.0", "first"), silent]);
    reading.nvml_silent_s = Some(12.0);
    let energy = [counted(EnergyDomain::Cpu, EnergyMethod::Rapl, 1234.5)];
    text(&families(
        "a processor",
        &reading,
        &energy,
        &programs(),
        own(),
    ))
}

/// The page without the version, which changes.
fn page() -> String {
    whole().replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

#[test]
fn everything_known_as_openmetrics() {
    insta::assert_snapshot!(page());
}

#[test]
fn what_is_unknown_is_absent() {
    let nothing = Reading {
        at: Instant::now(),
        cpu: CpuReading {
            cores: vec![core(0, Fact::Unknown)],
            ..CpuReading::default()
        },
        gpus: vec![],
        nvml_silent_s: None,
    };
    let unknown = EnergyCounter {
        domain: EnergyDomain::Cpu,
        joules: Err(EnergyUnknown::NoCounter),
        method: EnergyMethod::Rapl,
        covers: "packages",
    };
    let own = Own {
        memory_bytes: None,
        ..own()
    };
    let page = text(&families("a", &nothing, &[unknown], &none(), own));
    let names: BTreeSet<&str> = page
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    let known = [
        "breakeven_build_info",
        "breakeven_reading_timestamp_seconds",
        "process_uptime_seconds",
        "system_cpu_frequency_hertz",
    ];
    assert_eq!(names, BTreeSet::from(known), "{page}");
}

#[test]
fn a_figure_that_is_no_number_is_absent() {
    let mut gpu = gpu("0000:01:00.0", "one");
    gpu.power_watts = Fact::Known(f64::NAN);
    gpu.clock_hz = Fact::Known(f64::INFINITY);
    let page = text(&families("a", &reading(vec![gpu]), &[], &none(), own()));
    assert!(!page.contains(" NaN") && !page.contains(" inf"), "{page}");
    assert!(!page.contains("hw_power_watts{hw_id=\"0000"), "{page}");
}

#[test]
fn power_summed_up_is_energy_where_the_driver_has_no_counter() {
    let pci = || "0000:03:00.0".to_owned();
    let joules = |driver: Fact<f64>, method| {
        let mut gpu = gpu(&pci(), "one");
        gpu.energy_joules = driver;
        let counter = counted(EnergyDomain::Gpu { pci: pci() }, method, 7.5);
        let page = text(&families(
            "a",
            &reading(vec![gpu]),
            &[counter],
            &none(),
            own(),
        ));
        let line = page.lines().find(|line| line.starts_with("hw_energy"));
        line.and_then(|line| line.rsplit(' ').next())
            .map(str::to_owned)
    };
    let is = |text: &str| Some(text.to_owned());
    assert_eq!(joules(Fact::Unknown, EnergyMethod::Power), is("7.5"));
    assert_eq!(joules(Fact::Known(9.0), EnergyMethod::Counter), is("9"));
    // Its counter has a pause: the meter's, which began elsewhere, would be a jump.
    assert_eq!(joules(Fact::Unknown, EnergyMethod::Counter), None);
}

#[test]
fn labels_cannot_leave_their_quotes() {
    let nasty = "a\"} 1\nevil{x=\"\\\u{1}\t é";
    let mut one = gpu("0000:01:00.0", nasty);
    let process = GpuProcess {
        pid: 1,
        name: Fact::Known(nasty.to_owned()),
        memory_bytes: Fact::Known(1),
    };
    // The same process twice would be the same sample twice.
    one.processes = Fact::Known(vec![process.clone(), process]);
    let mut named = program(7, nasty);
    named.operations[0].name = nasty.to_owned();
    // The same program twice would be the same samples twice.
    let programs = ProgramsReading {
        programs: vec![named.clone(), named],
        ..none()
    };
    let families = families(nasty, &reading(vec![one]), &[], &programs, own());
    let page = text(&families);
    assert!(page.contains(r#"hw_name="a\"} 1\nevil{x=\"\\"#), "{page}");
    assert!(!page.lines().any(|line| line.starts_with("evil")), "{page}");
    let of_processes = |line: &&str| line.starts_with("breakeven_gpu_process");
    assert_eq!(page.lines().filter(of_processes).count(), 1, "{page}");
}

#[test]
fn a_crowd_of_programs_has_a_bounded_number_of_series() {
    let crowd = ProgramsReading {
        programs: (1..=100).map(|pid| program(pid, "one")).collect(),
        ..none()
    };
    let page = text(&families("a", &reading(vec![]), &[], &crowd, own()));
    let of_fallback = "breakeven_program_fallback_tasks_total{";
    let series = page.lines().filter(|line| line.starts_with(of_fallback));
    assert_eq!(series.count(), 32 * 2);
}

#[test]
fn gpus_without_an_address_are_distinguished() {
    let mut gpus = vec![gpu("a", "one"), gpu("b", "two")];
    for gpu in &mut gpus {
        gpu.load.pci = Fact::Unknown;
    }
    let page = text(&families("a", &reading(gpus), &[], &none(), own()));
    for id in ["gpu0", "gpu1"] {
        assert!(
            page.contains(&format!("hw_power_watts{{hw_id=\"{id}\"")),
            "{page}"
        );
    }
}

#[test]
fn every_metric_is_served() {
    let page = whole();
    for metric in ALL {
        assert!(!metric.help.contains(['\n', '"', '\\']), "{metric:?}");
        let in_page = format!("# HELP {} ", metric.family());
        assert!(page.contains(&in_page), "{metric:?} is never served");
    }
}
