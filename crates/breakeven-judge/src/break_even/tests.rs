use std::cell::{Cell, RefCell};
use std::time::Duration;

use breakeven_profile::profile::Failure;

use super::*;

/// Times at a size: the device has a launch and is faster per element.
fn curve(size: f64) -> (f64, f64) {
    (20_000.0 + 0.1 * size, 500.0 + size)
}

/// The same with noise that repeats: ± a few percent a round.
fn times(sizes: &[u64], rounds: usize, noise: f64) -> Vec<SizeTimes> {
    let at = |size: &u64| {
        let size = *size as f64;
        let (device, over) = curve(size);
        let wave = |round: usize, shift: f64| {
            let angle = round as f64 * 2.4 + size.ln() * 3.0 + shift;
            1.0 + noise * angle.sin()
        };
        SizeTimes {
            size,
            device_ns: (0..rounds).map(|round| device * wave(round, 0.0)).collect(),
            over_ns: (0..rounds).map(|round| over * wave(round, 1.0)).collect(),
        }
    };
    sizes.iter().map(at).collect()
}

/// 20 000 + 0.1 n = 500 + n.
const TRUTH: f64 = 19_500.0 / 0.9;

#[test]
fn a_break_even_is_found_and_narrowed() {
    let mut sizes = coarse_sizes(64, 1 << 20);
    let coarse = break_even(&times(&sizes, 5, 0.02));
    let more = refined_sizes(&times(&sizes, 5, 0.02));
    let is_near = |size: &u64| (10_000..40_000).contains(size);
    assert!(more.iter().any(is_near), "{more:?}");
    sizes.extend(&more);
    let fine = break_even(&times(&sizes, 5, 0.02));
    let width = |found: BreakEven| match found {
        BreakEven::From {
            interval: [low, high],
            size,
        } => {
            let is_inside = |size: f64| low <= size && size <= high;
            assert!(is_inside(TRUTH) && is_inside(size), "{found:?}");
            high / low
        }
        found => panic!("{found:?}"),
    };
    let (fine, coarse) = (width(fine), width(coarse));
    assert!(fine < 1.05 && fine < coarse, "{fine} {coarse}");
    // Nothing is added twice.
    assert!(refined_sizes(&times(&sizes, 5, 0.02)).len() <= more.len() / 2);
}

#[test]
fn never_always_and_unclear_are_distinguished() {
    let small = break_even(&times(&coarse_sizes(64, 4096), 5, 0.02));
    assert_eq!(small, BreakEven::Never { tried_to: 4096.0 });
    let large = break_even(&times(&coarse_sizes(1 << 17, 1 << 20), 5, 0.02));
    assert_eq!(
        large,
        BreakEven::Always {
            tried_from: 131_072.0
        }
    );
    let few = break_even(&times(&coarse_sizes(64, 1 << 20), 2, 0.02));
    assert_eq!(few, BreakEven::Unclear { not_before: None });
    assert_eq!(break_even(&[]), BreakEven::Unclear { not_before: None });
    // Just beyond the break-even nothing is certain with that noise.
    let near = break_even(&times(&[64, 4096, 22_000], 5, 0.2));
    assert_eq!(
        near,
        BreakEven::Unclear {
            not_before: Some(4096.0)
        }
    );
}

#[test]
fn a_device_that_pays_in_the_middle_only_is_reported_so() {
    // Its memory ends at half a million elements.
    let mut times = times(&coarse_sizes(64, 1 << 20), 5, 0.02);
    for beyond in times.iter_mut().filter(|times| times.size > 500_000.0) {
        beyond.device_ns.iter_mut().for_each(|ns| *ns *= 50.0);
    }
    let found = break_even(&times);
    assert_eq!(
        found,
        BreakEven::Within {
            smallest: 32_768.0,
            largest: 262_144.0
        }
    );
    assert_eq!(found.evidence("f", "gpu", "cpu", 1e6), None);
    assert_eq!(refined_sizes(&times), [0; 0]);
}

#[test]
fn no_size_outside_of_the_range_is_added() {
    let sizes = coarse_sizes(16_000, 1 << 20);
    let added = refined_sizes(&times(&sizes, 5, 0.02));
    assert!(!added.is_empty());
    assert!(added.iter().all(|size| *size >= 16_000), "{added:?}");
}

