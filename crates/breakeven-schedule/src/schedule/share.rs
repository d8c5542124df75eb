//! Decides how much of the free work a GPU takes next.
//!
//! The free work is poured into all devices like water into vessels, each open from the time at
//! which its current work ends (a GPU needs another launch as well). That is a GPU's share. It
//! takes a fraction of it, so that unexpected rates and tasks are noticed in time, and everything
//! as soon as splitting it could save less than the launches cost.

use std::ops::Range;

use super::{Ns, Order, Schedule, level};
use crate::whole;

impl Schedule {
    /// Returns when the devices that take part will have done `work`, all ending together, ns from
    /// now; without GPU number `without`. None if no rate is known. Workers run complete tasks.
    pub(super) fn end_of(&self, work: f64, now: Ns, without: Option<usize>) -> Option<Ns> {
        let gpus = self.vessels(now, |index| without != Some(index));
        if self.cpu_start() >= self.gpu_end() && self.has_gpus() {
            return level(gpus, work);
        }
        let (busy, speed) = (self.cpu_busy(now), self.cpu_speed(now)?);
        let end = level(gpus.clone().chain([(busy, speed)]), work)?;
        if gpus.clone().next().is_none() || !self.density.is_known() {
            return Some(end);
        }
        let wave = self.density.mean() * self.setup.workers as f64;
        let waves = ((end - busy) * speed / wave).max(0.0).floor();
        let with = |waves: f64| {
            let done = (waves * wave).min(work);
            let cpu = match done > 0.0 {
                true => busy + waves * wave / speed,
                false => 0.0,
            };
            match done < work {
                true => level(gpus.clone(), work - done).map_or(cpu, |gpus| cpu.max(gpus)),
                false => cpu,
            }
        };
        Some(with(waves).min(with(waves + 1.0)))
    }

    /// Returns when the GPUs whose launch cost is known would have done that much, ns from now.
    pub(super) fn gpus_alone(&self, work: f64, now: Ns) -> Option<Ns> {
        let is_known = |index: usize| self.gpus[index].rate.is_fixed_known();
        level(self.vessels(now, is_known), work)
    }

    /// Returns for each known GPU when it could begin more work, ns from now, and its speed per
    /// nanosecond.
    fn vessels(
        &self,
        now: Ns,
        wanted: impl Fn(usize) -> bool + Clone,
    ) -> impl Iterator<Item = (Ns, f64)> + Clone {
        let gpus = self.gpus.iter().enumerate();
        let gpus = gpus.filter(move |(index, gpu)| gpu.takes() && wanted(*index));
        let vessel = move |(_, gpu): (usize, &super::gpu::Gpu)| {
            let per_work = gpu.rate.per_work?;
            let ready = gpu.busy(now) + gpu.rate.fixed.unwrap_or(0.0);
            Some((ready, per_work.recip()))
        };
        gpus.filter_map(vessel)
    }

    /// Returns how many tasks of a range a GPU launches now. Before a deadline a first launch
    /// measures, and further ones end in time, or have one task.
    pub(super) fn gpu_size(&self, index: usize, range: Range<usize>, now: Ns) -> usize {
        let size = self.gpu_part(index, range.clone(), now);
        let (gpu, Some(deadline)) = (&self.gpus[index], self.setup.deadline) else {
            return size;
        };
        let most = match gpu.rate.per_work {
            Some(per_work) => {
                let ready = now + gpu.busy(now) + gpu.rate.fixed.unwrap_or(0.0);
                let work = ((deadline - ready) / per_work).max(0.0);
                self.density.tasks_of(range, work)
            }
            None => gpu.setup.first_tasks.max(1),
        };
        size.min(most)
    }

