//! `breakeven ab`: runs two commands in turns until it is decided which is faster.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use args::AbArgs;
use breakeven_judge::{Ab, AbComparison, ChangeType, Outcome};
use breakeven_profile::unit;

use crate::ab::page::write;
use crate::engine::supervisor::interruption;
use crate::exit::Interrupted;
use crate::profile::progress;

pub(crate) mod args;
mod kernel;
pub(crate) mod page;
#[cfg(unix)]
mod programs;

/// When measuring ends, even if undecided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) end: Instant,
    interrupted: &'static AtomicBool,
}

impl Limit {
    /// That time from now on, or Ctrl-C.
    pub(crate) fn after(time: Duration) -> Result<Self> {
        let interrupted = interruption()?;
        // A year is effectively no limit.
        let longest = Duration::from_secs(365 * 24 * 3600);
        let end = Instant::now() + time.min(longest);
        Ok(Self { end, interrupted })
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    pub(crate) fn is_reached(&self) -> bool {
        self.is_interrupted() || Instant::now() >= self.end
    }
}

/// Times a run of A, or of B if its argument is true, ns; none if the limit ended the run.
type Time<'t> = &'t mut dyn FnMut(bool) -> Result<Option<f64>>;

pub(crate) fn run(args: &AbArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    let limit = Limit::after(args.time_limit)?;
    let compared = match args.kernel.is_some() || !args.chain.is_empty() {
        true => kernel::timed(args, |name, time| compare(args, limit, name, 5, time)),
        #[cfg(unix)]
        false => programs::timed(args, limit, |time| {
            let name = format!("{} against {}", args.b.text, args.a.text);
            compare(args, limit, name, 1, time)
        }),
        #[cfg(not(unix))]
        false => {
            anyhow::bail!("commands are compared on Unix systems; --kernel and --chain are here")
        }
    };
    let compared = match compared {
        Ok(compared) => compared,
        #[cfg(unix)]
        Err(error) if error.is::<programs::Failed>() => {
            let _ = writeln!(err, "error: {error}");
            return Ok(Outcome::Failed);
        }
        Err(error) => return Err(error),
    };
    let was_interrupted = limit.is_interrupted();
    if was_interrupted && compared.a_ns.is_empty() {
        return Err(Interrupted("interrupted before anything was measured").into());
    }
    write(args, &compared, out)?;
    Ok(match compared.verdict {
        _ if was_interrupted => {
            let said = "interrupted: the measurements so far are above";
            return Err(Interrupted(said).into());
        }
        _ if !args.gate => Outcome::Passed,
        ChangeType::Regression => Outcome::Failed,
        ChangeType::Inconclusive => Outcome::Inconclusive,
        _ => Outcome::Passed,
    })
}

/// Warms both sides up and measures them in turns until the comparison is decided or the limit is
/// reached. `block` samples are judged together.
fn compare(
    args: &AbArgs,
    limit: Limit,
    name: String,
    block: usize,
    time: Time<'_>,
) -> Result<AbComparison> {
    let (begun, mut runs) = (Instant::now(), 0_u64);
    let progress = progress(args.time_limit.as_millis().try_into().unwrap_or(u64::MAX));
    let mut step = |is_b: bool| -> Result<Option<f64>> {
        if limit.is_reached() {
            return Ok(None);
        }
        // A process that was asked to end may still exit with success.
        let took = time(is_b)?.filter(|_| !limit.is_reached());
        runs += 1;
        progress.set_position(begun.elapsed().as_millis() as u64);
        let side = if is_b { "B" } else { "A" };
        let last = took.map_or_else(String::new, |ns| {
            format!(", the last of {side} {}", unit::time(ns))
        });
        progress.set_message(format!("run {runs}{last}"));
        Ok(took)
    };
    for _ in 0..args.warmup {
        step(false)?;
        step(true)?;
    }
    let ab = Ab::new(name).threshold(args.threshold).block(block);
    let compared = ab.most_time(args.time_limit).run_samples(step);
    progress.finish_and_clear();
    let mut compared = compared?;
    // The limit includes the warm-ups.
    compared.took = begun.elapsed();
    Ok(compared)
}