#[test]
fn what_is_no_time_is_left_out() {
    let mut times = times(&coarse_sizes(64, 4096), 5, 0.0);
    times[2].device_ns[1] = 0.0;
    times[3].over_ns[0] = f64::NAN;
    times.push(SizeTimes {
        size: f64::NAN,
        device_ns: vec![1.0; 5],
        over_ns: vec![1.0; 5],
    });
    assert_eq!(break_even(&times), BreakEven::Never { tried_to: 4096.0 });
}

#[test]
fn sizes_to_begin_with_cover_the_range() {
    assert_eq!(coarse_sizes(3, 20), [3, 6, 12, 20]);
    assert_eq!(coarse_sizes(8, 8), [8]);
    assert_eq!(coarse_sizes(9, 8), [0; 0]);
    assert_eq!(coarse_sizes(0, 2), [1, 2]);
}

/// A sweep on a clock of its own, of `curve` in ms per 1 000 ns; what ran, in order.
fn simulated(
    sizes: &[u64],
    limit_s: u64,
    mut run: impl FnMut(Side, u64) -> Result<f64, Missed>,
) -> (Swept, Vec<(Side, u64)>, f64) {
    let (clock, ran) = (Cell::new(0.0), RefCell::new(Vec::new()));
    let swept = Sweep::new("pair", sizes.iter().copied())
        .time_limit(Duration::from_secs(limit_s))
        .run(
            || Duration::from_secs_f64(clock.get()),
            |side, size| {
                ran.borrow_mut().push((side, size));
                let ns = run(side, size)?;
                clock.set(clock.get() + ns / 1e9);
                Ok(ns)
            },
        );
    (swept, ran.take(), clock.get())
}

/// The time of a side, ns: 1 000 times as long as that of `curve`.
fn side_ns(side: Side, size: u64) -> f64 {
    let (device, over) = curve(size as f64);
    1_000.0 * if side == Side::Gpu { device } else { over }
}

#[test]
fn a_sweep_finds_the_break_even_and_measures_most_around_it() {
    let sizes = coarse_sizes(64, 1 << 20);
    let (swept, _, took) = simulated(&sizes, 1_000, |side, size| Ok(side_ns(side, size)));
    let found = swept.break_even().unwrap();
    assert!(
        matches!(found, BreakEven::From { interval: [low, high], .. }
        if low <= TRUTH && TRUTH <= high && high / low < 1.1)
    );
    let rounds = |point: &Point| point.times[0].rounds_ns.len();
    let near = |point: &&Point| (15_000..32_000).contains(&point.value);
    assert!(swept.points.iter().filter(near).count() >= 4);
    assert!(
        swept
            .points
            .iter()
            .filter(near)
            .all(|near| rounds(near) >= 10)
    );
    assert!(swept.points.iter().all(|point| rounds(point) >= 3));
    assert!(took < 1_000.0 && swept.not_measured.is_empty());
    let evidence = &swept.profile().evidence.break_even[0];
    assert_eq!((&*evidence.device, &*evidence.over), ("gpu", "cpu"));
    assert!(
        swept.to_string().contains("gpu pays from size 21 "),
        "{swept}"
    );
}

#[test]
fn a_sweep_begins_no_run_that_would_exceed_its_limit() {
    let sizes = coarse_sizes(64, 1 << 24);
    for limit in [1, 5, 20, 100] {
        let (swept, ran, took) = simulated(&sizes, limit, |side, size| Ok(side_ns(side, size)));
        assert!(took <= limit as f64 + 0.1, "{took} of {limit} s");
        assert!(swept.not_measured.ends_with(&[1 << 24]));
        let longest = ran.iter().map(|(_, size)| *size).max();
        assert!(longest < swept.not_measured.first().copied(), "{swept}");
        assert!(swept.to_string().contains("not measured, for lack of time"));
    }
    let (swept, ran, _) = simulated(&sizes, 0, |side, size| Ok(side_ns(side, size)));
    assert_eq!((swept.points.len(), ran.len()), (0, 2), "it warms up");
}

