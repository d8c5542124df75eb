//! Runs a batch: decides, runs, learns, records. Without the types of its tasks.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use super::check::Check;
use super::control::FallbackPolicy;
use super::drive::Driver;
use super::ended::{Ended, Ending};
use super::energy::Measured;
use super::engine::{Engine, Leaf, Running, Watch};
use super::executor::CpuExecutor;
use super::portion::Portion;
use super::quarantine;
use super::record::{self, SpanRecord};
use super::result::LeftOut;
use super::slot::GpuSlot;
use super::start::{Question, Start, no_gpu};
use super::threads::Jobs;
use super::work::{Lane, Work};
use crate::error::{DeviceError, Error};
use crate::locked;
use crate::plan::{Learned, Order, Tuning};
use crate::schedule::{GpuTurn, LONGEST_CALL, Schedule, Setup, Standing, until_look};
use crate::store::saver;

/// How long a worker that waits for a device sleeps between two checks for work of its pool.
const SHORTEST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// Batches on one worker's stack, each waiting for its device, up to which the worker takes more
/// work from its pool at once; beyond, only after a while without progress.
const MANY_WAITS: u32 = 8;
const PATIENCE: Duration = Duration::from_millis(5);

thread_local! {
    /// Batches that this thread waits for, nested.
    static WAITS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// A batch to run, whatever its types are.
pub(super) struct Request<'r> {
    pub(super) question: &'r Question<'r>,
    pub(super) cpu: &'r dyn CpuExecutor,
    pub(super) work: &'r dyn Work,
    pub(super) watch: Watch<'r>,
    pub(super) policy: FallbackPolicy,
    pub(super) timeout: Option<Duration>,
    pub(super) check: Check,
    /// Every task has its own result.
    pub(super) each: bool,
    /// The batch's items, if a task has several.
    pub(super) items: Option<usize>,
}

