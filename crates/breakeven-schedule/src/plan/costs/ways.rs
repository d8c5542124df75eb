//! Times of complete batches by the way they ran, for objectives: on the CPU alone, on GPUs alone,
//! on both.
//!
//! A device's cost is a mean over tasks. The end of a batch of few tasks depends on one expensive
//! task, which no mean shows; times of complete batches do.

use std::sync::Arc;

use crate::plan::Tuning;

/// Most batches remembered of each way; also the number of other batches after which the longest of
/// them is forgotten.
const MOST: u32 = 32;

/// The way in which a batch ran that an objective chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The candidate with this index in the decision.
    Candidate(usize),
    /// A split with fixed shares, with that percentage of the tasks for GPUs.
    Kept(u8),
}

/// The times of a batch, ns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Took {
    /// From beginning to end.
    pub ns: f64,
    /// Busy time of the CPU, averaged over its workers.
    pub cpu: f64,
    /// Busy time of each GPU.
    pub gpus: Vec<f64>,
    /// As a multiple of the prediction.
    pub times: f64,
}

/// A batch: its tasks, its times, and its GPUs.
#[derive(Debug, Clone, PartialEq)]
struct Ran {
    tasks: u64,
    took: Took,
    gpus: Vec<Box<str>>,
}

impl Ran {
    fn per_task(&self) -> f64 {
        self.took.ns / self.tasks as f64
    }
}

/// The last batches of one way, newest first.
#[derive(Debug, Clone, PartialEq)]
struct Last {
    way: Way,
    /// Shared with the decisions that read them.
    ran: Vec<Arc<Ran>>,
    /// Batches that ran in another way since.
    others: u32,
}

/// The last batches of each way.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ways(Vec<Last>);

impl Ways {
    /// Records a batch that ran this way on these GPUs.
    pub(super) fn note(&mut self, way: Way, tasks: usize, (took, gpus): (Took, &[String])) {
        for last in self.0.iter_mut().filter(|last| last.way != way) {
            // A way that was slow once is tried again later.
            last.others += 1;
            if last.others.is_multiple_of(MOST) {
                let times = last.ran.iter().enumerate();
                let longest = times.max_by(|(_, a), (_, b)| a.per_task().total_cmp(&b.per_task()));
                if let Some((index, _)) = longest {
                    last.ran.remove(index);
                }
            }
        }
        let is_left = |last: &Last| last.way == way || !last.ran.is_empty();
        self.0.retain(is_left);
        let known = self.0.iter().position(|last| last.way == way);
        let index = known.unwrap_or_else(|| {
            self.0.push(Last {
                way,
                ran: Vec::new(),
                others: 0,
            });
            self.0.len() - 1
        });
        let last = &mut self.0[index];
        last.others = 0;
        last.ran.truncate(MOST as usize - 1);
        let ran = Ran {
            tasks: tasks.max(1) as u64,
            took,
            gpus: gpus.iter().map(|gpu| gpu.as_str().into()).collect(),
        };
        last.ran.insert(0, Arc::new(ran));
    }

    /// Iterates over the percentages of the splits with fixed shares.
    pub fn kept(&self) -> impl Iterator<Item = u8> {
        self.0.iter().filter_map(|last| match last.way {
            Way::Kept(gpu) => Some(gpu),
            Way::Candidate(_) => None,
        })
    }

    /// Returns the largest observed over predicted time of the splits with fixed shares.
    pub fn overrun(&self) -> f64 {
        let ways = self.0.iter();
        let kept = ways.filter(|last| matches!(last.way, Way::Kept(_)));
        let times = kept.flat_map(|last| last.ran.iter().map(|ran| ran.took.times));
        times.fold(1.0, f64::max)
    }

    /// Returns the batches on these GPUs.
    pub(super) fn on<'g>(&self, gpus: impl Iterator<Item = &'g str> + Clone) -> Self {
        let is_on = |ran: &&Arc<Ran>| ran.gpus.iter().map(|gpu| &**gpu).eq(gpus.clone());
        let of_way = |last: &Last| Last {
            way: last.way,
            ran: last.ran.iter().filter(is_on).cloned().collect(),
            others: last.others,
        };
        Self(self.0.iter().map(of_way).collect())
    }

    /// Returns the times of batches with about `tasks` tasks that ran this way: the usual ones, and
    /// the longest time; none if there was none.
    pub fn took(&self, way: Way, tasks: usize, tuning: &Tuning) -> Option<(Took, f64)> {
        let alike = tuning.alike.recip()..=tuning.alike;
        let tasks = tasks.max(1) as f64;
        let last = self.0.iter().find(|last| last.way == way)?;
        let found = last.ran.iter().filter_map(|ran| {
            let times = tasks / ran.tasks as f64;
            alike
                .contains(&times)
                .then_some((ran.took.ns * times, times, &ran.took))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        let (longest, ..) = *found.last()?;
        let (ns, times, took) = found[(found.len() - 1) / 2];
        let usual = Took {
            ns,
            cpu: took.cpu * times,
            gpus: took.gpus.iter().map(|busy| busy * times).collect(),
            times: took.times,
        };
        Some((usual, longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(ns: f64) -> Took {
        Took {
            ns,
            cpu: ns / 2.0,
            gpus: vec![ns],
            times: ns / 100.0,
        }
    }

    #[test]
    fn batches_of_about_as_many_tasks_on_the_same_gpus_count() {
        let mut ways = Ways::default();
        let (way, gpus) = (Way::Candidate(2), ["a".to_owned()]);
        for ns in [100.0, 300.0, 110.0] {
            ways.note(way, 100, (took(ns), &gpus));
        }
        let (usual, longest) = ways
            .took(way, 110, Tuning::USUAL)
            .expect("batches like it ran");
        assert!((usual.ns - 121.0).abs() < 1e-9 && (longest - 330.0).abs() < 1e-9);
        assert!((usual.cpu - 60.5).abs() < 1e-9 && (usual.gpus[0] - 121.0).abs() < 1e-9);
        assert_eq!(ways.took(way, 200, Tuning::USUAL), None);
        assert_eq!(ways.took(Way::Candidate(0), 100, Tuning::USUAL), None);
        let other = ways.on(["b"].into_iter());
        assert_eq!(other.took(way, 100, Tuning::USUAL), None);
        assert_eq!(ways.on(["a"].into_iter()), ways);
    }

    #[test]
    fn the_longest_is_forgotten_after_many_others_and_few_are_kept() {
        let mut ways = Ways::default();
        let gpus = ["a".to_owned()];
        for ns in [300.0, 100.0] {
            ways.note(Way::Kept(20), 100, (took(ns), &gpus));
        }
        assert!((ways.overrun() - 3.0).abs() < 1e-9);
        for _ in 0..MOST {
            ways.note(Way::Candidate(0), 100, (took(50.0), &gpus));
        }
        let (_, longest) = ways
            .took(Way::Kept(20), 100, Tuning::USUAL)
            .expect("one is left");
        assert!((longest - 100.0).abs() < 1e-9);
        for _ in 0..MOST {
            ways.note(Way::Candidate(0), 100, (took(50.0), &gpus));
        }
        assert_eq!(
            (
                ways.took(Way::Kept(20), 100, Tuning::USUAL),
                ways.kept().count()
            ),
            (None, 0)
        );
        assert_eq!(ways.0[0].ran.len(), MOST as usize);
    }
}
