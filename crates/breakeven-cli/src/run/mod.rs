//! `breakeven run`: runs commands as the tasks of the engine, on the CPU and on GPUs.
//!
//! A separate thread reads the inputs. They run in windows, each a batch of the engine: one
//! window's times decide the next, and endless inputs need bounded memory. The next window begins
//! when all inputs of the current one have been started.

use std::ffi::OsString;
use std::io;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use breakeven::execute::{CancelToken, GpuExecutor, StrategyManager};
use breakeven::plan::{ExecutionStrategy, ProfilingHeuristics};
use breakeven::{Costs, WorkloadProfile};
use breakeven_judge::Outcome;
use breakeven_profile::file;
use breakeven_profile::recorder::{ExportError, get_profiler};
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use inputs::{Input, InputError};
use jobs::{Jobs, Stop};
use running::lock;
use template::{Filling, Template};
use window::{Ends, Ticket, Window};
use workers::Workers;

use crate::engine::supervisor::{on_interrupt, start_thread};
use crate::exit::{Interrupted, failed_if};
use crate::profile::progress;
use crate::run::args::RunArgs;
use gpu::GpuSlot;
use joblog::{Before, Joblog, Resume};
use printer::Printer;
use running::{Looks, Running};
use visible::Devices;

pub(crate) mod args;
mod gpu;
mod inputs;
mod joblog;
mod jobs;

mod printer;
pub(crate) mod process;
pub(crate) mod running;
mod summary;
pub(crate) mod template;

mod visible;
mod window;
mod workers;

/// Inputs of a window per concurrent job, and the maximum.
const PER_SLOT: usize = 256;
const MOST_INPUTS: usize = 4096;

/// A window begins with the inputs at hand once none has arrived for this long.
const QUIET: Duration = Duration::from_millis(5);

/// How often to check for a stop while waiting for inputs.
const LOOK: Duration = Duration::from_millis(50);

/// Most finished jobs that wait for an earlier one to be printed.
const MOST_BEHIND: usize = 1 << 18;

type Inputs = Receiver<Result<Input, InputError>>;

pub(crate) fn run(args: &RunArgs, err: &mut dyn Write) -> Result<Outcome> {
    let template = |option: &str, text: &OsString| {
        let read = Template::new(text);
        read.with_context(|| format!("--{option} {:?}", text.display()))
    };
    let cpu = template("cpu", &args.cpu)?;
    let gpu = args
        .gpu
        .as_ref()
        .map(|text| template("gpu", text))
        .transpose()?;
    let asks = !matches!(
        args.strategy,
        ExecutionStrategy::Auto | ExecutionStrategy::CpuOnly
    );
    if gpu.is_none() && asks {
        bail!(
            "--strategy {}: give the GPU's command with --gpu",
            args.strategy
        );
    }
    if args.dry_run {
        return dry_run(args, &cpu, gpu.as_ref());
    }
    if let Some(path) = &args.profile {
        file::check_writable(path)?;
    }
    let begun = Instant::now();
    let bar = match args.progress {
        true => {
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {left}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            progress(0).with_style(style.with_key("left", left))
        }
        false => ProgressBar::hidden(),
    };
    let inputs = inputs::read(args, &bar)?;
    let (jobs, looks, before) = prepare(args, cpu, gpu, bar)?;
    let recorder = get_profiler(args.profile.is_some());
    stop_on_interrupt(&jobs)?;
    let happened = jobs.running.watched(looks, || {
        let cpu = Arc::new(Workers::new(jobs.workers));
        match jobs.gpu {
            None => {
                let costs = Arc::new(Costs::open_default().0);
                let manager = StrategyManager::cpu_only(cpu).with_costs(costs);
                windows(args, &jobs, &manager, &inputs, before, err)
            }
            Some(_) => {
                let manager = manager(args, &jobs, cpu);
                windows(args, &jobs, &manager, &inputs, before, err)
            }
        }
    });
    jobs.bar.finish_and_clear();
    let printed = lock(&jobs.printer).end();
    let summary = lock(&jobs.summary);
    if !args.quiet || summary.has_failed() {
        for line in summary.lines(begun.elapsed()) {
            let _ = writeln!(err, "{}", breakeven_judge::page::clean(&line));
        }
    }
    if let Some(path) = &args.profile {
        match recorder.export_json(path) {
            Err(ExportError::Empty) => {
                let _ = writeln!(err, "no job was done: no profile is written");
            }
            // By itself, so that a full disk is recognised.
            Err(ExportError::File(error)) => return Err(error.into()),
            exported => exported?,
        }
    }
    happened?;
    if let Err(error) = printed {
        jobs.stop(Stop::Output(error));
    }
    let failed = summary.has_failed();
    match jobs.stop.get() {
        Some(Stop::Interrupted) if args.joblog.is_some() => {
            Err(Interrupted("interrupted: --resume goes on from here").into())
        }
        Some(Stop::Interrupted) => Err(Interrupted("interrupted").into()),
        Some(Stop::Output(error)) => {
            let what = format!("cannot write the output of jobs, or the joblog: {error}");
            Err(anyhow::Error::new(io::Error::from(error.kind())).context(what))
        }
        Some(Stop::Halted) | None => Ok(failed_if(failed)),
    }
}

