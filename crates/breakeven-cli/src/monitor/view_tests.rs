//! The view as it is drawn, at the size of a small and of a large terminal.

use std::time::Duration;

use breakeven::hardware::Fact;
use breakeven::hardware::sensors::{GpuState, Reading};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::view::{Choices, draw};
use crate::engine::programs::ProgramsReading;
use crate::monitor::page::Load;
use crate::monitor::page::tests::made_up::{core, gpu, nothing, programs, reading};

fn drawn(width: u16, height: u16, load: &Load) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it cannot fail");
    let mut choices = Choices::default();
    let drawn = terminal.draw(|frame| draw(load, &mut choices, frame));
    drawn.expect("it cannot fail");
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(width));
    let text = rows.map(|row| {
        let row: String = row.iter().map(|cell| cell.symbol()).collect();
        row.trim_end().to_owned() + "\n"
    });
    text.collect()
}

/// What is drawn of some readings, at both sizes.
fn at_both_sizes(readings: &[(Reading, ProgramsReading)]) -> String {
    attached(None, readings)
}

fn attached(pid: Option<u32>, readings: &[(Reading, ProgramsReading)]) -> String {
    let machine = "Made-up 9000, 4 cores".to_owned();
    let mut load = Load::new(machine, Duration::from_secs(1), pid);
    for (reading, programs) in readings {
        load.take(reading.clone(), programs.clone());
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
fn the_program_that_is_attached_to() {
    let mut only = programs();
    only.left_out.clear();
    only.programs.truncate(1);
    insta::assert_snapshot!(attached(Some(4242), &[(nothing(), only)]));
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
    let load = Load::new("a".to_owned(), Duration::from_secs(1), None);
    assert!(drawn(39, 24, &load).starts_with("needs 40 × 8\n"));
    assert!(drawn(40, 7, &load).starts_with("needs 40 × 8\n"));
}
