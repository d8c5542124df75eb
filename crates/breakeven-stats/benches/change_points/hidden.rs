//! The probability of a series some of whose values lie far out and hide what resembles
//! its neighbours.
//!
//! What is hidden is an autoregression of deviation one. A value that does not lie far out
//! shows it exactly; behind one that does, it is followed on a grid.

use statrs::distribution::{Continuous as _, Normal};

use crate::kinds::{FAR, Kind};

/// Half the width of the grid, how far its points are apart, in deviations, and how many
/// they are.
const REACH: f64 = 5.0;
const APART: f64 = 0.2;
const POINTS: u32 = 51;

/// Probability below which nothing is followed on the grid.
const NEVER: f64 = 1e-7;

pub(crate) struct Hidden {
    alike: f64,
    outliers: f64,
    innovation: Normal,
    grid: Vec<f64>,
    /// Density of a point behind another one: `[behind][before]`.
    moves: Vec<Vec<f64>>,
}

/// What is hidden at one value, by the series up to there.
struct State {
    /// Logarithm of the probability of the series up to there.
    log: f64,
    /// What the value shows if it does not lie far out, and how probable that is.
    value: f64,
    shown: f64,
    /// How probable each point of the grid is if it does; empty if that cannot be.
    far: Vec<f64>,
}

/// How probable the series behind one value is, by what is hidden there.
struct Rest {
    log: f64,
    by_value: f64,
    by_point: Vec<f64>,
}

impl Hidden {
    pub(crate) fn new(kind: &Kind) -> Self {
        let innovation = (1.0 - kind.alike * kind.alike).sqrt();
        let innovation = Normal::new(0.0, innovation).expect("a deviation");
        let point = |at: u32| APART * f64::from(at) - REACH;
        let grid: Vec<f64> = (0..POINTS).map(point).collect();
        let before = |behind: &f64| {
            let density = |before: &f64| innovation.pdf(behind - kind.alike * before);
            grid.iter().map(density).collect()
        };
        Self {
            alike: kind.alike,
            outliers: kind.outliers,
            innovation,
            moves: grid.iter().map(before).collect(),
            grid,
        }
    }

    /// Logarithms of the series' probability for a step at each value but the first.
    pub(crate) fn by_place(&self, series: &[f64], step: f64) -> Vec<f64> {
        let mut rests = vec![Rest {
            log: 0.0,
            by_value: 1.0,
            by_point: vec![1.0; self.grid.len()],
        }];
        for pair in series.windows(2).rev() {
            let next = rests.last().expect("that of the last value");
            rests.push(self.rest(pair[0] - step, pair[1] - step, next));
        }
        let mut state = self.state(None, series[0]);
        let mut logs = Vec::new();
        for (value, rest) in series.iter().zip(rests.iter().rev()).skip(1) {
            let stepped = self.state(Some(&state), value - step);
            let far = stepped.far.iter().zip(&rest.by_point);
            let far: f64 = far.map(|(point, rest)| point * rest).sum();
            logs.push(stepped.log + rest.log + (stepped.shown * rest.by_value + far).ln());
            state = self.state(Some(&state), *value);
        }
        logs
    }

    /// How probable a value is that lies so far above what it hides, in the cell of a point.
    fn far(&self, above: f64) -> f64 {
        let [from, to] = [above - APART / 2.0, above + APART / 2.0];
        let inside = (to.min(FAR[1]) - from.max(FAR[0])).max(0.0);
        self.outliers * inside / (FAR[1] - FAR[0])
    }

    fn state(&self, before: Option<&State>, value: f64) -> State {
        let from_value = |point: f64| match before {
            None => Normal::standard().pdf(point),
            Some(state) => state.shown * self.innovation.pdf(point - self.alike * state.value),
        };
        let points = || before.iter().flat_map(|state| &state.far);
        let moved = |(before, probability): (&f64, &f64)| {
            probability * self.innovation.pdf(value - self.alike * before)
        };
        let from_points: f64 = self.grid.iter().zip(points()).map(moved).sum();
        let shown = (1.0 - self.outliers) * (from_value(value) + from_points);
        let point = |(point, moves): (&f64, &Vec<f64>)| match self.far(value - point) {
            0.0 => 0.0,
            far => {
                let from_points: f64 = moves
                    .iter()
                    .zip(points())
                    .map(|(one, other)| one * other)
                    .sum();
                far * (from_value(*point) + from_points)
            }
        };
        let mut far: Vec<f64> = self.grid.iter().zip(&self.moves).map(point).collect();
        let sum = shown + far.iter().sum::<f64>();
        if sum - shown < NEVER * sum {
            far.clear();
        }
        far.iter_mut().for_each(|each| *each /= sum);
        State {
            log: before.map_or(0.0, |state| state.log) + sum.ln(),
            value,
            shown: shown / sum,
            far,
        }
    }

    fn rest(&self, value: f64, behind: f64, next: &Rest) -> Rest {
        let shown = (1.0 - self.outliers) * next.by_value;
        let points = self.grid.iter().zip(&next.by_point).zip(&self.moves);
        let points: Vec<(f64, f64, &Vec<f64>)> = points
            .map(|((point, rest), moves)| (*point, self.far(behind - point) * rest, moves))
            .filter(|(_, probability, _)| *probability > 0.0)
            .collect();
        let from = |hidden: f64| shown * self.innovation.pdf(behind - self.alike * hidden);
        let to_points = points.iter().map(|(point, probability, _)| {
            probability * self.innovation.pdf(point - self.alike * value)
        });
        let by_value = from(value) + to_points.sum::<f64>();
        let by_point = self.grid.iter().enumerate().map(|(at, hidden)| {
            let to_points = points
                .iter()
                .map(|(_, probability, moves)| probability * moves[at]);
            from(*hidden) + to_points.sum::<f64>()
        });
        let by_point: Vec<f64> = by_point.collect();
        let most = by_point.iter().copied().fold(by_value, f64::max);
        Rest {
            log: next.log + most.ln(),
            by_value: by_value / most,
            by_point: by_point.iter().map(|each| each / most).collect(),
        }
    }
}
