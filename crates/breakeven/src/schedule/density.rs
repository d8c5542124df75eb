//! Where in a batch its work lies.
//!
//! The unit of work is a nanosecond of one CPU worker at its usual pace; until a
//! worker has done a task, and nothing is known from before, it is a task. The batch
//! is cut into a few dozen *places*, and what workers took there says how dense the
//! work is; between places that were seen it is interpolated.

use std::ops::Range;

use crate::plan::{PLACES, Shape};

/// Tasks that the mean of all counts as at each place: times of few tasks tell of
/// those tasks more than of the place.
static MC: std::sync::LazyLock<f64> = std::sync::LazyLock::new(|| std::env::var("MC").map_or(0.3, |m| m.parse().unwrap()));

/// Tasks of a place that are remembered: newer times count more.
const REMEMBERED: f64 = 24.0;

/// The least work of a task: a picosecond.
const LEAST: f64 = 1e-3;

/// The work per task, place by place.
#[derive(Debug, Clone)]
pub(super) struct Density {
    tasks: usize,
    /// What workers took at each place: tasks and ns.
    seen: [(f64, f64); PLACES],
    /// Places where workers did tasks.
    sampled: [bool; PLACES],
    /// Work of a task at each place.
    per_task: [f64; PLACES],
    /// A mean that was known before, and how many tasks it counts as.
    prior: Option<(f64, f64)>,
    /// Work of a task at each place over the mean, as far as it was known before.
    shape: [f64; PLACES],
    /// Tasks that workers did.
    count: f64,
    /// What was done at each place: tasks and their work.
    done: [(f64, f64); PLACES],
}

impl Density {
    /// A batch of that many tasks, which take `prior` ns each as far as is known from
    /// other batches.
    pub(super) fn new(tasks: usize, prior: Option<f64>, shape: Shape) -> Self {
        let mean = prior.unwrap_or(1.0).max(LEAST);
        let shape = shape.places.map(|value| f64::from(value).max(0.01));
        Self {
            tasks: tasks.max(1),
            seen: [(0.0, 0.0); PLACES],
            sampled: [false; PLACES],
            per_task: shape.map(|value| value * mean),
            shape,
            prior: prior.map(|_| (mean, 1.0)),
            count: 0.0,
            done: [(0.0, 0.0); PLACES],
        }
    }

    /// True where the unit is a worker's nanosecond.
    pub(super) fn is_known(&self) -> bool {
        self.prior.is_some() || self.count > 0.0
    }

    /// True where enough was seen at that place to tell tasks that are dearer from
    /// workers that are slower.
    pub(super) fn knows(&self, range: Range<usize>) -> bool {
        self.seen[self.place((range.start + range.end) / 2)].0 >= 4.0
    }

    /// Part of these tasks' places where workers did some.
    pub(super) fn seen_part(&self, range: Range<usize>) -> f64 {
        let places = self.place(range.start)..=self.place(range.end.max(1) - 1);
        let all = places.clone().count() as f64;
        places.filter(|place| self.seen[*place].0 > 0.0).count() as f64 / all
    }

    /// A GPU's launch tells that these tasks have `times` the work that was thought: so
    /// have those places where no worker did any.
    pub(super) fn correct(&mut self, range: Range<usize>, times: f64) {
        for place in self.place(range.start)..=self.place(range.end.max(1) - 1) {
            if self.seen[place].0 <= 0.0 {
                self.seen[place] = (24.0, 24.0 * (self.per_task[place] * times).max(LEAST));
            }
        }
        self.refresh();
    }

    /// Tasks whose times were seen in this batch.
    pub(super) fn count(&self) -> f64 {
        self.count
    }

    /// Work of a task, on average over the batch.
    pub(super) fn mean(&self) -> f64 {
        self.per_task.iter().sum::<f64>() / PLACES as f64
    }

    /// The work of a task over the mean, at places that were seen.
    pub(super) fn shape(&self) -> [Option<f32>; PLACES] {
        let mean = self.mean_done();
        self.done.map(|(tasks, work)| (tasks > 0.0).then_some((work / tasks / mean) as f32))
    }

    /// Work of a task, on average over those that were done.
    pub(super) fn mean_done(&self) -> f64 {
        let (tasks, work) = self.done.iter().fold((0.0, 0.0), |sum, done| (sum.0 + done.0, sum.1 + done.1));
        if tasks > 0.0 && work > 0.0 { work / tasks } else { self.mean() }
    }

    /// These tasks are done, and had that much work.
    pub(super) fn add_done(&mut self, range: Range<usize>, work: f64) {
        let each = work / self.work(range.clone());
        let mut start = range.start;
        while start < range.end {
            let place = self.place(start);
            let end = self.first(place + 1).clamp(start + 1, range.end);
            let (tasks, sum) = &mut self.done[place];
            *tasks += (end - start) as f64;
            *sum += each * self.per_task[place] * (end - start) as f64;
            start = end;
        }
    }

    /// True where workers did tasks at all places of these.
    pub(super) fn is_sampled(&self, range: Range<usize>) -> bool {
        self.sampled[self.place(range.start)..=self.place(range.end - 1)].iter().all(|sampled| *sampled)
    }

    /// The same by what workers took alone, as far as they did anything.
    pub(super) fn mean_sampled(&self) -> f64 {
        let sampled = (0..PLACES).filter(|place| self.sampled[*place]);
        let (count, sum) = sampled.fold((0.0, 0.0), |(count, sum), place| (count + 1.0, sum + self.per_task[place]));
        if count > 0.0 { sum / count } else { self.mean() }
    }

