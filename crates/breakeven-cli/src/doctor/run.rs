//! `breakeven doctor`: checks whether this machine is fit to measure on.

use std::io::Write;
use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use breakeven::hardware::SystemLoad;
use breakeven_judge::{Outcome, Threshold};
use breakeven_profile::profile::{Failure, Profile};
use breakeven_profile::recorder::Clock;
use clap::Args;

use crate::doctor::{Diagnosis, Limit, Measured, Observer, findings, page};
use crate::engine::protocol::{Cell, Request};
use crate::engine::session::Session;
use crate::engine::suite::{NoiseWork, WORKING_SET_BYTES};
use crate::engine::supervisor::{self, Ended};
use crate::exit::{Ending, Interrupted};

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// How long to measure noise: 3 s to 10 min; a longer time allows more runs, and a better
    /// estimate of the noise between runs
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) duration: Duration,

    /// Smallest change to detect on this machine, as in 5% or 0.05
    #[arg(long, value_name = "FRACTION", default_value = "5%")]
    #[arg(value_parser = crate::values::threshold)]
    pub(crate) threshold: Threshold,

    /// Most runs per side that are acceptable: a machine that needs more is not fit
    #[arg(long, value_name = "N", default_value = "10")]
    #[arg(value_parser = crate::values::one_or_more::<NonZeroU64>)]
    pub(crate) runs: NonZeroU64,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::values::PageFormat,
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = crate::values::time(text)?;
    let is_usual = (Duration::from_secs(3)..=Duration::from_secs(600)).contains(&duration);
    is_usual
        .then_some(duration)
        .ok_or_else(|| "give 3 s to 10 min".to_owned())
}

/// Idle phase in which other load is observed: CPU time is counted in hundredths of a second.
const QUIET: Duration = Duration::from_secs(1);

/// Time per benchmark in a run: with all three, and the start of its process, a run takes less than
/// a second.
const PIECE: Duration = Duration::from_millis(200);

/// Fewest runs that show how much runs vary.
const FEWEST_RUNS: usize = 5;

/// Divisor of the free memory that gives the largest size to read.
const PART_OF_MEMORY: u64 = 8;

const STOPPED: Interrupted = Interrupted("interrupted before anything was measured");

pub(crate) fn run(args: &DoctorArgs, out: &mut dyn Write, _: &mut dyn Write) -> Result<Ending> {
    let interrupted = supervisor::interruption()?;
    let progress = crate::profile::progress(args.duration.as_millis() as u64);
    progress.set_message("observing the idle machine");
    let mut observer = Observer::start();
    thread::sleep(QUIET);
    observer.quiet_has_ended();
    if interrupted.load(std::sync::atomic::Ordering::SeqCst) {
        return Err(STOPPED.into());
    }
    let clock = Clock::new().measure();
    let free = SystemLoad::sample_without_gpu()
        .available_memory_bytes
        .get();
    let working_set_bytes = free.map_or(WORKING_SET_BYTES, |free| {
        WORKING_SET_BYTES.min(free / PART_OF_MEMORY)
    });
    let request = Request {
        cells: NoiseWork::ALL
            .map(|work| Cell::Noise {
                work,
                for_ms: PIECE.as_millis() as u64,
                working_set_bytes,
            })
            .to_vec(),
        ..Request::default()
    };
    let mut session = Session::default();
    let (start, mut runs) = (Instant::now(), 0);
    while runs < FEWEST_RUNS || start.elapsed() < args.duration {
        runs += 1;
        progress.set_message(format!("noise, run {runs}"));
        let ended = session.run(&request, &mut |_, _| {})?;
        if ended == Ended::Interrupted {
            progress.finish_and_clear();
            return Err(STOPPED.into());
        }
        progress.set_position(start.elapsed().as_millis() as u64);
        if session
            .profile
            .operations
            .iter()
            .any(|each| each.failure.is_some())
        {
            // It would fail again.
            break;
        }
    }
    progress.finish_and_clear();
    let facts = observer.end(Some(clock));
    let limit = Limit {
        threshold: args.threshold,
        runs: args.runs.get(),
    };
    let diagnosis = Diagnosis {
        findings: findings(&facts),
        noise: noise(&request.cells, &session.profile, limit),
        working_set_bytes,
        limit,
    };
    page::write(&diagnosis, &facts, args.format, out)?;
    Ok(Ending::Judged(match diagnosis.is_fit() {
        true => Outcome::Passed,
        false => Outcome::Inconclusive,
    }))
}

/// The noise of every benchmark, or why it is unknown.
fn noise(cells: &[Cell], profile: &Profile, limit: Limit) -> Vec<Measured> {
    let measured = |cell: &Cell| {
        let Cell::Noise { work, .. } = cell else {
            return None;
        };
        let name = cell.operation()?.name;
        let operation = profile.operations.iter().find(|it| it.name == name);
        let failure = operation.and_then(|operation| operation.failure.clone());
        let noise = operation.and_then(breakeven_judge::Noise::of);
        let noise = match (noise, failure) {
            (_, Some(failure)) => Err(failure),
            (Some(noise), None) => Ok(noise),
            (None, None) => Err(Failure {
                kind: "no samples".to_owned(),
                message: "there are too few runs".to_owned(),
            }),
        };
        Some(Measured::new(*work, noise, limit))
    };
    cells.iter().filter_map(measured).collect()
}
