//! Prepares a run before its first job.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use anyhow::{Context, Result};
use breakeven::execute::{CancelToken, StrategyManager};
use breakeven::plan::ProfilingHeuristics;
use indicatif::ProgressBar;

use super::gpu::GpuSlot;
use super::joblog::{Before, Joblog, Resume};
use super::jobs::Jobs;
use super::printer::Printer;
use super::running::{Looks, Running};
use super::spool::Spool;
use super::template::Template;
use super::visible::Devices;
use super::workers::Workers;
use crate::run::args::RunArgs;

/// Most concurrent processes: no system runs more.
const MOST_SLOTS: usize = 1 << 22;

/// The shared state of jobs, and the jobs to skip.
pub(super) fn prepare(
    args: &RunArgs,
    cpu: Template,
    gpu: Option<Template>,
    bar: ProgressBar,
    err: &mut dyn Write,
) -> Result<(Arc<Jobs>, Looks, Before)> {
    let resume = match (args.resume, args.resume_failed) {
        (true, _) => Resume::Ended,
        (_, true) => Resume::Succeeded,
        _ => Resume::Nothing,
    };
    let joblog = args.joblog.as_ref();
    let opened = joblog.map(|path| Joblog::open(path, resume, err));
    let (joblog, before) = opened.transpose()?.unzip();
    let before = before.unwrap_or_default();
    let mut spool = spool(args, &before)?;
    let earlier = spool.take_if(|_| !args.keep_order);
    let mut printer = Printer::new(spool, joblog)?;
    earlier.map_or(Ok(()), |earlier| printer.print_held(earlier))?;
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
    let texts: Vec<_> = texts.map(|each| each.text().to_string_lossy()).collect();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let run = format!(
        "{}-{}",
        std::process::id(),
        since.unwrap_or_default().as_nanos()
    );
    let (running, looks) = Running::new(args.timeout, None);
    let jobs = Jobs {
        operation: args.name.clone().unwrap_or_else(|| texts.join(" | gpu: ")),
        cpu,
        gpu,
        run,
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

/// The spool for outputs that wait for their turn, with those of an earlier run.
fn spool(args: &RunArgs, before: &Before) -> Result<Option<Spool>> {
    let Some(joblog) = &args.joblog else {
        return Ok(args.keep_order.then(Spool::unnamed).transpose()?);
    };
    let mut path = joblog.clone().into_os_string();
    path.push(".spool");
    let path = PathBuf::from(path);
    if !args.keep_order && !path.exists() {
        return Ok(None);
    }
    let spool = Spool::named(&path, &before.numbers());
    let spool = spool.with_context(|| format!("cannot use the spool {}", path.display()))?;
    Ok(Some(spool))
}

/// The engine with the GPU slots.
pub(super) fn manager(
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
