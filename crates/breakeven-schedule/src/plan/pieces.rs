//! Into how many pieces to cut a batch that one GPU runs, so that the upload of one piece, the
//! compute of another and the download of a third overlap.
//!
//! A piece with work `w` takes `launch + w` alone. Each further piece adds only `launch +
//! bottleneck·w`, because only its longest phase delays the next piece: a third of the work if
//! three equal phases overlap, all of it if nothing does. So the work `W` of a batch in `k` pieces
//! takes `k·launch + W/k + (1 − 1/k)·bottleneck·W`, which is least at `k = √((1 − bottleneck)·W /
//! launch)`.

use super::Tuning;
use crate::whole;

/// Time of a batch in `pieces`, ns, if it takes `alone_ns` in one launch.
pub(crate) fn row_ns(pieces: usize, alone_ns: f64, launch_ns: f64, bottleneck: f64) -> f64 {
    let (pieces, work) = (pieces.max(1) as f64, (alone_ns - launch_ns).max(0.0));
    pieces * launch_ns + work / pieces + (1.0 - pieces.recip()) * bottleneck * work
}

/// Time of a batch in the best number of pieces, ns, if it takes `alone_ns` in one launch.
pub(super) fn in_pieces_ns(alone_ns: f64, further: Further, tuning: &Tuning) -> f64 {
    let Some(bottleneck) = further.bottleneck else {
        return alone_ns;
    };
    match pieces(alone_ns, further, tuning) {
        1 => alone_ns,
        pieces => row_ns(pieces, alone_ns, further.launch_ns, bottleneck),
    }
}

/// What is known about the cost of a further piece.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Further {
    /// What a launch costs, ns.
    pub(crate) launch_ns: f64,
    /// `launch_ns` was measured with pieces of two sizes. Complete launches measure it badly: their
    /// times vary by more than it.
    pub(crate) is_measured: bool,
    /// Fraction of its work that a further piece adds, if known.
    pub(crate) bottleneck: Option<f64>,
}

/// Returns the number of pieces for a batch that takes `alone_ns` in one launch: 1 if cutting does
/// not pay; 2 if that is not known and finding out costs little; if it should pay but the launch
/// cost is not measured, enough pieces to measure it.
pub(crate) fn pieces(alone_ns: f64, further: Further, tuning: &Tuning) -> usize {
    let launch = further.launch_ns.max(1.0);
    let most = tuning.most_pieces.max(1);
    let Some(bottleneck) = further.bottleneck else {
        let is_cheap = launch <= tuning.try_cost * alone_ns;
        return if is_cheap { most.min(2) } else { 1 };
    };
    let takes = |pieces| row_ns(pieces, alone_ns, launch, bottleneck);
    let measuring = most.min(tuning.measuring_pieces);
    if !further.is_measured
        && bottleneck <= 1.0 - tuning.least_overlap
        && takes(measuring) <= alone_ns
    {
        return measuring;
    }
    let work = (alone_ns - launch).max(0.0);
    let best = ((1.0 - bottleneck).max(0.0) * work / launch).sqrt();
    let pieces = whole(best.round()).clamp(1, most);
    match alone_ns - takes(pieces) >= tuning.least_overlap * alone_ns {
        true => pieces,
        false => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-9
    }

    fn further(launch_ns: f64, bottleneck: Option<f64>) -> Further {
        Further {
            launch_ns,
            is_measured: true,
            bottleneck,
        }
    }

    #[test]
    fn three_equal_phases_overlap_in_eight_pieces_of_a_hundred_launches() {
        // √(2/3 · 99 / 1) = 8.1; 8 + 99/8 + 7/8 · 33 = 49.25.
        assert_eq!(
            pieces(100.0, further(1.0, Some(1.0 / 3.0)), Tuning::USUAL),
            8
        );
        assert!(near(row_ns(8, 100.0, 1.0, 1.0 / 3.0), 49.25));
        assert!(near(row_ns(1, 100.0, 1.0, 1.0 / 3.0), 100.0));
    }

    #[test]
    fn what_does_not_pay_is_one_launch() {
        for (alone, launch, bottleneck) in [
            (100.0, 1.0, 1.0),  // nothing overlaps
            (100.0, 1.0, 0.85), // it saves less than least_overlap
            (2.0, 1.0, 0.3),    // a further launch costs what it saves
            (0.0, 0.0, 0.3),    // there is nothing to cut
        ] {
            let found = pieces(alone, further(launch, Some(bottleneck)), Tuning::USUAL);
            assert_eq!(found, 1, "{alone} {launch} {bottleneck}");
        }
    }

    #[test]
    fn a_try_costs_no_more_than_it_may() {
        for (alone, expected) in [(10.0, 1), (66.0, 1), (67.0, 2), (1e9, 2)] {
            let found = pieces(alone, further(1.0, None), Tuning::USUAL);
            assert_eq!(found, expected, "{alone}");
        }
    }

    #[test]
    fn what_overlaps_is_cut_until_it_shows_what_a_launch_costs() {
        // Complete launches of 100 vary, and may suggest 6 or 50 for a launch that costs 1.
        for (launch, bottleneck, expected) in [(6.0, 0.3, 8), (1.0, 0.95, 1), (50.0, 0.3, 1)] {
            let further = Further {
                is_measured: false,
                ..further(launch, Some(bottleneck))
            };
            let found = pieces(100.0, further, Tuning::USUAL);
            assert_eq!(found, expected, "{bottleneck}");
        }
    }
}
