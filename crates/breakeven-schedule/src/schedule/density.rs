//! Estimates where in a batch its work lies.
//!
//! The unit of work is a nanosecond of one CPU worker. Until a worker has done a task, and if
//! nothing is known from earlier batches, it is a task. The batch is cut into 32 *places*. The
//! times of workers at a place show how dense the work is there, relative to the shape of earlier
//! batches; between observed places it is interpolated. A GPU's launch shows how much work its
//! tasks had if no worker has done any of them. Within a place the work is even.

use std::ops::Range;

use smallvec::SmallVec;

use crate::plan::{PLACES, PlaceWork, Shape};

/// The least work of a task: a picosecond.
const LEAST: f64 = 1e-3;

/// The work per task, place by place.
#[derive(Debug, Clone)]
pub(super) struct Density {
    tasks: usize,
    /// One place if there are no GPUs.
    places: SmallVec<[Place; 1]>,
    /// The mean from earlier batches; it counts as one task.
    prior: Option<f64>,
    /// Tasks whose times workers reported in this batch.
    pub(super) count: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Work of a task over the mean, in earlier batches.
    shape: f64,
    /// Work of a task.
    per_task: f64,
    /// Observed tasks and their work.
    seen: (f64, f64),
    /// Workers did tasks here.
    is_sampled: bool,
    /// Finished tasks and their work.
    done: (f64, f64),
    /// Those of them that workers did.
    by_workers: f64,
}

/// Tasks of one place.
struct PlaceRange {
    place: usize,
    tasks: Range<usize>,
}

impl Density {
    /// Creates the estimate for a batch of `tasks` tasks, which take `prior` ns each according to
    /// other batches. Nothing is remembered of batches with fewer than `PLACES` tasks.
    pub(super) fn new(
        tasks: usize,
        prior: Option<f64>,
        shape: Option<&Shape>,
        places: usize,
    ) -> Self {
        let mean = prior.unwrap_or(1.0).max(LEAST);
        let places = (0..places).map(|place| {
            let shape = shape.map_or(1.0, |shape| f64::from(shape.places[place]).max(0.01));
            Place {
                shape,
                per_task: shape * mean,
                ..Place::default()
            }
        });
        Self {
            tasks: tasks.max(1),
            places: places.collect(),
            prior: prior.map(|_| mean),
            count: 0.0,
        }
    }

    /// Returns true if the unit is a worker's nanosecond.
    pub(super) fn is_known(&self) -> bool {
        self.prior.is_some() || self.count > 0.0
    }

    fn place(&self, task: usize) -> usize {
        let places = self.places.len();
        (task * places / self.tasks).min(places - 1)
    }

    /// Returns the first task of a place.
    fn first(&self, place: usize) -> usize {
        (place * self.tasks).div_ceil(self.places.len())
    }

    /// Cuts a range at the boundaries of places.
    fn parts(&self, mut range: Range<usize>) -> impl Iterator<Item = PlaceRange> {
        std::iter::from_fn(move || self.next_part(&mut range))
    }

    /// Removes and returns the first of those pieces.
    fn next_part(&self, range: &mut Range<usize>) -> Option<PlaceRange> {
        let mut part = (range.start < range.end).then(|| self.part_of(range.start))?;
        let end = part.tasks.end.clamp(range.start + 1, range.end);
        part.tasks = range.start..end;
        range.start = end;
        Some(part)
    }

    /// Returns the complete place of a task.
    fn part_of(&self, task: usize) -> PlaceRange {
        let place = self.place(task);
        let all = self.first(place)..self.first(place + 1);
        PlaceRange { place, tasks: all }
    }

    /// Returns the work of a task in this piece.
    fn per_task(&self, part: &PlaceRange) -> f64 {
        self.places[part.place].per_task
    }

    /// Returns the places of these tasks.
    fn places(&self, range: &Range<usize>) -> Range<usize> {
        self.place(range.start)..self.place(range.end.max(1) - 1) + 1
    }

