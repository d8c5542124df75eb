//! What the cost model learns from a batch.

use std::ops::Range;

use super::calls::Calls;
use super::gpu::Gpu;
use super::{LaunchTime, Ns, PLACES, Schedule};
use crate::plan::{Learned, RanOn, Shape, Tuning};
use crate::whole;

/// Most launches of a device whose times are kept …
const MOST_KEPT: usize = 1024;

/// … and are learned.
const MOST_LAUNCHES: usize = 8;

/// A finished launch.
#[derive(Debug)]
struct Launch {
    range: Range<usize>,
    ns: Ns,
    /// Its time is known only together with the previous one's.
    is_joint: bool,
    /// Its work, if its time shows it.
    found: Option<f64>,
}

/// The launches on a GPU.
#[derive(Debug, Default)]
pub(super) struct LaunchTimes {
    /// The first that finished.
    done: Vec<Launch>,
    /// All that finished: their number, tasks and time.
    all: (usize, usize, Ns),
    /// Tasks of launches whose transfer time is known separately, and that time.
    moved: (usize, Ns),
    /// Tasks that were taken back, and a lower bound of their time.
    recalled: Vec<(usize, Ns)>,
    was_recalled: bool,
}

impl LaunchTimes {
    pub(super) fn done(&mut self, range: Range<usize>, took: LaunchTime) {
        if let Some(moved) = took.moved {
            let (tasks, ns) = self.moved;
            self.moved = (tasks + range.len(), ns + moved);
        }
        let Some(ns) = took.ns else { return };
        let (launches, tasks, all) = self.all;
        self.all = (launches + 1, tasks + range.len(), all + ns);
        if self.done.len() < MOST_KEPT {
            self.done.push(Launch {
                range,
                ns,
                is_joint: took.is_joint,
                found: None,
            });
        }
    }

    /// Divides times that are known only jointly among the tasks.
    fn share_out(&mut self) {
        for joint in self.done.chunk_by_mut(|_, next| next.is_joint) {
            let tasks: usize = joint.iter().map(|launch| launch.range.len()).sum();
            let ns: Ns = joint.iter().map(|launch| launch.ns).sum();
            for launch in joint {
                launch.ns = ns / tasks as f64 * launch.range.len() as f64;
            }
        }
    }

    /// Returns the transfer time of `tasks` tasks, if launches reported any.
    fn transfer_ns(&self, tasks: usize) -> Option<Ns> {
        let (tasks_moved, ns) = self.moved;
        (tasks_moved > 0).then(|| ns / tasks_moved as f64 * tasks as f64)
    }

    /// Iterates over the first launch, then the largest: they show the most.
    fn informative(&self) -> impl Iterator<Item = &Launch> {
        let mut informative: Vec<&Launch> = self.done.iter().collect();
        if let Some(others) = informative.get_mut(1..) {
            others.sort_by_key(|launch| std::cmp::Reverse(launch.range.len()));
        }
        informative.into_iter()
    }

    /// Returns the mean of all finished launches: its tasks, its time.
    fn mean(&self) -> Option<(usize, Ns)> {
        let (launches, tasks, took) = self.all;
        let each = 1.0 / launches as f64;
        (launches > 0).then(|| (whole((tasks as f64 * each).round()).max(1), took * each))
    }

    /// Records a launch that was taken back after `ns`. That is evidence only if it should have
    /// ended by then.
    pub(super) fn recalled(&mut self, tasks: usize, ns: Ns, predicted: Ns, tuning: &Tuning) {
        self.was_recalled = true;
        let at_least = tuning.most_off * ns;
        if predicted < at_least {
            self.recalled.push((tasks, at_least));
        }
    }
}