    /// How many tasks of the mean these were taken for before the batch.
    pub(super) fn expected(&self, range: Range<usize>) -> f64 {
        let mean = self.shape.iter().sum::<f64>() / PLACES as f64;
        let mut sum = 0.0;
        let mut start = range.start;
        while start < range.end {
            let place = self.place(start);
            let end = self.first(place + 1).clamp(start + 1, range.end);
            sum += self.shape[place] / mean * (end - start) as f64;
            start = end;
        }
        sum
    }

    fn place(&self, task: usize) -> usize {
        (task * PLACES / self.tasks).min(PLACES - 1)
    }

    /// The first task of a place.
    fn first(&self, place: usize) -> usize {
        (place * self.tasks).div_ceil(PLACES)
    }

    /// Work of these tasks.
    pub(super) fn work(&self, range: Range<usize>) -> f64 {
        let mut sum = 0.0;
        self.each_part(range, |per_task, tasks| {
            sum += per_task * tasks as f64;
            true
        });
        sum
    }

    /// How many of these tasks, from the first on, make up that much work: at least
    /// one, at most all.
    pub(super) fn tasks_of(&self, range: Range<usize>, work: f64) -> usize {
        let (mut left, mut count) = (work, 0);
        self.each_part(range, |per_task, tasks| {
            let all = per_task * tasks as f64;
            if all <= left {
                left -= all;
                count += tasks;
                return true;
            }
            count += super::whole(left / per_task + 1e-6);
            false
        });
        count.max(1)
    }

    /// The same from the last on.
    pub(super) fn tasks_of_end(&self, range: Range<usize>, work: f64) -> usize {
        let (mut left, mut count, mut end) = (work, 0, range.end);
        while end > range.start {
            let place = self.place(end - 1);
            let begin = self.first(place).max(range.start);
            let all = self.per_task[place] * (end - begin) as f64;
            if all > left {
                count += super::whole(left / self.per_task[place]);
                break;
            }
            left -= all;
            count += end - begin;
            end = begin;
        }
        count.max(1)
    }

    /// Calls `each(work of a task, tasks)` for the parts of a range, until it is false.
    fn each_part(&self, range: Range<usize>, mut each: impl FnMut(f64, usize) -> bool) {
        let mut start = range.start;
        while start < range.end {
            let place = self.place(start);
            let end = self.first(place + 1).clamp(start + 1, range.end);
            if !each(self.per_task[place], end - start) {
                return;
            }
            start = end;
        }
    }

    /// A worker took so many ns for these tasks. Returns the work of a task in the new
    /// unit over that in the old one, where the unit changed with it.
    pub(super) fn observe(&mut self, range: Range<usize>, ns: f64) -> Option<f64> {
        let was_known = self.is_known();
        let tasks = range.len() as f64;
        let place = self.place((range.start + range.end) / 2);
        let (seen, took) = &mut self.seen[place];
        let keep = (1.0 - tasks / REMEMBERED).max(0.0);
        (*seen, *took) = (*seen * keep + tasks, *took * keep + ns);
        self.count += tasks;
        self.sampled[place] = true;
        self.refresh();
        (!was_known).then(|| self.mean())
    }

    fn refresh(&mut self) {
        let (mut tasks, mut ns) = self.prior.map_or((0.0, 0.0), |(mean, count)| (count, mean * count));
        for (place, (seen, took)) in self.seen.iter().enumerate().filter(|(_, (seen, _))| *seen > 0.0) {
            // A place where much was done says no more of the others than any.
            let counts = seen.min(4.0);
            tasks += counts;
            ns += took / seen / self.shape[place] * counts;
        }
        let mean = (ns / tasks).max(LEAST);
        let mut last: Option<usize> = None;
        // Relative to what was known before.
        let mut times = [1.0; PLACES];
        for place in 0..PLACES {
            let (seen, took) = self.seen[place];
            if seen <= 0.0 {
                continue;
            }
            let value = ((took / self.shape[place] + *MC * mean) / (seen + *MC)).max(LEAST);
            let from = last.map_or(0, |last| last + 1);
            let before = last.map_or(value, |last| times[last]);
            for between in from..place {
                let part = (between + 1 - from) as f64 / (place + 1 - from) as f64;
                times[between] = before + (value - before) * part;
            }
            times[place] = value;
            last = Some(place);
        }
        if let Some(last) = last {
            let value = times[last];
            times[last + 1..].fill(value);
            self.per_task = std::array::from_fn(|place| (times[place] * self.shape[place]).max(LEAST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_were_not_seen_are_between_those_that_were() {
        let mut density = Density::new(320, None, Shape::default());
        assert!(!density.is_known());
        assert_eq!(density.work(0..320), 320.0);
        let unit = density.observe(0..5, 50.0).expect("the unit changes once");
        assert!((unit - 10.0).abs() < 1e-9);
        assert_eq!(density.observe(310..320, 1e6), None);
        let [first, middle, last] = [0..10, 150..160, 310..320].map(|range| density.work(range));
        assert!(first < middle && middle < last, "{first} {middle} {last}");
        assert_eq!(density.tasks_of(0..320, 0.0), 1);
        let all = density.work(0..320);
        assert_eq!(density.tasks_of(0..320, 2.0 * all), 320);
        assert_eq!(density.tasks_of_end(0..320, 2.0 * all), 320);
        let half = density.tasks_of(0..320, 0.5 * all);
        assert!(half > 200, "the second half is dearer: {half}");
    }
}
