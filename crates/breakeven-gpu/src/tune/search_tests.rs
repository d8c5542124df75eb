//! The search on candidates whose times are known.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Fate, Search};

const LONG: Duration = Duration::from_secs(60);

/// Times of candidates, with 5 % of noise and a stray now and then.
fn noisy(times: &[f64], seed: u64) -> impl FnMut(usize) -> Result<f64, String> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let times = times.to_vec();
    move |number| {
        let noise = 0.95 + 0.1 * random.random::<f64>();
        let stray = if random.random_bool(0.03) { 2.0 } else { 1.0 };
        Ok(times[number] * noise * stray)
    }
}

#[test]
fn the_fastest_is_found_and_a_tie_keeps_the_default() {
    for seed in 0..20 {
        let search = Search {
            seed,
            ..Search::new(LONG)
        };
        let mut times = vec![100.0; 24];
        times[17] = 80.0;
        let Ok(found) = search.run(24, noisy(&times, seed)) else {
            unreachable!()
        };
        assert_eq!(found.winner, 17);
        let gain = found.gain.expect("it won");
        assert!(
            gain.lower > 1.0 && (gain.ratio - 1.25).abs() < 0.05,
            "{gain:?}"
        );
        assert_eq!(found.trials[17].fate, Fate::Won);
        assert_eq!(found.trials[0].fate, Fate::Beaten);
        // The reported figures of the two agree with the decision.
        let [default, won] = [0, 17].map(|number: usize| found.trials[number].median_ns);
        let speed = default.zip(won).map(|(default, won)| default / won);
        assert!(speed.is_some_and(|speed| (speed / gain.ratio - 1.0).abs() < 0.03));
        assert_eq!(found.trials[0].samples, found.trials[17].samples);
        times[17] = 100.0;
        let Ok(found) = search.run(24, noisy(&times, seed)) else {
            unreachable!()
        };
        assert_eq!((found.winner, found.gain), (0, None));
    }
}

#[test]
fn what_is_hopeless_is_soon_dropped() {
    let found = Search::new(LONG).run(3, noisy(&[1.0, 50.0, 0.7], 1));
    let Ok(found) = found else { unreachable!() };
    assert_eq!(found.winner, 2);
    assert_eq!(
        (found.trials[1].samples, &found.trials[1].fate),
        (1, &Fate::Dropped(1))
    );
}

#[test]
fn one_stray_does_not_end_a_candidate() {
    let (mut times, mut calls) = (noisy(&[1.0, 0.9, 0.7], 1), 0);
    let found = Search::new(LONG).run(3, |number| {
        let ns = times(number)?;
        calls += usize::from(number == 2);
        // The one after the warm-up.
        Ok::<_, String>(if number == 2 && calls == 2 {
            10.0 * ns
        } else {
            ns
        })
    });
    let Ok(found) = found else { unreachable!() };
    assert_eq!((found.winner, &found.trials[2].fate), (2, &Fate::Won));
}

#[test]
fn a_candidate_that_fails_is_out_and_a_default_that_fails_ends_it() {
    let mut times = noisy(&[1.0, 0.5, 0.8], 1);
    let found = Search::new(LONG).run(3, |number| match number {
        1 => Err("no room".to_owned()),
        _ => times(number),
    });
    let Ok(found) = found else { unreachable!() };
    assert_eq!(found.winner, 2);
    assert_eq!(found.trials[1].fate, Fate::Failed("no room".to_owned()));
    // The device is lost while it is at candidate 1.
    let (mut calls, mut is_lost) = (0, false);
    let lost = Search::new(LONG).run(3, |number| {
        calls += 1;
        is_lost |= calls > 8 && number == 1;
        if is_lost { Err("lost") } else { Ok(1.0) }
    });
    assert_eq!(lost, Err("lost"));
}

#[test]
fn time_that_is_over_keeps_the_default_unless_another_is_surely_faster() {
    let Ok(found) = Search::new(Duration::ZERO).run(9, noisy(&[1.0; 9], 1)) else {
        unreachable!()
    };
    assert_eq!((found.winner, found.is_complete), (0, false));
    assert_eq!(found.trials[5].fate, Fate::NotTried);
}

#[test]
fn nothing_is_searched_where_the_device_allows_no_more() {
    let search = Search {
        floor_ns: Some(0.99),
        ..Search::new(LONG)
    };
    let Ok(found) = search.run(9, |_| Ok::<_, String>(1.0)) else {
        unreachable!()
    };
    assert!(found.is_at_roofline && found.trials[1].fate == Fate::NotTried);
    assert_eq!(found.winner, 0);
}

#[test]
fn one_candidate_is_the_default() {
    let found = Search::new(LONG).run(1, |_| Ok::<_, String>(1.0));
    assert_eq!(found.map(|found| found.winner), Ok(0));
}
