//! Steps placed among values that may lie far out.

use std::f64::consts::TAU;

use super::clean::SHORTEST_SEGMENT;

/// How far a place may be moved.
const REACH: usize = 8;

/// Values on each side that are considered in addition: more add little about the levels.
const BESIDE: usize = 50;

/// Deviations over which values that lie far out are spread.
const SPREAD: f64 = 20.0;

/// What a place that is exactly right counts, besides one that is at most one off.
const EXACTLY: f64 = 0.2;

/// A series of levels in noise that resembles its predecessor, some of whose values lie far
/// out and hide it.
pub(super) struct Outlying<'v> {
    pub(super) values: &'v [f64],
    pub(super) alike: f64,
    /// Probability that a value lies far out.
    pub(super) often: f64,
}

/// Posterior of the level and of the noise at a value, from the values up to it: means, variances,
/// covariance.
#[derive(Clone, Copy)]
struct Known {
    log_likelihood: f64,
    level: f64,
    noise: f64,
    of_level: f64,
    of_noise: f64,
    of_both: f64,
}

impl Outlying<'_> {
    /// The place of a step between two levels that is right, or else one off, with the
    /// highest probability: one near `at`, in `from..to`. Each side has a level,
    /// which is not known better than by one value, and a variance of its innovations.
    pub(super) fn likeliest(
        &self,
        from: usize,
        at: usize,
        to: usize,
        sides: [(f64, f64); 2],
    ) -> usize {
        let first = at.saturating_sub(REACH).max(from + SHORTEST_SEGMENT);
        let last = (at + REACH).min(to - SHORTEST_SEGMENT);
        let start = first.saturating_sub(BESIDE).max(from);
        let end = (last + BESIDE).min(to);
        let variances = sides.map(|(_, innovation)| innovation / (1.0 - self.alike * self.alike));
        let far = variances.map(|variance| self.often / (SPREAD * variance.sqrt()));
        let mut before = Known {
            log_likelihood: 0.0,
            level: sides[0].0,
            noise: 0.0,
            of_level: variances[0],
            of_noise: variances[0],
            of_both: 0.0,
        };
        let mut logs = Vec::with_capacity(last + 1 - first);
        for place in start..=last {
            if place >= first {
                let mut behind = Known {
                    level: sides[1].0,
                    of_level: variances[1],
                    of_both: 0.0,
                    ..before
                };
                for value in &self.values[place..end] {
                    self.learn(&mut behind, *value, sides[1].1, far[1]);
                }
                logs.push(behind.log_likelihood);
            }
            self.learn(&mut before, self.values[place], sides[0].1, far[0]);
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
        let worth = |at: usize| {
            let near = &weights[at.saturating_sub(1)..(at + 2).min(weights.len())];
            near.iter().sum::<f64>() + EXACTLY * weights[at]
        };
        let likeliest = |one: &usize, other: &usize| worth(*one).total_cmp(&worth(*other));
        (0..weights.len())
            .max_by(likeliest)
            .map_or(at, |likeliest| first + likeliest)
    }

    /// The next value: a Kalman filter that takes a value for as much as it is probable
    /// that it does not lie far out.
    fn learn(&self, known: &mut Known, value: f64, innovation: f64, far: f64) {
        known.noise *= self.alike;
        known.of_both *= self.alike;
        known.of_noise = self.alike * self.alike * known.of_noise + innovation;
        let by_level = known.of_level + known.of_both;
        let by_noise = known.of_noise + known.of_both;
        let variance = by_level + by_noise;
        let off = value - known.level - known.noise;
        let square = off * off / variance;
        let near = (1.0 - self.often) * (-square / 2.0).exp() / (TAU * variance).sqrt();
        known.log_likelihood += (near + far).ln();
        // So far out, its square may be infinite.
        if near == 0.0 {
            return;
        }
        let shown = near / (near + far);
        known.level += shown * by_level / variance * off;
        known.noise += shown * by_noise / variance * off;
        let less = shown * (1.0 - (1.0 - shown) * square) / variance;
        known.of_level -= less * by_level * by_level;
        known.of_noise -= less * by_noise * by_noise;
        known.of_both -= less * by_level * by_noise;
    }
}