    fn gpu_part(&self, index: usize, range: Range<usize>, now: Ns) -> usize {
        if let Order::Try(tasks) = self.gpus[index].order {
            return tasks.min(range.len());
        }
        let gpus = self.gpus.iter().filter(|gpu| gpu.takes());
        if !self.is_shared() && gpus.count() == 1 {
            if let Some(row) = self.gpus[index].row {
                let piece = self.density.work(range.clone()) / row.left.max(1) as f64;
                return self.density.tasks_of(range, piece);
            }
            if !self.setup.orders.by_prediction && !self.setup.is_watched {
                return range.len();
            }
            let gpu = &self.gpus[index];
            if !gpu.rate.is_fixed_known() {
                // Everything runs here anyway; a smaller launch first, to measure the time.
                return match gpu.is_new() || self.setup.is_watched {
                    true => (range.len() / 4)
                        .max(gpu.setup.first_tasks)
                        .max(gpu.last_tasks),
                    false => range.len(),
                };
            }
        }
        let work = self.gpu_work(index, now);
        if work <= 0.0 {
            return 0;
        }
        self.density.tasks_of(range, work)
    }

    /// Returns the work to launch now, so that all devices end together.
    fn gpu_work(&self, index: usize, now: Ns) -> f64 {
        let gpu = &self.gpus[index];
        let is_idle = gpu.flights.is_empty();
        let task = self.density.mean();
        let left = self.free_work(0..self.gpu_end());
        let first = task * gpu.setup.first_tasks.max(1) as f64;
        let Some(per_work) = gpu.rate.per_work else {
            // One probe at a time.
            let pays = is_idle && self.could_pay(index, left);
            return if pays { first } else { 0.0 };
        };
        if self.is_shared() && self.cpu_speed(now).is_none() {
            return if is_idle { first } else { 0.0 };
        }
        let busy = gpu.busy(now);
        if !is_idle && busy > 0.5 * gpu.last_predicted() {
            return 0.0;
        }
        let ready = busy + gpu.rate.fixed.unwrap_or(0.0);
        // The workers leave all of it to the GPUs, so the GPUs must not leave it to the workers.
        if self.is_shared() && self.gpus_end_before_a_task(now) {
            let end = self.gpus_alone(left, now).unwrap_or(0.0);
            return ((end - ready) / per_work).clamp(0.0, left);
        }
        let Some(end) = self.end_of(left, now, None) else {
            return left;
        };
        let without = self.end_of(left, now, Some(index)).unwrap_or(Ns::INFINITY);
        let share = ((end - ready) / per_work).min(left);
        if share >= 0.5 * task.min(left) {
            let part = self.part_of(share, left);
            if gpu.rate.is_fixed_known() {
                let rest = per_work * share * (1.0 - part);
                let worth = self.setup.tuning.worth_launches * gpu.rate.fixed.unwrap_or(0.0);
                return match rest <= worth {
                    true => share,
                    false => share * part,
                };
            }
            let least = (share * part).max(task).max(self.growth(index, without));
            return least.min(share.max(task));
        }
        if !gpu.rate.is_fixed_known() && is_idle {
            return self.growth(index, without).min(left);
        }
        0.0
    }

    /// Returns the fraction of its share that a GPU takes at once. If it is not known where the
    /// work lies, it is the smaller, the more the other devices would have to do if this GPU is
    /// delayed.
    fn part_of(&self, share: f64, left: f64) -> f64 {
        let tuning = &self.setup.tuning;
        match self.knows_shape() {
            true => tuning.sure_part,
            false => tuning.guessed_part * share / left.max(f64::MIN_POSITIVE),
        }
    }

    /// Returns false if the known launch cost is more than the CPU needs for all free work.
    fn could_pay(&self, index: usize, left: f64) -> bool {
        let times = self.gpus[index].rate.fixed.zip(self.alone(left));
        !self.is_shared() || times.is_none_or(|(launch, alone)| launch < alone)
    }

    /// Returns the work of a larger launch that separates the fixed cost from the work; none if it
    /// would take too long. At worst it ends within half the time that the other devices need for
    /// everything, or within all of that time if the smaller launch was another batch's.
    fn growth(&self, index: usize, without: Ns) -> f64 {
        let gpu = &self.gpus[index];
        let (Some((_, ns)), Some(range)) = (gpu.rate.first, self.free.ranges().next()) else {
            return 0.0;
        };
        let part = if gpu.is_new() { 1.0 } else { 0.5 };
        let times = (part * without / ns).min(self.setup.tuning.growth);
        let end = (range.start + whole(times * gpu.last_tasks as f64)).min(self.setup.tasks);
        match times >= 2.0 {
            true => self.density.work(range.start..end.max(range.start)),
            false => 0.0,
        }
    }
}