/// How long an interrupted run prints remaining output, for example into a pipe that nobody reads.
/// Jobs that ignore the request to end are killed before.
const LAST_WORDS: Duration = Duration::from_millis(900);

/// Stops the jobs on Ctrl-C.
fn stop_on_interrupt(jobs: &Arc<Jobs>) -> Result<()> {
    let interrupted = Arc::downgrade(jobs);
    on_interrupt(move || {
        let Some(jobs) = interrupted.upgrade() else {
            return;
        };
        jobs.stop(Stop::Interrupted);
        drop(jobs);
        // Finished jobs are in the joblog; others run again.
        let end = || std::process::exit(130);
        let later = start_thread(move || {
            std::thread::sleep(LAST_WORDS);
            end()
        });
        if later.is_err() {
            end();
        }
    })
}

/// The estimated time left; nothing before there is an estimate.
fn left(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    let eta = state.eta();
    if !eta.is_zero() {
        let _ = write!(out, "{:#} left", HumanDuration(eta));
    }
}

/// Prints the commands: the GPU's if all jobs would run on it.
fn dry_run(args: &RunArgs, cpu: &Template, gpu: Option<&Template>) -> Result<Outcome> {
    let gpu = gpu.filter(|_| args.strategy == ExecutionStrategy::GpuOnly);
    let most = if gpu.is_some() {
        args.gpu_batch.get()
    } else {
        1
    };
    let inputs = inputs::read(args, &ProgressBar::hidden())?;
    let mut inputs = inputs.into_iter().peekable();
    // Written as bytes, because they need not be UTF-8.
    let mut out = io::stdout().lock();
    while inputs.peek().is_some() {
        let several: Vec<Input> = inputs.by_ref().take(most).collect::<Result<_, _>>()?;
        let filled: Vec<&[u8]> = several.iter().map(Input::bytes).collect();
        let mut line = gpu.unwrap_or(cpu).shown(Filling {
            inputs: &filled,
            number: several.first().map_or(0, |input| input.number),
            slot: 1,
        });
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(Outcome::Passed)
}

/// Runs the inputs, window by window.
fn windows<G: GpuExecutor<Ticket, ()>>(
    args: &RunArgs,
    jobs: &Jobs,
    manager: &StrategyManager<Workers, G>,
    inputs: &Inputs,
    mut before: Before,
    err: &mut dyn Write,
) -> Result<()> {
    let on_gpus = jobs.visible.len().saturating_mul(args.gpu_batch.get());
    let at_once = jobs.workers.saturating_add(on_gpus);
    let most = at_once.saturating_mul(PER_SLOT).min(MOST_INPUTS);
    let (explanation, failed) = (Mutex::new(None), Mutex::new(None));
    let run = |window: &Arc<Window>| {
        let _ends = Ends(window);
        let tickets = window.tickets();
        let workload = WorkloadProfile::from_task_count(tickets.len());
        let batch = manager.operation(&jobs.operation).cancel(&jobs.cancel);
        let batch = batch.workload(workload);
        let result = batch.execute_each(&tickets, |ticket| jobs.on_cpu(ticket));
        match result {
            Ok(result) => {
                lock(&jobs.summary).recalled += result.recalled as u64;
                *lock(&explanation) = args.explain.then(|| result.explain().to_string());
            }
            Err(error) => *lock(&failed) = Some(error),
        }
    };
    std::thread::scope(|scope| {
        while jobs.stop.get().is_none() && lock(&failed).is_none() {
            let (window, ended) = fill(jobs, inputs, &mut before, most);
            if !window.is_empty() {
                let window = Window::new(window);
                let (this, run) = (Arc::clone(&window), &run);
                let thread = std::thread::Builder::new().spawn_scoped(scope, move || run(&this));
                thread.context("cannot start the thread of a window")?;
                window.wait();
            }
            match ended {
                Some(Ok(())) => {
                    lock(&jobs.summary).unmatched = before.len();
                    break;
                }
                Some(Err(error)) => return Err(error.into()),
                None => {}
            }
        }
        anyhow::Ok(())
    })?;
    if let Some(error) = lock(&failed).take() {
        return Err(error.into());
    }
    lock(&jobs.summary).quarantines = manager.stats().quarantines;
    if let Some(explanation) = lock(&explanation).take() {
        let _ = writeln!(err, "{}", explanation.trim_end());
    }
    Ok(())
}

/// The inputs of a window, without finished jobs, and whether there are no more, or why.
fn fill(
    jobs: &Jobs,
    inputs: &Inputs,
    before: &mut Before,
    most: usize,
) -> (Vec<Input>, Option<Result<(), InputError>>) {
    let mut window = Vec::new();
    while lock(&jobs.printer).behind() >= MOST_BEHIND && jobs.stop.get().is_none() {
        std::thread::sleep(LOOK);
    }
    for _ in 0..most {
        let input = loop {
            let pause = if window.is_empty() { LOOK } else { QUIET };
            match inputs.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) if window.is_empty() => {
                    if jobs.stop.get().is_some() {
                        return (window, None);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return (window, None),
                Err(RecvTimeoutError::Disconnected) => return (window, Some(Ok(()))),
                Ok(Err(error)) => return (window, Some(Err(error))),
                Ok(Ok(input)) => break input,
            }
        };
        let earlier = match before.len() {
            0 => None,
            _ => before.take(input.number, &jobs.shown(&input)),
        };
        match earlier {
            None => window.push(input),
            Some(earlier) => {
                if let Err(error) = lock(&jobs.printer).skip(input.number) {
                    jobs.stop(Stop::Output(error));
                    return (window, None);
                }
                jobs.bar.dec_length(1);
                let mut summary = lock(&jobs.summary);
                summary.left_out += 1;
                summary.failed_before += u64::from(before.has_failed(earlier));
            }
        }
    }
    (window, None)
}

/// Most concurrent processes: hardly a system runs more.
const MOST_SLOTS: usize = 1 << 16;

/// The shared state of jobs, and the jobs to skip.
fn prepare(
    args: &RunArgs,
    cpu: Template,
    gpu: Option<Template>,
    bar: ProgressBar,
) -> Result<(Arc<Jobs>, Looks, Before)> {
    let resume = match (args.resume, args.resume_failed) {
        (true, _) => Resume::Ended,
        (_, true) => Resume::Succeeded,
        _ => Resume::Nothing,
    };
    let joblog = args.joblog.as_ref();
    let opened = joblog.map(|path| Joblog::open(path, resume));
    let (joblog, before) = opened.transpose()?.unzip();
    let before = before.unwrap_or_default();
    let printer = Printer::new(args.keep_order, joblog)?;
    let devices = Devices::find();
    let slots = args
        .gpu_slots
        .map_or_else(|| devices.count(), |slots| slots.get());
    let slots = if gpu.is_some() {
        slots.min(MOST_SLOTS)
    } else {
        0
    };
    let usable = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let texts = [Some(&cpu), gpu.as_ref()].into_iter().flatten();
    let texts: Vec<_> = texts.map(|each| each.text.to_string_lossy()).collect();
    let (running, looks) = Running::new(args.timeout, None);
    let jobs = Jobs {
        operation: args.name.clone().unwrap_or_else(|| texts.join(" | gpu: ")),
        cpu,
        gpu,
        visible: (0..slots).map(|slot| devices.visible(slot)).collect(),
        workers: args
            .jobs
            .map_or_else(usable, |jobs| jobs.get().min(MOST_SLOTS)),
        retries: args.retries,
        halt: args.halt,
        running,
        printer: Mutex::new(printer),
        summary: Mutex::default(),
        bar,
        cancel: CancelToken::new(),
        stop: OnceLock::new(),
        lets_end: AtomicBool::new(false),
    };
    Ok((Arc::new(jobs), looks, before))
}

/// The engine with the GPU slots.
fn manager(
    args: &RunArgs,
    jobs: &Arc<Jobs>,
    cpu: Arc<Workers>,
) -> StrategyManager<Workers, GpuSlot> {
    let slot = |slot| Arc::new(GpuSlot::new(Arc::clone(jobs), slot, args.gpu_batch.get()));
    let first = StrategyManager::new(cpu, slot(0));
    let all = (1..jobs.visible.len()).fold(first, |manager, each| manager.with_gpu(slot(each)));
    // Even a few processes are worth trying both devices: one takes milliseconds, not microseconds.
    let heuristics = ProfilingHeuristics::default().with_min_tasks(1);
    all.with_strategy(args.strategy)
        .with_heuristics(heuristics.with_small_threshold(0))
        // A launch has its own limit.
        .with_timeout(None)
}
