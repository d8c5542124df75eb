//! The view as it is drawn, at the size of a small and of a large terminal.

use std::time::Duration;

use breakeven::hardware::Fact;
use breakeven::hardware::sensors::{GpuState, Reading};

use super::page::Load;
use super::page::tests::made_up::{core, gpu, nothing, programs, reading};
use super::view::frame;
use crate::engine::programs::ProgramsReading;

fn drawn(width: usize, height: usize, load: &Load) -> String {
    let lines = frame(load, (width, height)).expect("it cannot fail");
    let plain = |line: &String| anstream::adapter::strip_str(line).to_string() + "\n";
    lines.iter().map(plain).collect()
}

/// What is drawn of some readings, at both sizes.
fn at_both_sizes(readings: &[(Reading, ProgramsReading)]) -> String {
    let machine = "Made-up 9000, 4 cores".to_owned();
    let mut load = Load::new(machine, Duration::from_secs(1));
    for (reading, programs) in readings {
        load.take((reading.clone(), programs.clone()));
    }
    drawn(80, 24, &load) + "=\n" + &drawn(200, 60, &load)
}

#[test]
fn all_sensors_and_programs() {
    let mut machine = reading(vec![
        gpu("0000:01:00.0", "Made-up A"),
        gpu("0000:41:00.0", "B"),
    ]);
    let more = [2, 3].map(|number| core(number, Fact::Known(0.25)));
    machine.cpu.cores.extend(more);
    let mut before = machine.clone();
    before.cpu.used = Fact::Known(0.25);
    before.gpus[0].load.gpu_use = Fact::Known(0.1);
    let readings = [(before, programs()), (machine, programs())];
    insta::assert_snapshot!(at_both_sizes(&readings));
}

#[test]
fn no_sensor_and_no_program() {
    insta::assert_snapshot!(at_both_sizes(&[(nothing(), ProgramsReading::default())]));
}

#[test]
fn a_card_that_was_lost_and_one_that_is_silent() {
    let mut lost = gpu("0000:01:00.0", "Made-up A");
    lost.state = GpuState::Lost;
    let mut silent = gpu("0000:41:00.0", "Made-up B");
    silent.state = GpuState::Silent { seconds: 12.0 };
    let mut machine = reading(vec![lost, silent]);
    machine.nvml_silent_s = Some(12.0);
    insta::assert_snapshot!(at_both_sizes(&[(machine, ProgramsReading::default())]));
}

#[test]
fn a_terminal_that_is_too_small_says_so() {
    let load = Load::new("a".to_owned(), Duration::from_secs(1));
    assert!(drawn(39, 24, &load).starts_with("needs 40 × 8\n"));
    assert!(drawn(40, 7, &load).starts_with("needs 40 × 8\n"));
}