#[test]
fn a_run_that_fails_is_no_time_and_is_not_repeated() {
    let failure = Failure {
        kind: "out of memory".to_owned(),
        message: "no 8 GB".to_owned(),
    };
    let sizes = coarse_sizes(1 << 12, 1 << 20);
    let (swept, ran, _) = simulated(&sizes, 100, |side, size| match side {
        Side::Gpu if size > 500_000 => Err(Missed::Failed(failure.clone())),
        _ => Ok(side_ns(side, size)),
    });
    assert!(swept.has_failed());
    assert!(matches!(swept.break_even(), Some(BreakEven::From { .. })));
    let failed = &swept.points.last().unwrap().times[1];
    assert_eq!((failed.median_ns, &failed.failure), (None, &Some(failure)));
    assert_eq!(ran.iter().filter(|(_, size)| *size == 1 << 20).count(), 2);
    assert!(
        swept
            .to_string()
            .contains("gpu failed at size 1 048 576: out of memory: no 8 GB")
    );
}

#[test]
fn a_sweep_that_is_ended_keeps_its_times() {
    for end in [0, 1, 2, 3, 10, 60] {
        let mut runs = 0;
        let (swept, ran, _) = simulated(&coarse_sizes(64, 1 << 20), 1_000, |side, size| {
            runs += 1;
            if runs > end {
                return Err(Missed::Ended);
            }
            Ok(side_ns(side, size))
        });
        assert_eq!(ran.len(), end + 1);
        let times = swept
            .points
            .iter()
            .map(|point| point.times[0].rounds_ns.len());
        // Without the two that warm up, in pairs.
        assert_eq!(times.sum::<usize>(), end.saturating_sub(2) / 2, "{swept}");
    }
}

#[test]
fn closures_are_called_until_the_clock_can_time_them() {
    let mut made = Vec::new();
    let make = |size: u64| {
        made.push(size);
        size
    };
    let swept = Sweep::new("nothing", [8, 4, 8, 0])
        .rounds(3)
        .time_limit(Duration::from_secs(60))
        .closures(make, |size| size + 1, |size| size * 2);
    assert_eq!(made, [4, 8]);
    for point in &swept.points {
        let each = point.times.iter().flat_map(|time| &time.rounds_ns);
        assert!(each.clone().count() >= 6 && each.clone().all(|ns| *ns > 0.0 && *ns < 1e6));
    }
}

#[test]
fn a_constant_has_as_few_digits_as_its_interval_permits() {
    let from = |size, interval| BreakEven::From { size, interval };
    assert_eq!(from(48_213.4, [45e3, 52e3]).constant(), Some(48e3));
    assert_eq!(
        from(48_213.4, [48_190.0, 48_300.0]).constant(),
        Some(48_200.0)
    );
    assert_eq!(from(5.4, [5.2, 5.6]).constant(), Some(5.0));
    assert_eq!(BreakEven::Always { tried_from: 64.0 }.constant(), Some(0.0));
    assert_eq!(
        BreakEven::Never { tried_to: 64.0 }.constant(),
        Some(f64::INFINITY)
    );
    assert_eq!(
        BreakEven::Unclear {
            not_before: Some(4.0)
        }
        .constant(),
        None
    );
}

#[test]
fn a_constant_is_stale_if_the_times_exclude_it() {
    let never = f64::INFINITY;
    let from = BreakEven::From {
        size: 5.4,
        interval: [5.2, 5.6],
    };
    assert_eq!(
        [4.0, 5.0, 6.0, never].map(|at| from.admits(at)),
        [false, true, true, false].map(Some)
    );
    let always = BreakEven::Always { tried_from: 64.0 };
    assert_eq!(
        [0.0, 64.0, 65.0].map(|at| always.admits(at)),
        [true, true, false].map(Some)
    );
    let none = BreakEven::Never { tried_to: 64.0 };
    let admitted = [64.0, 65.0, never].map(|at| none.admits(at));
    assert_eq!(admitted, [Some(false), None, Some(true)]);
    let middle = BreakEven::Within {
        smallest: 8.0,
        largest: 32.0,
    };
    assert_eq!([8.0, 33.0].map(|at| middle.admits(at)), [Some(false), None]);
    let unclear = BreakEven::Unclear {
        not_before: Some(64.0),
    };
    assert_eq!(
        [64.0, 65.0].map(|at| unclear.admits(at)),
        [Some(false), None]
    );
}