    /// Returns the work of these tasks.
    pub(super) fn work(&self, range: Range<usize>) -> f64 {
        let each = |part: PlaceRange| self.per_task(&part) * part.tasks.len() as f64;
        self.parts(range).map(each).sum()
    }

    /// Returns true if the work at one of these tasks' places differs greatly from that at its
    /// neighbour.
    pub(super) fn is_uneven(&self, range: Range<usize>, times: f64) -> bool {
        let places = self.places(&range);
        let beside = places.start.saturating_sub(1)..(places.end + 1).min(self.places.len());
        let differ = |a: f64, b: f64| a.max(b) > times * a.min(b);
        let mut pairs = self.places[beside].windows(2);
        pairs.any(|pair| differ(pair[0].per_task, pair[1].per_task))
    }

    fn mean_shape(&self) -> f64 {
        self.places.iter().map(|place| place.shape).sum::<f64>() / self.places.len() as f64
    }

    /// Returns the work of these tasks, in mean tasks, as it was expected before the batch.
    pub(super) fn expected(&self, range: Range<usize>) -> f64 {
        let mean = self.mean_shape();
        let shape = |part: &PlaceRange| self.places[part.place].shape;
        let each = |part: PlaceRange| shape(&part) / mean * part.tasks.len() as f64;
        self.parts(range).map(each).sum()
    }

    /// Returns how many of these tasks, from the first, have that much work: at least one, at most
    /// all.
    pub(super) fn tasks_of(&self, range: Range<usize>, work: f64) -> usize {
        let (mut left, mut count) = (work, 0);
        for part in self.parts(range) {
            let (per_task, tasks) = (self.per_task(&part), part.tasks.len());
            let all = per_task * tasks as f64;
            if all > left {
                // Rounding must not leave a task behind.
                count += crate::whole(left / per_task + 1e-6);
                break;
            }
            left -= all;
            count += tasks;
        }
        count.max(1)
    }

    /// As [`tasks_of`](Self::tasks_of), from the last task.
    pub(super) fn tasks_of_end(&self, range: Range<usize>, work: f64) -> usize {
        let (mut left, mut count, mut end) = (work, 0, range.end);
        while end > range.start {
            let part = self.part_of(end - 1);
            let begin = part.tasks.start.max(range.start);
            let per_task = self.per_task(&part);
            let all = per_task * (end - begin) as f64;
            if all > left {
                count += crate::whole(left / per_task);
                break;
            }
            left -= all;
            count += end - begin;
            end = begin;
        }
        count.max(1)
    }

    /// Returns the mean work of a task.
    pub(super) fn mean(&self) -> f64 {
        self.places.iter().map(|place| place.per_task).sum::<f64>() / self.places.len() as f64
    }

    /// Returns the mean over the places where workers did tasks, if any: it excludes the times of
    /// GPUs.
    pub(super) fn mean_sampled(&self) -> f64 {
        let sampled = self.places.iter().filter(|place| place.is_sampled);
        let (count, sum) = sampled.fold((0.0, 0.0), |(count, sum), place| {
            (count + 1.0, sum + place.per_task)
        });
        match count > 0.0 {
            true => sum / count,
            false => self.mean(),
        }
    }

    /// Returns the mean over the finished tasks.
    pub(super) fn mean_done(&self) -> f64 {
        let done = self.places.iter().map(|place| place.done);
        let (tasks, work) = done.fold((0.0, 0.0), |sum, done| (sum.0 + done.0, sum.1 + done.1));
        match tasks > 0.0 && work > 0.0 {
            true => work / tasks,
            false => self.mean(),
        }
    }

    /// Returns the observations to remember, for the places where tasks were done.
    pub(super) fn seen(&self) -> [Option<PlaceWork>; PLACES] {
        let mean = self.mean_done();
        std::array::from_fn(|place| {
            let is_whole = self.places.len() == PLACES;
            let place = self.places.get(place).filter(|_| is_whole)?;
            let (tasks, work) = place.done;
            (tasks > 0.0).then(|| PlaceWork {
                work: (work / tasks / mean) as f32,
                is_gpus: place.by_workers < 0.5 * tasks,
            })
        })
    }

