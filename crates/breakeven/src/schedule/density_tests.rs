//! Where a batch's work lies.

use super::density::Density;
use crate::plan::{PLACES, Shape, Tuning};

#[test]
fn places_that_were_not_seen_are_between_those_that_were() {
    let mut density = Density::new(320, None, None, PLACES, Tuning::USUAL);
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
    assert!(half > 200, "the second half is dearer: {half}");
}

#[test]
fn a_launch_tells_of_places_where_no_worker_was() {
    let mut density = Density::new(320, Some(10.0), None, PLACES, Tuning::USUAL);
    let _ = density.observe(0..5, 50.0);
    density.correct(0..160, 16_000.0);
    assert!((density.work(0..5) - 50.0).abs() < 30.0);
    let work = density.work(100..101);
    assert!((work - 100.0).abs() < 20.0, "{work}");
    let even = Density::new(2, None, None, PLACES, Tuning::USUAL);
    assert_eq!((even.work(0..2), even.expected(0..1)), (2.0, 1.0));
}

#[test]
fn a_place_between_cheap_and_dear_ones_has_an_edge_that_moves_to_where_it_is() {
    // The last quarter of place 15 is nine times as dear, as is all behind it.
    let mut places = [1.0; PLACES];
    places[15] = 3.0;
    places[16..].fill(9.0);
    let shape = Shape {
        places,
        spread: 0.0,
        tail: 0.0,
    };
    let mut density = Density::new(3_200, Some(10.0), Some(&shape), PLACES, Tuning::USUAL);
    let all = density.work(1_500..1_600);
    density.find_edges();
    assert!((density.work(1_500..1_600) - all).abs() < 1e-6 * all);
    let of = |density: &Density, task: usize| density.work(task..task + 1) / 10.0;
    assert!((of(&density, 1_574) - 1.0).abs() < 0.01);
    assert!((of(&density, 1_575) - 9.0).abs() < 0.01);
    assert_eq!(density.tasks_of_end(1_500..1_576, 100.0), 2);
    // Two tasks before it turn out to be dear.
    let _ = density.observe(1_560..1_562, 180.0);
    assert!(of(&density, 1_559) < 2.0 && of(&density, 1_561) > 5.0);
    // Of few tasks a place tells nothing of that.
    let mut few = Density::new(100, Some(10.0), Some(&shape), PLACES, Tuning::USUAL);
    few.find_edges();
    assert_eq!(few.work(47..48), few.work(49..50));
}
