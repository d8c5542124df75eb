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
