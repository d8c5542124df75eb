//! The search: successive halving over rounds, and a last comparison with the default.
//!
//! Every round measures all remaining candidates in turns, in a new random order each time, and
//! drops the slower half; the next round takes twice as many samples of each (Karnin, Koren and
//! Somekh 2013, "Almost optimal exploration in multi-armed bandits"). The last candidate was
//! selected for being fast, partly by luck, so its samples are biased. New samples, in turns with
//! the default's, decide by this project's definition of "faster": an interval that excludes 1.

use std::time::{Duration, Instant};

use breakeven_profile::stats::median;
use breakeven_stats::SequentialMean;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Samples of each candidate in the first round.
const FIRST_SAMPLES: usize = 3;

/// Most samples of each in a round.
const MOST_SAMPLES: usize = 24;

/// A candidate whose first two times both exceed this multiple of the fastest median gets no third.
const HOPELESS: f64 = 3.0;

/// Fraction of the budget for the rounds; the rest is for the last comparison.
const ROUNDS_PART: f64 = 0.7;

/// Pairs whose median ratio is one value of the last comparison, and most such values.
const BLOCK: usize = 5;
const MOST_BLOCKS: usize = 40;

/// A gain that is surely smaller is none.
const LEAST_GAIN: f64 = 0.005;

/// If the default takes at most this multiple of what the device's measured peaks allow, nothing is
/// searched.
const AT_ROOFLINE: f64 = 1.05;

/// Confidence level of the last comparison.
const LEVEL: f64 = 0.95;

/// How a search is made.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    /// Time that it may take.
    pub budget: Duration,
    /// The least possible time of any candidate, ns, if known.
    pub floor_ns: Option<f64>,
    /// What the orders are drawn from.
    pub seed: u64,
}

/// A candidate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Median of its samples, ns; none without samples. For default and winner, those of the last
    /// comparison.
    pub median_ns: Option<f64>,
    /// How many there are.
    pub samples: usize,
    /// How far it came.
    pub fate: Fate,
}

/// How far a candidate came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Faster than the default: it is used from now on.
    Won,
    /// The default, and nothing was shown to be faster.
    Kept,
    /// The default, which something else is faster than.
    Beaten,
    /// The fastest of all in the rounds, but not surely faster than the default.
    Tied,
    /// Among the slower half of a round, counted from 1.
    Dropped(usize),
    /// It does not run, and why.
    Failed(String),
    /// Time was over, or there was nothing to be gained, before its turn.
    NotTried,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Number of the winner; 0, the default, unless another is faster.
    pub winner: usize,
    /// Of a winner that is not the default: the default's time over its, and the ends of the
    /// interval.
    pub gain: Option<Gain>,
    /// True if the search finished within its budget.
    pub is_complete: bool,
    /// True if the default is as fast as the device allows.
    pub is_at_roofline: bool,
    /// All candidates, in their order.
    pub trials: Vec<Trial>,
}

/// How many times as fast as the default.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// The estimate.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub lower: f64,
    /// Upper end of it.
    pub upper: f64,
}

/// A candidate during the search.
#[derive(Debug, Default)]
struct Candidate {
    samples: Vec<f64>,
    fate: Option<Fate>,
}

impl Candidate {
    fn median(&self) -> Option<f64> {
        median(&self.samples).ok()
    }
}

impl Search {
    /// One of that budget.
    pub fn new(budget: Duration) -> Self {
        Self {
            budget,
            floor_ns: None,
            seed: 0,
        }
    }

    /// Finds the fastest of `candidates` candidates, of which number 0 is the default: `sample`
    /// runs a candidate once and returns its time, ns.
    ///
    /// A candidate that fails is out.
    ///
    /// # Errors
    ///
    /// That of the default, which ends the search: what else runs there is worth nothing.
    pub fn run<E: std::fmt::Display>(
        &self,
        candidates: usize,
        mut sample: impl FnMut(usize) -> Result<f64, E>,
    ) -> Result<Found, E> {
        let started = Instant::now();
        let mut order = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut all: Vec<Candidate> = (0..candidates).map(|_| Candidate::default()).collect();
        // Compilation and cold caches are not measured.
        let first = sample(0)?;
        let mut found = Found {
            winner: 0,
            gain: None,
            is_complete: true,
            is_at_roofline: false,
            trials: Vec::new(),
        };
        let rounds = self.budget.mul_f64(ROUNDS_PART);
        let is_over = |most: Duration| started.elapsed() >= most;
        if let Some(floor) = self.floor_ns {
            let mut least = first;
            for _ in 0..FIRST_SAMPLES {
                least = least.min(sample(0)?);
            }
            found.is_at_roofline = least <= AT_ROOFLINE * floor;
        }
        let mut left: Vec<usize> = (0..candidates).collect();
        let (mut round, mut samples) = (0, FIRST_SAMPLES);
        while left.len() > 1 && !found.is_at_roofline && found.is_complete {
            round += 1;
            for _ in 0..samples {
                if !found.is_complete {
                    break;
                }
                left.shuffle(&mut order);
                // The default goes first, so that the remaining list contains it when time runs
                // out.
                left.sort_by_key(|number| *number != 0);
                for number in &left {
                    if is_over(rounds) && *number != 0 {
                        found.is_complete = false;
                        break;
                    }
                    take(*number, round, &mut all, &mut sample)?;
                }
                left.retain(|number| all[*number].fate.is_none());
            }
            let median = |number: &usize| all[*number].median().unwrap_or(f64::INFINITY);
            left.sort_by(|one, other| median(one).total_cmp(&median(other)));
            let keep = if found.is_complete {
                left.len().div_ceil(2)
            } else {
                1
            };
            for number in left.split_off(keep.max(1)) {
                // The default's result is reported at the end.
                let candidate = &mut all[number];
                if number != 0 && !candidate.samples.is_empty() {
                    candidate.fate = Some(Fate::Dropped(round));
                }
            }
            samples = (2 * samples).min(MOST_SAMPLES);
        }
        let champion = left.first().copied().unwrap_or(0);
        if champion != 0 && !found.is_at_roofline {
            let compared = self.compare(champion, &mut order, started, &mut all, &mut sample)?;
            found.gain = compared;
            found.winner = if compared.is_some() { champion } else { 0 };
            all[champion].fate.get_or_insert(match compared {
                Some(_) => Fate::Won,
                None => Fate::Tied,
            });
        }
        all[0].fate = Some(match found.winner {
            0 => Fate::Kept,
            _ => Fate::Beaten,
        });
        found.trials = all.into_iter().map(Trial::from).collect();
        Ok(found)
    }

