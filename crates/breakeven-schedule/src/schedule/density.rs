//! Where in a batch its work lies.
//!
//! The unit of work is a nanosecond of one CPU worker; until a worker has done a task,
//! and nothing is known from before, it is a task. The batch is cut into 32 *places*. What
//! workers took there says how dense the work is, relative to the shape that earlier
//! batches had; between places that were seen it is interpolated. A GPU's launch says how
//! much work its tasks had where no worker has done any of them. Within a place the work
//! is even.

use std::ops::Range;

use smallvec::SmallVec;

use crate::plan::{PLACES, PlaceWork, Shape};

/// The least work of a task: a picosecond.
const LEAST: f64 = 1e-3;

/// The work per task, place by place.
#[derive(Debug, Clone)]
pub(super) struct Density {
    tasks: usize,
    /// One where there are no GPUs.
    places: SmallVec<[Place; 1]>,
    /// A mean that was known before; it counts as one task.
    prior: Option<f64>,
    /// Tasks whose times workers told in this batch.
    pub(super) count: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Work of a task over the mean, as earlier batches had it.
    shape: f64,
    /// Work of a task.
    per_task: f64,
    /// What was seen: tasks and their work.
    seen: (f64, f64),
    /// Workers did tasks here.
    is_sampled: bool,
    /// What was done: tasks and their work.
    done: (f64, f64),
    /// Tasks of these that workers did.
    by_workers: f64,
}

/// Tasks of one place.
struct PlaceRange {
    place: usize,
    tasks: Range<usize>,
}

impl Density {
    /// A batch of that many tasks, which take `prior` ns each as far as is known from
    /// other batches. Of fewer than `PLACES` places nothing is remembered.
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

    /// True where the unit is a worker's nanosecond.
    pub(super) fn is_known(&self) -> bool {
        self.prior.is_some() || self.count > 0.0
    }

    fn place(&self, task: usize) -> usize {
        let places = self.places.len();
        (task * places / self.tasks).min(places - 1)
    }

    /// The first task of a place.
    fn first(&self, place: usize) -> usize {
        (place * self.tasks).div_ceil(self.places.len())
    }

    /// The parts of a range.
    fn parts(&self, mut range: Range<usize>) -> impl Iterator<Item = PlaceRange> {
        std::iter::from_fn(move || self.next_part(&mut range))
    }

    /// Cuts off the first of those parts.
    fn next_part(&self, range: &mut Range<usize>) -> Option<PlaceRange> {
        let mut part = (range.start < range.end).then(|| self.part_of(range.start))?;
        let end = part.tasks.end.clamp(range.start + 1, range.end);
        part.tasks = range.start..end;
        range.start = end;
        Some(part)
    }

    /// The whole part that a task is in.
    fn part_of(&self, task: usize) -> PlaceRange {
        let place = self.place(task);
        let all = self.first(place)..self.first(place + 1);
        PlaceRange { place, tasks: all }
    }

    /// Work of a task of a part.
    fn per_task(&self, part: &PlaceRange) -> f64 {
        self.places[part.place].per_task
    }

    /// The places of these tasks.
    fn places(&self, range: &Range<usize>) -> Range<usize> {
        self.place(range.start)..self.place(range.end.max(1) - 1) + 1
    }

    /// Work of these tasks.
    pub(super) fn work(&self, range: Range<usize>) -> f64 {
        let each = |part: PlaceRange| self.per_task(&part) * part.tasks.len() as f64;
        self.parts(range).map(each).sum()
    }

    /// True if one of these tasks' places has far more or less work than the one beside it.
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

    /// How many tasks of the mean these were taken for before the batch.
    pub(super) fn expected(&self, range: Range<usize>) -> f64 {
        let mean = self.mean_shape();
        let shape = |part: &PlaceRange| self.places[part.place].shape;
        let each = |part: PlaceRange| shape(&part) / mean * part.tasks.len() as f64;
        self.parts(range).map(each).sum()
    }

    /// How many of these tasks, from the first on, make up that much work: at least
    /// one, at most all.
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

    /// The same from the last on.
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

    /// Work of a task, on average over the batch.
    pub(super) fn mean(&self) -> f64 {
        self.places.iter().map(|place| place.per_task).sum::<f64>() / self.places.len() as f64
    }

    /// The same over the places where workers did tasks, as far as there are some: what
    /// GPUs took is no part of it.
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

    /// The same over the tasks that were done.
    pub(super) fn mean_done(&self) -> f64 {
        let done = self.places.iter().map(|place| place.done);
        let (tasks, work) = done.fold((0.0, 0.0), |sum, done| (sum.0 + done.0, sum.1 + done.1));
        match tasks > 0.0 && work > 0.0 {
            true => work / tasks,
            false => self.mean(),
        }
    }

    /// What is to be remembered of the places where tasks were done.
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

    /// True where workers did tasks at all places of these.
    pub(super) fn is_sampled(&self, range: Range<usize>) -> bool {
        let mut places = self.places[self.places(&range)].iter();
        places.all(|place| place.is_sampled)
    }

    /// PlaceRange of these tasks' places of which something was seen.
    pub(super) fn seen_part(&self, range: Range<usize>) -> f64 {
        self.part(&range, |place| place.seen.0 > 0.0)
    }

    /// PlaceRange of these tasks' places where workers did tasks.
    pub(super) fn sampled_part(&self, range: Range<usize>) -> f64 {
        self.part(&range, |place| place.is_sampled)
    }

    fn part(&self, range: &Range<usize>, counts: impl Fn(&Place) -> bool) -> f64 {
        let places = &self.places[self.places(range)];
        places.iter().filter(|place| counts(place)).count() as f64 / places.len() as f64
    }

    /// A worker took so many ns for these tasks. Returns the work of a task in the new
    /// unit over that in the old one, where the unit changed with it.
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

    /// A GPU's launch tells that these tasks had that much work: so had those places of
    /// which nothing was seen.
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

    /// These tasks are done, and had that much work.
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
        // Work over the shape's: at places that were seen, then between them.
        let mut times = [mean; PLACES];
        let mut last: Option<usize> = None;
        for place in 0..self.places.len() {
            let ((seen, took), shape) = (self.places[place].seen, self.places[place].shape);
            if seen <= 0.0 {
                continue;
            }
            // The mean of all counts as one task.
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
