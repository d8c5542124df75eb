//! Real runs of `breakeven profile`, in the order of measurement.

use std::io::{BufRead, BufReader};

use breakeven_profile::file;
use breakeven_profile::profile::{Operation, Profile};
use breakeven_profile::stats::Summary;
use flate2::read::GzDecoder;
use rand::Rng;
use rand::seq::{SliceRandom, index};

/// One profile per line; `bench/pool/take` writes the file.
const POOL: &[u8] = include_bytes!("pool.jsonl.gz");

/// The runs.
pub(crate) struct Pool(Vec<Profile>);

impl Pool {
    /// Unpacks and reads them.
    pub(crate) fn read() -> Self {
        let lines = BufReader::new(GzDecoder::new(POOL)).lines();
        let profiles: Vec<Profile> = lines
            .map(|line| {
                let line = line.expect("the pool is text");
                file::read_from(line.as_bytes(), "pool").expect("each line is a profile")
            })
            .collect();
        let keys = |profile: &Profile| -> Vec<_> {
            profile.operations.iter().map(Operation::key).collect()
        };
        let first = keys(&profiles[0]);
        assert!(profiles.iter().all(|profile| keys(profile) == first));
        Self(profiles)
    }

    /// Number of runs.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Time from the first run to the last, minutes.
    pub(crate) fn minutes(&self) -> f64 {
        let created = |profile: &Profile| -> jiff::Timestamp {
            let created = profile.created.as_deref().expect("each has a time stamp");
            created.parse().expect("it is one")
        };
        let (first, last) = (&self.0[0], &self.0[self.len() - 1]);
        created(last).duration_since(created(first)).as_secs_f64() / 60.0
    }

    /// How much the runs of the quietest and of the noisiest operation differ: the standard
    /// deviation of the logarithms of their medians.
    pub(crate) fn noise(&self) -> [f64; 2] {
        let of = |index: usize| {
            let medians = self.0.iter().map(|profile| {
                let summary = profile.operations[index].summary();
                summary.expect("there are samples").median.ln()
            });
            let logs: Vec<f64> = medians.collect();
            let summary = Summary::of(&logs).expect("there are runs");
            summary.deviation.expect("there are two runs or more")
        };
        let all = (0..self.0[0].operations.len()).map(of);
        all.fold([f64::INFINITY, 0.0], |[least, most], noise| {
            [least.min(noise), most.max(noise)]
        })
    }

    /// Two sides of `runs` runs each, drawn without replacement.
    pub(crate) fn draw(
        &self,
        runs: usize,
        random: &mut impl Rng,
    ) -> (Vec<Operation>, Vec<Operation>) {
        let mut drawn = index::sample(random, self.len(), 2 * runs).into_vec();
        drawn.shuffle(random);
        self.sides(&drawn[..runs], &drawn[runs..])
    }

    /// Two sides from neighbouring runs, taken in turns.
    pub(crate) fn in_turns(&self, runs: usize, first: usize) -> (Vec<Operation>, Vec<Operation>) {
        let every_other = |from| (from..first + 2 * runs).step_by(2).collect::<Vec<_>>();
        self.sides(&every_other(first), &every_other(first + 1))
    }

    /// Two sides from neighbouring runs, one side entirely before the other.
    pub(crate) fn one_after_the_other(
        &self,
        runs: usize,
        first: usize,
    ) -> (Vec<Operation>, Vec<Operation>) {
        let all: Vec<usize> = (first..first + 2 * runs).collect();
        self.sides(&all[..runs], &all[runs..])
    }

    /// The index of an operation.
    pub(crate) fn any_operation(&self, random: &mut impl Rng) -> usize {
        index::sample(random, self.0[0].operations.len(), 1).index(0)
    }

    fn sides(&self, baseline: &[usize], current: &[usize]) -> (Vec<Operation>, Vec<Operation>) {
        (self.together(baseline), self.together(current))
    }

    /// The operations of the first run, each with the samples of all runs.
    fn together(&self, chosen: &[usize]) -> Vec<Operation> {
        let mut operations = self.0[chosen[0]].operations.clone();
        for run in &chosen[1..] {
            for (operation, more) in operations.iter_mut().zip(&self.0[*run].operations) {
                operation.runs.extend(more.runs.iter().cloned());
            }
        }
        operations
    }
}