    /// Returns true if workers did tasks at every place of this range.
    pub(super) fn is_sampled(&self, range: Range<usize>) -> bool {
        let mut places = self.places[self.places(&range)].iter();
        places.all(|place| place.is_sampled)
    }

    /// Returns the fraction of these tasks whose place was observed.
    pub(super) fn seen_part(&self, range: Range<usize>) -> f64 {
        self.part(&range, |place| place.seen.0 > 0.0)
    }

    /// Returns the fraction of these tasks at whose place workers did tasks.
    pub(super) fn sampled_part(&self, range: Range<usize>) -> f64 {
        self.part(&range, |place| place.is_sampled)
    }

    fn part(&self, range: &Range<usize>, counts: impl Fn(&Place) -> bool) -> f64 {
        let places = &self.places[self.places(range)];
        places.iter().filter(|place| counts(place)).count() as f64 / places.len() as f64
    }

    /// Records the time of a worker for these tasks. If that changes the unit of work, returns the
    /// work of a task in the new unit over that in the old one.
    pub(super) fn observe(&mut self, mut range: Range<usize>, ns: f64) -> Option<f64> {
        let was_known = self.is_known();
        let tasks = range.len() as f64;
        let middle = self.place((range.start + range.end) / 2);
        self.add_done(range.clone(), ns);
        while let Some(part) = self.next_part(&mut range) {
            self.places[part.place].by_workers += part.tasks.len() as f64;
        }
        let place = &mut self.places[middle];
        place.seen = (place.seen.0 + tasks, place.seen.1 + ns);
        place.is_sampled = true;
        self.count += tasks;
        self.refresh();
        (!was_known).then(|| self.mean())
    }

    /// Records the work of a GPU's launch: it applies to those places of the launch that were not
    /// observed.
    pub(super) fn correct(&mut self, mut range: Range<usize>, work: f64) {
        let times = (work / self.work(range.clone()).max(f64::MIN_POSITIVE)).clamp(0.01, 100.0);
        while let Some(part) = self.next_part(&mut range) {
            let place = &mut self.places[part.place];
            if place.seen.0 <= 0.0 {
                let tasks = part.tasks.len() as f64;
                place.seen = (tasks, tasks * (place.per_task * times).max(LEAST));
            }
        }
        self.refresh();
    }

    /// Records that these tasks are done, and their work.
    pub(super) fn add_done(&mut self, mut range: Range<usize>, work: f64) {
        let each = work / self.work(range.clone()).max(f64::MIN_POSITIVE);
        while let Some(part) = self.next_part(&mut range) {
            let (work, tasks) = (each * self.per_task(&part), part.tasks.len() as f64);
            let done = &mut self.places[part.place].done;
            *done = (done.0 + tasks, done.1 + work * tasks);
        }
    }

    fn refresh(&mut self) {
        let (mut tasks, mut ns) = self.prior.map_or((0.0, 0.0), |mean| (1.0, mean));
        for place in self.places.iter().filter(|place| place.seen.0 > 0.0) {
            let (seen, took) = place.seen;
            tasks += 1.0;
            ns += took / seen / place.shape;
        }
        let mean = (ns / tasks).max(LEAST);
        // Work relative to the shape: at observed places, then between them.
        let mut times = [mean; PLACES];
        let mut last: Option<usize> = None;
        for place in 0..self.places.len() {
            let ((seen, took), shape) = (self.places[place].seen, self.places[place].shape);
            if seen <= 0.0 {
                continue;
            }
            // The overall mean counts as one task.
            let value = ((took / shape + mean) / (seen + 1.0)).max(LEAST);
            let from = last.map_or(0, |last| last + 1);
            let before = last.map_or(value, |last| times[last]);
            let unseen = times[from..place].iter_mut().zip(1..);
            for (between, number) in unseen {
                let part = f64::from(number) / (place + 1 - from) as f64;
                *between = before + (value - before) * part;
            }
            times[place..].fill(value);
            last = Some(place);
        }
        for (place, times) in self.places.iter_mut().zip(times) {
            place.per_task = (times * place.shape).max(LEAST);
        }
    }
}