impl Request<'_> {
    pub(super) fn run(self) -> Result<Ended, Error> {
        let question = self.question;
        let (shared, operation) = (question.shared, question.operation);
        let tasks = question.workload.task_count;
        let started = Instant::now();
        let start = question.answer()?;
        let energy = shared.measured_energy();
        if let Some(energy) = energy {
            energy.begins(&question.known_as, question.workload.memory_per_task);
        }
        let mut schedule = self.schedule(&start);
        schedule.most_of_worker = self.cpu.most_tasks();
        let drives = start.decision.orders.use_gpus();
        // Why no GPU can be used although one was requested.
        let why = |left_out: &LeftOut| left_out.why.clone();
        let promised = start.decision.strategy.shares(tasks).0;
        let is_refused = promised > 0 && start.usable.is_empty();
        let refused = is_refused.then(|| start.left_out.first().map_or_else(no_gpu, why));
        let is_denied = is_refused && !schedule.refuse_gpus(promised);
        let usable = start.usable.iter().filter(|_| drives);
        let lanes: Vec<&dyn Lane> = usable.map(|index| question.lanes[*index]).collect();
        let running = Running::new(schedule, lanes.len());
        let mut engine = Engine::new(self.work, &lanes, tasks, &running, self.watch, started);
        engine.record = SpanRecord::of(operation, &start.names);
        if let Some(error) = &refused {
            engine.shared().counts.note(None, error);
        }
        match refused.filter(|_| is_denied) {
            Some(error) => engine.end(Ending::Device(error)),
            None if drives => self.drive(&engine, &start),
            None if self.work.is_whole() => self.run_whole(&engine),
            None if self.watch.is_set() || self.work.is_call() => self.run_watched(&engine),
            None => self.run_straight(&engine),
        }
        self.finish(&engine);
        let stop = match self.each {
            true => engine.leave_out_undone(),
            false => None,
        };
        let (took, done) = (started.elapsed(), engine.done());
        let (ending, mut counts) = engine.outcome();
        let mut running = engine.shared();
        let schedule = &mut running.schedule;
        counts.fallback.tasks = schedule.fallback;
        counts.fallback.fits = schedule.fits();
        counts.fell = schedule.fallback_of_gpus();
        if counts.fallback.tasks == 0 {
            counts.fallback.delay = None;
        }
        let predicted = start.decision.predicted_split(&start.costs);
        let ended = Ended {
            ending,
            stop,
            recalled: schedule.recalled,
            counts,
            decision: start.decision,
            names: start.names,
            left_out: start.left_out,
            took,
            tasks,
            done,
        };
        let costs = shared.costs(question.slots.is_empty());
        if let Some(costs) = costs.filter(|_| ended.is_whole()) {
            let took = (ended.took.as_nanos() as f64, predicted);
            costs.change(|model| {
                let mut batch = Learned {
                    model,
                    operation: &question.known_as,
                    memory_per_task: question.workload.memory_per_task,
                    at: SystemTime::now(),
                    workers: question.workers,
                    way: ended
                        .decision
                        .way()
                        .map(|way| (way, ended.what_it_took(question.workers))),
                };
                schedule.teach(&mut batch, &ended.names, ended.counts.cpu.tasks, took);
            });
            saver::save(costs);
        }
        if let Some(energy) = energy {
            let batch = Measured {
                took: ended.took,
                counts: &ended.counts,
                names: &ended.names,
                workers: question.workers,
            };
            let batch = Some(&batch).filter(|_| ended.is_whole());
            let costs = costs.map(|costs| &**costs);
            energy.ended(batch, costs, &shared.capabilities);
        }
        record::batch(&ended, self.items, operation, shared);
        Ok(ended)
    }

    fn schedule(&self, start: &Start) -> Schedule {
        let tasks = self.question.workload.task_count;
        // In pieces, outputs that could stay on the device would come to the host.
        let mut lanes = self.question.lanes.iter();
        let is_watched = self.watch.sees_parts() && !lanes.any(|lane| lane.keeps_outputs());
        let size = (tasks, self.question.workers);
        let setup = Setup::of(
            &start.decision,
            &start.costs,
            size,
            &start.gpus,
            Tuning::USUAL,
        );
        Schedule::new(Setup {
            is_watched,
            deadline: (self.watch.deadline.filter(|_| is_watched)).map(|end| {
                let left = end.saturating_duration_since(Instant::now());
                left.as_nanos() as f64
            }),
            is_call: self.work.is_call(),
            may_fall_back: self.policy.most(tasks),
            ..setup
        })
    }

    /// Runs everything on the workers, without a clock or a schedule in between.
    fn run_straight(&self, engine: &Engine<'_>) {
        let all = engine.shared().schedule.take_any();
        if let Some(all) = all {
            self.cpu.all(Portion::new(all, engine));
        }
    }

    /// Runs everything as one span, which is divided internally; if it may be stopped or reports
    /// progress, piece by piece with checks in between.
    fn run_whole(&self, engine: &Engine<'_>) {
        let mut left = engine.shared().schedule.take_any();
        let mut items = if self.watch.is_set() { 1 } else { usize::MAX };
        while let Some(span) = left.take_if(|_| !engine.should_stop()) {
            let began = Instant::now();
            let (piece, rest) = span.split(items);
            left = rest;
            let done = piece.len() as f64;
            let mut piece = Some(piece);
            let mut run = || piece.take().into_iter().for_each(|piece| engine.run(piece));
            self.cpu.install(&mut run);
            let each = began.elapsed().as_nanos() as f64 / done.max(1.0);
            items = until_look(items, LONGEST_CALL, each);
        }
        left.into_iter().for_each(|left| engine.give_back(left));
    }

    /// Runs everything on the workers, with checks.
    fn run_watched(&self, engine: &Engine<'_>) {
        if engine.tasks > 0 {
            let leaf = || engine.leaf();
            // A worker that calls works too.
            let keeps = self.watch.may_stop() && !self.cpu.is_worker();
            self.cpu.run(engine.tasks, &leaf, &mut |wake| match keeps {
                true => engine.keep_time(wake),
                false => wake(),
            });
        }
    }

    /// Runs what remains when all threads have stopped: spans that were given back at the very end,
    /// or that an executor lost.
    fn finish(&self, engine: &Engine<'_>) {
        let is_left = || {
            let mut shared = engine.shared();
            shared.schedule.leave_all_gpus();
            !engine.is_over() && !shared.schedule.is_empty()
        };
        while is_left() {
            let before = engine.done();
            self.run_watched(engine);
            if engine.done() == before {
                while engine.leaf() != Leaf::Idle {}
            }
        }
    }

    /// Runs the GPUs' drivers beside the workers. The calling thread drives the first GPU, unless
    /// it is a worker of a pool, where it would be missing.
    fn drive(&self, engine: &Engine<'_>, start: &Start) {
        let slot = |index: usize| &*self.question.slots[start.usable[index]];
        let standing = |index: usize, standing, began, error: Option<&DeviceError>| {
            self.note_standing(slot(index), standing, began, error);
        };
        // Before the workers begin: they leave the GPUs their first tasks.
        let first = |index| Some(engine.shared().schedule.gpu_turn(index, 0.0));
        let firsts = (0..engine.lanes.len()).map(first).map(Mutex::new);
        let firsts: Vec<Mutex<Option<GpuTurn>>> = firsts.collect();
        self.cpu.run(engine.tasks, &|| engine.leaf(), &mut |wake| {
            let driver = Driver {
                check: self.check,
                timeout: self.timeout,
                standing: &standing,
                wake,
            };
            let driver = &driver;
            Jobs::scope(|jobs| {
                let is_worker = self.cpu.is_worker();
                let mut own = None;
                for (index, first) in firsts.iter().enumerate() {
                    if index == 0 && !is_worker {
                        own = locked(first).take();
                        continue;
                    }
                    let (drivers, name) = (&slot(index).drivers, &start.names[index]);
                    let thread = std::thread::current();
                    let job = move || {
                        if let Some(first) = locked(first).take() {
                            driver.run(engine, index, first);
                        }
                        thread.unpark();
                    };
                    if !jobs.start(drivers, name, job) {
                        engine.has_no_driver(index, locked(first).take());
                    }
                }
                if start.decision.orders.cpu != Order::Nothing {
                    wake();
                }
                if let Some(first) = own {
                    driver.run(engine, 0, first);
                }
                if is_worker {
                    self.help_while(|| jobs.is_open());
                }
            });
        });
    }

    /// Runs other work of the calling worker's pool meanwhile. It must not sleep: it may be the
    /// only worker for what a device asks of the pool.
    fn help_while(&self, is_open: impl Fn() -> bool) {
        let waits = WAITS.get();
        WAITS.set(waits + 1);
        let mut pause = SHORTEST_PAUSE;
        let mut since = Instant::now();
        while is_open() {
            let helps = waits < MANY_WAITS || since.elapsed() >= PATIENCE;
            if helps && self.cpu.help() {
                pause = SHORTEST_PAUSE;
                since = Instant::now();
            } else {
                std::thread::park_timeout(pause);
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
        }
        WAITS.set(waits);
    }

    /// Records that a device failed or works again.
    fn note_standing(
        &self,
        slot: &GpuSlot,
        standing: Standing,
        began: Instant,
        error: Option<&DeviceError>,
    ) {
        let question = self.question;
        if standing == Standing::Works && quarantine::is_empty() {
            return;
        }
        let [device, of_operation] = slot.keys(question.operation);
        let key = match standing {
            Standing::Works => {
                quarantine::works(&device, began);
                return quarantine::works(&of_operation, began);
            }
            Standing::LeaveOperation => of_operation,
            Standing::Quarantine => device,
        };
        let back_off = question.config.back_off;
        let why = error.map_or_else(String::new, ToString::to_string);
        if quarantine::failed(&key, &why, back_off, began, Instant::now()) {
            record::quarantine(&slot.known().name, question.operation, question.shared);
            if let Some(error) = error {
                log::warn!("{key} is quarantined for a while: {error}");
            }
        }
    }
}
