//! `breakeven monitor --every`: measures now and again, adds to a history, and tells what
//! became slower. What an alert is, when it opens and when it has recovered is the
//! history's to say (`breakeven_history::turns`).

mod log;
mod measure;
mod tell;
mod webhook;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use breakeven_history::{Added, At, Branches, History, HistoryError, Sensitivity, turns};
use breakeven_judge::Outcome;
use breakeven_profile::profile::Profile;

use crate::commands::history::git;
use crate::engine::args::{EveryArgs, MonitorArgs};
use crate::engine::output;
use crate::engine::periodic::alert::{Alert, State};
use crate::engine::periodic::event::Event;
use crate::engine::supervisor::interruption;
use crate::exit::{Ending, Interrupted};
use measure::{Measured, RunError, Work};

/// The history's file where none is named, as that of `breakeven history`.
const HISTORY: &str = "breakeven-history.db";

/// The longest wait for the next start: a signal is noticed within it.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What goes on from run to run.
struct Periodic<'a> {
    args: &'a EveryArgs,
    work: Work,
    history: PathBuf,
    interrupted: &'static AtomicBool,
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    /// True where an alert opened, or a run failed.
    failed: bool,
}

pub(super) fn run(
    args: &MonitorArgs,
    period: Duration,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Ending> {
    let work = work(args)?;
    let history = args.every.history.clone().unwrap_or_else(|| HISTORY.into());
    // What is wrong with them is said now, not after the first run.
    drop(History::create(&history)?);
    if let Some(log) = &args.every.log {
        let opened = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(log);
        opened.with_context(|| format!("{} cannot be written", log.display()))?;
    }
    let mut periodic = Periodic {
        args: &args.every,
        work,
        history,
        interrupted: interruption()?,
        out,
        err,
        failed: false,
    };
    periodic.run(period)?;
    if periodic.interrupted.load(Ordering::SeqCst) {
        return Err(Interrupted("interrupted: what was measured is in the history").into());
    }
    Ok(match periodic.failed {
        true => Ending::Judged(Outcome::Failed),
        false => Ending::Done,
    })
}

fn work(args: &MonitorArgs) -> Result<Work> {
    let words = args.command.clone();
    match (args.every.suite, words.is_empty()) {
        (true, _) => Ok(Work::Suite(words)),
        (false, false) => Ok(Work::Command {
            words,
            profile: args.record.profile.clone(),
        }),
        (false, true) => bail!(
            "there is nothing to measure: give --suite, or a command that writes a profile behind --"
        ),
    }
}

impl Periodic<'_> {
    /// Runs until it was often enough, or Ctrl-C. Starts that a run was too long for are
    /// left out, not caught up.
    fn run(&mut self, period: Duration) -> Result<()> {
        let mut due = Instant::now();
        let mut left = self.args.count.map(u32::from);
        while self.wait(due) {
            let start = Instant::now();
            self.once()?;
            left = left.map(|left| left - 1);
            if left == Some(0) {
                break;
            }
            due += period;
            let late = Instant::now().saturating_duration_since(due);
            let left_out = late.as_nanos().div_ceil(period.as_nanos().max(1));
            let left_out = u32::try_from(left_out).unwrap_or(u32::MAX);
            if left_out > 0 && !self.interrupted.load(Ordering::SeqCst) {
                due += period.saturating_mul(left_out);
                self.happened(Event::Late {
                    took_s: start.elapsed().as_secs_f64(),
                    period_s: period.as_secs_f64(),
                    left_out: left_out.into(),
                })?;
            }
        }
        Ok(())
    }

    /// Waits until then; false where this program is to end.
    fn wait(&self, due: Instant) -> bool {
        loop {
            if self.interrupted.load(Ordering::SeqCst) {
                return false;
            }
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(LOOK_EVERY));
        }
    }

    /// Measures once, adds it, and tells what it turned.
    fn once(&mut self) -> Result<()> {
        let start = Instant::now();
        let began = format!("{:.3}", jiff::Timestamp::now());
        let measured = self.work.run(self.interrupted, self.err);
        let took_s = start.elapsed().as_secs_f64();
        let failed = |reason: String| Event::Failed { reason, took_s };
        let Measured {
            mut profile,
            interrupted,
        } = match measured {
            Ok(measured) => measured,
            // Nothing was measured, and nothing failed.
            Err(RunError::Interrupted) => return Ok(()),
            Err(error) => return self.happened(failed(error.to_string())),
        };
        // Equal times of two runs are two measurements.
        profile.created.get_or_insert(began);
        match add(&self.history, &profile, self.args) {
            Ok(None) => self.happened(failed(
                "the history has this very profile already: was nothing measured anew?".to_owned(),
            )),
            Ok(Some((entry, alerts))) => {
                self.happened(Event::Measured {
                    entry,
                    operations: profile.operations.len(),
                    took_s,
                    interrupted,
                })?;
                alerts.into_iter().try_for_each(|alert| self.alert(alert))
            }
            // What was ended early may have measured nothing.
            Err(HistoryError::Nothing) if interrupted => Ok(()),
            Err(error) => self.happened(failed(error.to_string())),
        }
    }

    fn alert(&mut self, alert: Alert) -> Result<()> {
        let limit = self.args.alert_timeout;
        self.failed |= alert.state == State::Open;
        self.happened(Event::Alert(Box::new(alert.clone())))?;
        let mut not_told = Vec::new();
        if let Some(text) = &self.args.on_alert
            && let Err(error) = tell::command(text, &alert, limit)
        {
            not_told.push(("command", error.to_string()));
        }
        if let Some(to) = &self.args.webhook
            && let Err(error) = webhook::send(to, &alert, limit, self.interrupted)
        {
            not_told.push(("webhook", format!("{to} {error}")));
        }
        let mut events = not_told.into_iter();
        events.try_for_each(|(by, reason)| self.happened(Event::NotTold { by, reason }))
    }

    /// Logs and prints what happened.
    fn happened(&mut self, event: Event) -> Result<()> {
        self.failed |= matches!(event, Event::Failed { .. });
        if let Some(path) = &self.args.log
            && let Err(error) = log::append(path, &event)
        {
            // A full disk is no reason to measure no more.
            let _ = writeln!(self.err, "warning: {}: {error}", path.display());
        }
        output::every::write(&event, self.out)
    }
}

/// Adds a profile; the entry's number, and what it opened and closed. None where it is
/// there already.
fn add(
    path: &Path,
    profile: &Profile,
    args: &EveryArgs,
) -> Result<Option<(i64, Vec<Alert>)>, HistoryError> {
    let mut history = History::create(path)?;
    let at = At {
        commit: profile.environment.revision.clone().or_else(git::commit),
        branch: git::branch(),
        // When it was measured: one commit is measured many times.
        time: None,
    };
    let Added::New(entry) = history.add(profile, &at)? else {
        return Ok(None);
    };
    let sensitivity = Sensitivity {
        threshold: args.alert_threshold,
        factor: args.alert_factor,
    };
    let loaded = history.load(&Branches::Of(at.branch))?;
    let found = turns(&loaded, entry, &sensitivity);
    let alerts = found
        .iter()
        .map(|turn| Alert::of(turn, &loaded, entry, path));
    Ok(Some((entry, alerts.collect())))
}