impl Schedule {
    /// Records in the cost model how long the batch took: `took` ns, a split was `predicted` to
    /// take this long, with `cpu_tasks` on the CPU and the remaining tasks on GPUs of these names.
    pub fn teach(
        &mut self,
        batch: &mut Learned<'_>,
        names: &[String],
        cpu_tasks: usize,
        (took, predicted): (Ns, Option<Ns>),
    ) {
        for gpu in &mut self.gpus {
            gpu.launch_times.share_out();
        }
        self.end_calls();
        self.find_work();
        let calls = self.calls.as_ref().filter(|_| cpu_tasks > 0);
        let calls_ns = calls.map_or(0.0, |calls| calls.spent(batch.workers));
        let (operation, memory_per_task, workers) =
            (batch.operation, batch.memory_per_task, batch.workers);
        let gpus = || self.gpus.iter().zip(names);
        let was_tried = |gpu: &Gpu| gpu.successes > 0 || gpu.launch_times.was_recalled;
        let tried = gpus().filter(|(gpu, _)| was_tried(gpu));
        let tried: Vec<&str> = tried.map(|(_, name)| name.as_str()).collect();
        let whole_ns = |ns: Ns| whole(ns.round()) as u64;
        let mut record =
            |on: RanOn<'_>, tasks: usize, (ns, moved): (Ns, Option<Ns>), shared: bool| {
                let (ns, moved) = (whole_ns(ns), moved.map(whole_ns));
                batch.observe(on, tasks as u64, ns, moved, shared);
            };
        // A few trial tasks there hinder nothing.
        let is_much = |busy: Ns| busy >= took / 2.0;
        let cpu_works = is_much(calls_ns + self.cpu.took / workers as f64);
        let gpus_work = self.gpus.iter().any(|gpu| is_much(gpu.launch_times.all.2));
        // With fewer tasks than workers, a sample says nothing about the tasks not run on the CPU.
        let are_few = self.setup.tasks < workers && 2 * cpu_tasks < self.setup.tasks;
        let is_noise = calls.is_some_and(|calls| !calls.are_precise(self.setup.tasks, workers));
        if cpu_tasks > 0 && (tried.is_empty() || !are_few && !is_noise) {
            // If the CPU ran the batch alone, it counts how evenly the workers shared it.
            let waves = self.setup.tasks.div_ceil(workers) as f64;
            let (tasks, ns) = match self.gpus.iter().all(Gpu::is_new) {
                true => (cpu_tasks, (took - calls_ns).max(0.0)),
                false => (self.setup.tasks, self.cpu_task_ns() * waves),
            };
            record(RanOn::Cpu, tasks, (ns, None), gpus_work);
        }
        // With few tasks an expensive one decides, wherever it runs.
        let is_evidence = cpu_tasks > 0 && !tried.is_empty() && self.setup.tasks >= PLACES;
        let excess = predicted.filter(|_| is_evidence);
        let excess = excess.map(|predicted| took / predicted.max(1.0));
        for (gpu, name) in gpus() {
            // Beside other pieces a piece took less than alone.
            let overlapped = gpu.overlapped(self.setup.tuning);
            // If all launches are too small to show their work, their mean does.
            let are_small = gpu.setup.fits.saturating_mul(PLACES) < self.setup.tasks;
            if let Some((tasks, ns)) = gpu.launch_times.mean().filter(|_| are_small && !overlapped)
            {
                record(
                    RanOn::Gpu(name),
                    tasks,
                    (ns, gpu.launch_times.transfer_ns(tasks)),
                    cpu_works,
                );
            }
            if !are_small {
                // The first piece of a row ran beside no other.
                let most = if overlapped { 1 } else { MOST_LAUNCHES };
                for launch in gpu.launch_times.informative().take(most) {
                    let moved = gpu.launch_times.transfer_ns(launch.range.len());
                    if let Some(tasks) = self.weigh(launch.range.clone(), launch.found) {
                        record(RanOn::Gpu(name), tasks, (launch.ns, moved), cpu_works);
                    }
                }
            }
        }
        for (gpu, name) in gpus() {
            for (tasks, ns) in &gpu.launch_times.recalled {
                batch.recalled(name, *tasks as u64, whole_ns(*ns), cpu_works);
            }
        }
        let Learned { model, at, way, .. } = batch;
        for (gpu, name) in gpus() {
            if gpu.successes > 0 {
                model.note_overlap(
                    operation,
                    memory_per_task,
                    name,
                    gpu.added(self.setup.tuning),
                );
            }
            if let Some(fits) = gpu.faults.fits() {
                model.remember_fit(operation, memory_per_task, name, fits as u64, *at);
            }
        }
        let waited = self.setup.orders.gpus_wait_ns > 0.0;
        if !waited {
            // If devices hinder each other, the places of first spans would look cheap.
            let seen = self.density.seen();
            let tail = self.cpu.tail();
            model.note_shape(operation, memory_per_task, &seen, tail, excess);
        }
        if let Some((way, took)) = way.take() {
            let tasks = self.setup.tasks;
            model.note_way(operation, memory_per_task, way, tasks, (took, names));
        }
        if let Some(ns) = self.calls.as_ref().and_then(Calls::measured) {
            model.note_call(operation, memory_per_task, ns);
        }
        let took = whole(took.round()) as u64;
        model.note_run(operation, memory_per_task, took, cpu_tasks > 0, &tried);
        if waited {
            let times = self.cpu.hindrance(self.setup.tuning).filter(|_| gpus_work);
            model.note_hindrance(operation, memory_per_task, took, times);
        }
    }

    /// Estimates the work of launches from their times and the mean rate of each GPU: a rate that
    /// followed every launch would mistake expensive tasks for a slow device. If it is not known
    /// where the work lies, a launch shows the rate only as far as workers did tasks at its places.
    fn find_work(&mut self) {
        let least_shown = self.setup.tuning.least_shown;
        let knows_shape = self.knows_shape();
        for gpu in self.gpus.iter_mut().filter(|gpu| gpu.row.is_none()) {
            let (Some(fixed), Some(per_work)) = (gpu.rate.fixed, gpu.rate.per_work) else {
                continue;
            };
            let beyond = |ns: Ns| (ns - fixed).max(0.0);
            let (mut sum, mut weights) = (0.0, 0.0);
            for Launch { range, ns, .. } in &gpu.launch_times.done {
                let sure = match knows_shape {
                    true => 1.0,
                    false => self.density.sampled_part(range.clone()),
                };
                let weight = sure * range.len() as f64;
                sum += weight * beyond(*ns) / self.density.work(range.clone());
                weights += weight;
            }
            let is_known = weights > 0.0 && sum > 0.0;
            let per_work = if is_known { sum / weights } else { per_work };
            for Launch {
                range, ns, found, ..
            } in &mut gpu.launch_times.done
            {
                // If the work is negligible compared with the launch cost, the time shows no more.
                let least = least_shown * fixed;
                let work = match beyond(*ns) >= least {
                    true => beyond(*ns) / per_work,
                    false => self.density.work(range.clone()).min(least / per_work),
                };
                self.density.add_done(range.clone(), work);
                *found = Some(work);
            }
        }
    }

    /// Returns the mean time of a task on one worker, ns, observed or estimated. If tasks differ, a
    /// few say little: the prior counts as some more.
    fn cpu_task_ns(&self) -> Ns {
        let mean = match self.knows_shape() && self.cpu.weight > 0.0 {
            // It is known where the work lies: the workers' pace explains the difference.
            true => self.cpu.took / self.cpu.weight,
            // The time of a call with few tasks is mostly its fixed cost.
            _ if self.calls.is_some() => self.cpu.took / self.cpu.done.max(1.0),
            // The work inferred from a GPU's times depends on what was known of that GPU before.
            false if self.setup.cpu.is_none() => self.density.mean_sampled(),
            false => self.density.mean_done(),
        };
        let Some(known) = self.setup.cpu.filter(|_| self.cpu.done > 0.0) else {
            return mean;
        };
        let tail = Shape::tail_of(self.setup.shape.as_ref());
        let (done, counts) = (self.cpu.done, self.setup.tuning.known_counts * tail);
        (done * mean + counts * known) / (done + counts)
    }

    /// Returns how many mean tasks have the work of these tasks, as observed: a launch of them
    /// counts as that many. If they are few and none was done by a worker, it is what their own
    /// time shows, if anything.
    pub(super) fn weigh(&self, range: Range<usize>, found: Option<f64>) -> Option<usize> {
        let is_wide = range.len() * PLACES >= self.setup.tasks;
        let mean = self.density.mean_done();
        let uneven = self.setup.tuning.most_off;
        let tasks = match self.knows_shape() {
            // It is not known which tasks of a place the launch had.
            _ if !is_wide && self.density.is_uneven(range.clone(), uneven) => found? / mean,
            true => self.density.expected(range),
            false if is_wide || self.density.is_sampled(range.clone()) => {
                self.density.work(range) / mean
            }
            false => found? / mean,
        };
        Some(whole(tasks.round()).max(1))
    }
}
