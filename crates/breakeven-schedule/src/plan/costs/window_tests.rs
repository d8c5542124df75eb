//! Which observations are kept.

use super::window::{Kind, ObservationRecord, Window};
use crate::plan::Tuning;

fn launch(number: u32, tasks: u64, ns: u64) -> ObservationRecord {
    ObservationRecord {
        at_us: u64::from(number),
        writer: 0,
        number,
        recalled: false,
        tasks,
        ns,
        workers: 1,
        transfer_ns: None,
        shared: false,
    }
}

/// A launch of ten tasks in `ns`, then many of a hundred in 2 ms.
fn after_a_small_one(ns: u64) -> Window {
    let mut window = Window::new(Kind::Gpu, Tuning::USUAL);
    window.push(launch(0, 10, ns), false);
    for number in 1..60 {
        window.push(launch(number, 100, 2_000_000), false);
    }
    window
}

#[test]
fn what_alone_shows_a_launchs_cost_stays_when_it_is_old() {
    let window = after_a_small_one(1_100_000);
    assert_eq!(window.records.len(), 16);
    let cost = window.cost(1).expect("it was observed");
    assert!(cost.is_fixed_known(), "{cost:?}");
    assert!((cost.fixed_ns / 1e6 - 1.0).abs() < 0.01, "{cost:?}");
    // What two processes know, through the file.
    let mut joined = after_a_small_one(1_100_000);
    joined.join(window.clone());
    assert_eq!(joined.cost(1).map(|cost| cost.fewest), Some(10));
    // Newer ones of other sizes take its place.
    let mut window = window;
    for number in 60..80 {
        window.push(
            launch(number, 40 + 60 * u64::from(number % 2), 2_000_000),
            false,
        );
    }
    assert!(window.cost(1).is_some_and(|cost| cost.fewest > 10));
}

#[test]
fn a_first_launch_that_compiled_a_kernel_goes() {
    let window = after_a_small_one(300_000_000);
    let cost = window.cost(1).expect("it was observed");
    assert!(!cost.is_fixed_known(), "{cost:?}");
}
