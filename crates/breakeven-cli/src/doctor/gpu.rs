//! Findings on GPUs: throttled clocks, other users, unlocked clocks.

use breakeven_machine::Fact;
use breakeven_machine::sensors::{ClockLimit, GpuReading, GpuState, Source};
use breakeven_profile::unit::percent;

use super::facts::Facts;
use super::finding::{Finding, Remedy, Standing, Subject};

/// Use by other programs from which a GPU counts as busy, a fraction of its time.
const BUSY: f64 = 0.02;

/// Checks GPUs: throttled clocks, other users, unlocked clocks.
pub(crate) fn gpus(facts: &Facts) -> Vec<Finding> {
    facts.gpus.iter().flat_map(|gpu| of(gpu, facts)).collect()
}

fn of(gpu: &GpuReading, facts: &Facts) -> Vec<Finding> {
    let name = format!("{} ({})", gpu.load.name, gpu.load.pci);
    let new = |standing, seen: String| {
        Finding::new(Subject::Gpu, standing, format!("{name}: {seen}")).from(gpu.source.name())
    };
    match gpu.state {
        GpuState::Current => {}
        GpuState::Silent { seconds } => {
            return vec![
                new(
                    Standing::Bad,
                    format!("its driver has not answered for {seconds:.0} s"),
                )
                .does("work on it may hang")
                .change(Remedy::act(
                    "look into the kernel's log; restart the driver",
                )),
            ];
        }
        GpuState::Lost => {
            return vec![
                new(
                    Standing::Bad,
                    "its driver cannot reach it any more".to_owned(),
                )
                .does("work on it fails")
                .change(Remedy::act(
                    "look into the kernel's log; restart the machine",
                )),
            ];
        }
    }
    let mut findings = Vec::new();
    findings.push(match &gpu.limits {
        Fact::Unknown => new(
            Standing::Unknown,
            "the driver does not report why its clocks are lowered".into(),
        ),
        Fact::Known(limits) => clocks(limits, gpu, facts, &new),
    });
    if let Fact::Known(used) = gpu.load.gpu_use
        && used >= BUSY
    {
        let by: Vec<String> = gpu
            .processes
            .known()
            .into_iter()
            .flatten()
            .map(|process| format!("{} ({})", process.name, process.pid))
            .collect();
        let by = match by.is_empty() {
            true => String::new(),
            false => format!(" by {}", by.join(", ")),
        };
        let seen = format!("in use for {} of its time{by}", percent(used));
        findings.push(
            new(Standing::Bad, seen)
                .does("other programs use its time, its memory and the link to it")
                .change(Remedy::act("stop them, or measure on another GPU")),
        );
    }
    findings
}

fn clocks(
    limits: &[ClockLimit],
    gpu: &GpuReading,
    facts: &Facts,
    new: &dyn Fn(Standing, String) -> Finding,
) -> Finding {
    let slowing: Vec<&str> = limits
        .iter()
        .filter(|limit| limit.slows() && **limit != ClockLimit::Setting)
        .map(|limit| limit.name())
        .collect();
    if !slowing.is_empty() {
        return new(Standing::Bad, format!("slowed by {}", slowing.join(", ")))
            .does("the longer it works, the slower it is")
            .change(Remedy::act(
                "let it cool down, or lock a lower clock that it can hold",
            ));
    }
    if limits.contains(&ClockLimit::Setting) {
        return new(Standing::Good, "a setting fixes its clock".to_owned());
    }
    let seen = "no setting that fixes its clock was found".to_owned();
    let finding = new(Standing::Doubtful, seen)
        .does("its clock follows load, heat and power: the first launches and long work differ");
    let sudo = facts.sudo();
    let pci = gpu.load.pci.known();
    match (gpu.source, pci) {
        // The base clock, which a GPU sustains within its power limit (NVIDIA's documentation of
        // CUPTI).
        (Source::Nvml, Some(pci)) => {
            let smi = format!("{sudo}nvidia-smi --id={pci}");
            finding.change(Remedy::Command {
                command: format!("{smi} --persistence-mode=1 && {smi} --lock-gpu-clocks=tdp,tdp"),
                undo: Some(format!(
                    "{smi} --reset-gpu-clocks && {smi} --persistence-mode=0"
                )),
            })
        }
        (Source::Amdgpu, Some(pci)) => {
            let file = format!("/sys/bus/pci/devices/{pci}/power_dpm_force_performance_level");
            let tee = format!("{sudo}tee {file}");
            finding.change(Remedy::Command {
                command: format!("echo profile_standard | {tee}"),
                undo: Some(format!("echo auto | {tee}")),
            })
        }
        _ => finding,
    }
}
