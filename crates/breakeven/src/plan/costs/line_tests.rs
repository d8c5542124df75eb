//! What the line must do, whatever the observations.

use super::line::{Line, Point, WINDOW, robust_line};

fn points(sizes: &[f64], time: impl Fn(usize, f64) -> f64) -> Vec<Point> {
    let sizes = sizes.iter().enumerate();
    sizes
        .map(|(index, &size)| Point {
            size,
            time: time(index, size),
        })
        .collect()
}

fn at(line: Line, size: f64) -> f64 {
    line.fixed + line.slope * size
}

fn fit(points: &[Point]) -> Line {
    robust_line(points, 0.5).expect("there are points")
}

const SIZES: [f64; 10] = [
    100.0, 7_000.0, 300.0, 900.0, 20_000.0, 100.0, 3_000.0, 450.0, 12_000.0, 1_500.0,
];

fn truth(size: f64) -> f64 {
    250_000.0 + 90.0 * size
}

#[test]
fn without_noise_the_line_is_found() {
    let line = fit(&points(&SIZES, |_, size| truth(size)));
    assert!((line.fixed / 250_000.0 - 1.0).abs() < 1e-3, "{line:?}");
    assert!((line.slope / 90.0 - 1.0).abs() < 1e-3, "{line:?}");
}

#[test]
fn one_stray_does_not_move_the_line_wherever_it_is() {
    for stray in 0..SIZES.len() {
        for factor in [100.0, 0.01] {
            let seen = points(&SIZES, |index, size| {
                truth(size) * if index == stray { factor } else { 1.0 }
            });
            let line = fit(&seen);
            for size in SIZES {
                let off = at(line, size) / truth(size) - 1.0;
                assert!(off.abs() < 0.01, "{factor} at {stray}: {off} at {size}");
            }
        }
    }
}

#[test]
fn a_poisoned_first_run_is_forgotten_by_the_next() {
    for count in 1..=9 {
        let seen = points(&[1000.0; WINDOW][..=count], |index, size| {
            truth(size) * if index == 0 { 100.0 } else { 1.0 }
        });
        let off = at(fit(&seen), 1000.0) / truth(1000.0) - 1.0;
        assert!(off.abs() < 0.01, "{count} good ones: {off}");
    }
}

#[test]
fn a_change_of_pace_is_followed_within_the_window() {
    for (factor, within) in [(2.0, 9), (0.5, 6)] {
        let old = points(&[1000.0; WINDOW], |_, size| truth(size));
        let new = points(&[1000.0; WINDOW], |_, size| factor * truth(size));
        let followed = (1..=WINDOW).find(|&count| {
            let seen = [&old[count..], &new[..count]].concat();
            (at(fit(&seen), 1000.0) / (factor * truth(1000.0)) - 1.0).abs() < 0.05
        });
        assert!(
            followed.is_some_and(|count| count <= within),
            "{followed:?}"
        );
    }
}

#[test]
fn one_size_tells_no_share() {
    for share in [0.0, 0.5] {
        let line = robust_line(&points(&[40.0; 5], |_, _| 1000.0), share).expect("a line");
        assert!(
            (line.fixed - f64::from(share) * 1000.0).abs() < 1.0,
            "{line:?}"
        );
        assert!((at(line, 40.0) - 1000.0).abs() < 1.0, "{line:?}");
    }
}

#[test]
fn ticks() {
    use std::hint::black_box;
    use std::time::Instant;
    for sizes in [[1000.0; 16], std::array::from_fn(|i| SIZES[i % 10])] {
        let seen = points(&sizes, |i, size| {
            truth(size) * (1.0 + 0.01 * (i % 5) as f64)
        });
        let start = Instant::now();
        for _ in 0..100_000 {
            black_box(robust_line(black_box(&seen), 0.5));
        }
        println!("{:?} per fit", start.elapsed() / 100_000);
    }
}
