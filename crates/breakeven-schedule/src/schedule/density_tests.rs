//! Where a batch's work lies.

use super::density::Density;
use crate::plan::PLACES;

#[test]
fn places_that_were_not_seen_are_between_those_that_were() {
    let mut density = Density::new(320, None, None, PLACES);
    assert!(!density.is_known());
    assert_eq!(density.work(0..320), 320.0);
    let unit = density.observe(0..5, 50.0).expect("the unit changes once");
    assert!((unit - 10.0).abs() < 1e-9);
    assert_eq!(density.observe(310..320, 1e6), None);
    let [first, middle, last] = [0..10, 150..160, 310..320].map(|range| density.work(range));
    assert!(first < middle && middle < last, "{first} {middle} {last}");
    assert_eq!(density.tasks_of(0..320, 0.0), 1);
    let all = density.work(0..320);
    assert_eq!(density.tasks_of(0..320, 2.0 * all), 320);
    assert_eq!(density.tasks_of_end(0..320, 2.0 * all), 320);
    let half = density.tasks_of(0..320, 0.5 * all);
    assert!(half > 200, "the second half costs more: {half}");
}

#[test]
fn a_launch_shows_places_where_no_worker_was() {
    let mut density = Density::new(320, Some(10.0), None, PLACES);
    let _ = density.observe(0..5, 50.0);
    density.correct(0..160, 16_000.0);
    // The worker's place keeps what the worker measured.
    assert!(density.work(0..5) < 0.5 * density.work(100..105));
    let work = density.work(100..101);
    assert!((work - 100.0).abs() < 20.0, "{work}");
    let even = Density::new(2, None, None, PLACES);
    assert_eq!((even.work(0..2), even.expected(0..1)), (2.0, 1.0));
}
