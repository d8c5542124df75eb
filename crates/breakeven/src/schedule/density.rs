//! Where in a batch its work lies.
//!
//! The unit of work is a nanosecond of one CPU worker at its usual pace; until a
//! worker has done a task, and nothing is known from before, it is a task. The batch
//! is cut into a few dozen *places*, and what workers took there says how dense the
//! work is; between places that were seen it is interpolated.

use std::ops::Range;

/// Places of a batch.
const PLACES: usize = 32;

/// Tasks that the mean of all counts as at each place: times of few tasks tell of
/// those tasks more than of the place.
const MEAN_COUNTS: f64 = 1.0;

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
    /// Work of a task at each place.
    per_task: [f64; PLACES],
    /// A mean that was known before, and how many tasks it counts as.
    prior: Option<(f64, f64)>,
    /// Tasks that workers did.
    count: f64,
}

impl Density {
    /// A batch of that many tasks, which take `prior` ns each as far as is known from
    /// other batches.
    pub(super) fn new(tasks: usize, prior: Option<f64>) -> Self {
        let mean = prior.unwrap_or(1.0).max(LEAST);
        Self {
            tasks: tasks.max(1),
            seen: [(0.0, 0.0); PLACES],
            per_task: [mean; PLACES],
            prior: prior.map(|_| (mean, 1.0)),
            count: 0.0,
        }
    }

    /// True where the unit is a worker's nanosecond.
    pub(super) fn is_known(&self) -> bool {
        self.prior.is_some() || self.count > 0.0
    }

    /// True where enough was seen at that place to tell tasks that are dearer from
    /// workers that are slower.
    pub(super) fn knows(&self, range: Range<usize>) -> bool {
        self.seen[self.place((range.start + range.end) / 2)].0 >= MEAN_COUNTS * 4.0
    }

    /// Tasks whose times were seen in this batch.
    pub(super) fn count(&self) -> f64 {
        self.count
    }

    /// Work of a task, on average over the batch.
    pub(super) fn mean(&self) -> f64 {
        self.per_task.iter().sum::<f64>() / PLACES as f64
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
            count += super::whole(left / per_task);
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
        self.refresh();
        (!was_known).then(|| self.mean())
    }

    fn refresh(&mut self) {
        let (mut tasks, mut ns) = self
            .prior
            .map_or((0.0, 0.0), |(mean, count)| (count, mean * count));
        for (seen, took) in self.seen.iter().filter(|(seen, _)| *seen > 0.0) {
            // A place where much was done says no more of the others than any.
            let counts = seen.min(4.0);
            tasks += counts;
            ns += took / seen * counts;
        }
        let mean = (ns / tasks).max(LEAST);
        let mut last: Option<usize> = None;
        for place in 0..PLACES {
            let (seen, took) = self.seen[place];
            if seen <= 0.0 {
                continue;
            }
            let value = ((took + MEAN_COUNTS * mean) / (seen + MEAN_COUNTS)).max(LEAST);
            let from = last.map_or(0, |last| last + 1);
            let before = last.map_or(value, |last| self.per_task[last]);
            for between in from..place {
                let part = (between + 1 - from) as f64 / (place + 1 - from) as f64;
                self.per_task[between] = before + (value - before) * part;
            }
            self.per_task[place] = value;
            last = Some(place);
        }
        if let Some(last) = last {
            let value = self.per_task[last];
            self.per_task[last + 1..].fill(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_were_not_seen_are_between_those_that_were() {
        let mut density = Density::new(320, None);
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
