//! What a scrape is answered with, for machines that are made up.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use breakeven::hardware::sensors::{
    ClockLimit, CoreReading, CpuReading, EnergyCounter, EnergyDomain, EnergyMethod, EnergyUnknown,
    GpuProcess, GpuReading, GpuState, Reading, Source,
};
use breakeven::hardware::{Fact, GpuLoad};

use super::catalogue::ALL;
use super::documents_tests::promtool;
use super::name::{Kind, Metric, Unit};
use super::*;

fn gpu(pci: &str, name: &str) -> GpuReading {
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

fn core(number: u32, used: Fact<f64>) -> CoreReading {
    CoreReading {
        number,
        used,
        clock_hz: Fact::Known(3.1e9),
    }
}

fn reading(gpus: Vec<GpuReading>) -> Reading {
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

fn own() -> Own {
    Own {
        read_at: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250),
        uptime: Duration::from_secs(90),
        memory_bytes: Some(9 << 20),
    }
}

fn counted(domain: EnergyDomain, method: EnergyMethod, joules: f64) -> EnergyCounter {
    EnergyCounter {
        domain,
        joules: Ok(joules),
        method,
    }
}

/// A machine of which everything is known.
fn whole(format: Format) -> String {
    let mut silent = gpu("0000:c1:00.0", "second");
    silent.state = GpuState::Silent { seconds: 12.0 };
    let mut reading = reading(vec![gpu("0000:01:00.0", "first"), silent]);
    reading.nvml_silent_s = Some(12.0);
    let energy = [counted(EnergyDomain::Cpu, EnergyMethod::Rapl, 1234.5)];
    text(&families("a processor", &reading, &energy, own()), format)
}

/// The page without the version, which changes.
fn page(format: Format) -> String {
    whole(format).replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

#[test]
fn everything_known_as_openmetrics() {
    insta::assert_snapshot!(page(Format::OpenMetrics));
}

#[test]
fn the_older_format_has_the_same_samples() {
    let text = page(Format::Text);
    let samples = |page: &str| -> Vec<String> {
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(samples(&text), samples(&page(Format::OpenMetrics)));
    assert!(
        text.contains("# TYPE hw_energy_joules_total counter\n"),
        "{text}"
    );
    assert!(
        text.contains("# TYPE breakeven_build_info gauge\n"),
        "{text}"
    );
    assert!(
        !text.contains("# UNIT") && !text.contains("# EOF"),
        "{text}"
    );
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
    };
    let own = Own {
        memory_bytes: None,
        ..own()
    };
    let page = text(&families("a", &nothing, &[unknown], own), Format::Text);
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
    let page = text(
        &families("a", &reading(vec![gpu]), &[], own()),
        Format::Text,
    );
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
        let page = text(
            &families("a", &reading(vec![gpu]), &[counter], own()),
            Format::Text,
        );
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
    let families = families(nasty, &reading(vec![one]), &[], own());
    for format in [Format::Text, Format::OpenMetrics] {
        let page = text(&families, format);
        assert!(page.contains(r#"hw_name="a\"} 1\nevil{x=\"\\"#), "{page}");
        assert!(!page.lines().any(|line| line.starts_with("evil")), "{page}");
        let of_processes = |line: &&str| line.starts_with("breakeven_gpu_process");
        assert_eq!(page.lines().filter(of_processes).count(), 1, "{page}");
    }
    promtool(&["check", "metrics"], &text(&families, Format::Text));
}

#[test]
fn gpus_without_an_address_are_told_apart() {
    let mut gpus = vec![gpu("a", "one"), gpu("b", "two")];
    for gpu in &mut gpus {
        gpu.load.pci = Fact::Unknown;
    }
    let page = text(&families("a", &reading(gpus), &[], own()), Format::Text);
    for id in ["gpu0", "gpu1"] {
        assert!(
            page.contains(&format!("hw_power_watts{{hw_id=\"{id}\"")),
            "{page}"
        );
    }
}

#[test]
fn names_follow_opentelemetrys_rules() {
    let metric = |name, kind, unit| Metric {
        name,
        kind,
        unit,
        help: "",
    };
    let cases = [
        (
            "hw.energy",
            Kind::Counter,
            Unit::Joules,
            "hw_energy_joules_total",
        ),
        (
            "hw.gpu.utilization",
            Kind::Gauge,
            Unit::One,
            "hw_gpu_utilization_ratio",
        ),
        (
            "hw.gpu.memory.limit",
            Kind::Sum,
            Unit::Bytes,
            "hw_gpu_memory_limit_bytes",
        ),
        ("hw.status", Kind::Sum, Unit::One, "hw_status"),
        ("hw.errors", Kind::Counter, Unit::One, "hw_errors_total"),
        ("a-b.seconds", Kind::Gauge, Unit::Seconds, "a_b_seconds"),
        ("a.build", Kind::Info, Unit::One, "a_build_info"),
    ];
    for (name, kind, unit, expected) in cases {
        assert_eq!(metric(name, kind, unit).sample(), expected);
    }
    for metric in ALL {
        assert!(!metric.help.contains(['\n', '"', '\\']), "{metric:?}");
        let in_page = format!("# HELP {} ", metric.family());
        assert!(
            whole(Format::OpenMetrics).contains(&in_page),
            "{metric:?} is never served"
        );
    }
}

#[test]
fn openmetrics_is_for_those_who_ask() {
    let prometheus = "application/openmetrics-text;version=1.0.0,\
        application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    let cases = [
        (prometheus, Format::OpenMetrics),
        ("application/openmetrics-text", Format::OpenMetrics),
        (
            "text/plain, application/openmetrics-text; q=0.5",
            Format::Text,
        ),
        ("application/openmetrics-text;q=0", Format::Text),
        ("application/openmetrics-text;q=nonsense", Format::Text),
        ("text/html,*/*", Format::Text),
        ("", Format::Text),
    ];
    for (accept, format) in cases {
        assert_eq!(Format::accepted(accept), format, "{accept}");
    }
}

#[test]
fn promtool_finds_nothing() {
    promtool(&["check", "metrics"], &whole(Format::Text));
}