    /// Candidate and default in turns until it is known which is faster.
    fn compare<E: std::fmt::Display>(
        &self,
        champion: usize,
        order: &mut Xoshiro256PlusPlus,
        started: Instant,
        all: &mut [Candidate],
        sample: &mut impl FnMut(usize) -> Result<f64, E>,
    ) -> Result<Option<Gain>, E> {
        let mut change = SequentialMean::default();
        let mut is_first = true;
        for _ in 0..MOST_BLOCKS {
            let mut ratios = Vec::with_capacity(BLOCK);
            for _ in 0..BLOCK {
                let mut pair = [0, champion];
                if order.random() {
                    pair.reverse();
                }
                let mut times = [0.0; 2];
                for number in pair {
                    match sample(number) {
                        Ok(ns) => times[usize::from(number != 0)] = ns,
                        Err(error) if number == 0 => return Err(error),
                        Err(error) => {
                            all[champion].fate = Some(Fate::Failed(error.to_string()));
                            return sample(0).map(|_| None);
                        }
                    }
                }
                if std::mem::take(&mut is_first) {
                    // The reported figures of the two are the ones that decide.
                    all[0].samples.clear();
                    all[champion].samples.clear();
                }
                let [default, tried] = times;
                all[0].samples.push(default);
                all[champion].samples.push(tried);
                ratios.push((default / tried).ln());
            }
            change.push(median(&ratios).unwrap_or(f64::NAN));
            let [lower, upper] = change.interval(LEVEL);
            if lower > 0.0 {
                return Ok(Some(Gain {
                    ratio: change.mean().exp(),
                    lower: lower.exp(),
                    upper: upper.exp(),
                }));
            }
            if upper < LEAST_GAIN || started.elapsed() >= self.budget {
                break;
            }
        }
        Ok(None)
    }
}

impl From<Candidate> for Trial {
    fn from(candidate: Candidate) -> Self {
        Self {
            median_ns: candidate.median(),
            samples: candidate.samples.len(),
            fate: candidate.fate.unwrap_or(Fate::NotTried),
        }
    }
}

/// A sample of a candidate in that round, and what follows from it.
fn take<E: std::fmt::Display>(
    number: usize,
    round: usize,
    all: &mut [Candidate],
    sample: &mut impl FnMut(usize) -> Result<f64, E>,
) -> Result<(), E> {
    let is_new = all[number].samples.is_empty();
    let warm = match is_new && number != 0 {
        true => sample(number).map(drop),
        false => Ok(()),
    };
    let mut taken = warm.and_then(|()| sample(number));
    if let (true, Ok(ns)) = (is_new && number != 0, &taken)
        && is_hopeless(all, *ns)
    {
        // One long time may be a stray.
        taken = sample(number);
        if let Ok(again) = &taken
            && is_hopeless(all, *again)
        {
            all[number].fate = Some(Fate::Dropped(round));
        }
    }
    match taken {
        Ok(ns) => all[number].samples.push(ns),
        Err(error) if number == 0 => return Err(error),
        Err(error) => {
            all[number].fate = Some(Fate::Failed(error.to_string()));
            // Whether it failed alone, or nothing runs any more.
            all[0].samples.push(sample(0)?);
        }
    }
    Ok(())
}

/// True for a first time that is far from the fastest.
fn is_hopeless(all: &[Candidate], ns: f64) -> bool {
    let fastest = all.iter().filter_map(Candidate::median).reduce(f64::min);
    fastest.is_some_and(|fastest| ns > HOPELESS * fastest)
}
