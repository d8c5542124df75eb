//! `breakeven doctor`: checks whether this machine is fit to measure on, as far as the system reports.
//!
//! An [`Observer`] collects [`Facts`]: other load while the machine was idle, and what happened under
//! load. [`findings`] are derived from them and from the system's files: each [`Finding`] says what
//! was observed and where, its effect on measured times, and the command that changes it. Nothing
//! here changes a setting. The facts come from Linux's `/proc` and `/sys` and from the sensors; on
//! other systems most are unknown. The noise of times is measured separately; [`Diagnosis`] joins
//! both.

use std::io::Write;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use breakeven_judge::page::figures::plural;
use breakeven_judge::{Noise, Outcome, PlannedRuns, Threshold, planned_runs};
use breakeven_machine::sensors::Sensors;
use breakeven_profile::profile::{Clock, Failure, Profile};
use breakeven_profile::recorder;
use clap::Args;
use facts::{Activity, Counters, Facts};
use rules::{Finding, Standing, findings};
use serde::Serialize;

use crate::engine::protocol::{Cell, Request};
use crate::engine::session::Session;
use crate::engine::suite::NoiseWork;
use crate::engine::supervisor::{self, Ended};
use crate::exit::Interrupted;

mod facts;
mod page;
mod rules;
#[cfg(test)]
mod tests;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// How long to measure noise: 3 s to 10 min; a longer time allows more runs, and a better
    /// estimate of the noise between runs
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) duration: Duration,

    /// Smallest change to detect on this machine, as in 5% or 0.05
    #[arg(long, value_name = "FRACTION", default_value = "5%")]
    #[arg(value_parser = crate::values::threshold, allow_hyphen_values = true)]
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
    let range = Duration::from_secs(3)..=Duration::from_secs(600);
    crate::values::time_in(text, range, "3 s to 10 min")
}

/// Idle phase in which other load is observed: CPU time is counted in hundredths of a second.
const QUIET: Duration = Duration::from_secs(1);

/// Time per benchmark in a run: with all three, and the start of its process, a run takes less than
/// a second.
const PIECE: Duration = Duration::from_millis(200);

/// Fewest runs that show how much runs vary.
const FEWEST_RUNS: usize = 5;

const STOPPED: Interrupted = Interrupted("interrupted before anything was measured");

pub(crate) fn run(args: &DoctorArgs, out: &mut dyn Write) -> Result<Outcome> {
    let interrupted = supervisor::interruption()?;
    let progress = crate::profile::progress(args.duration.as_millis() as u64);
    progress.set_message("observing the idle machine");
    let mut observer = Observer::start();
    thread::sleep(QUIET);
    observer.quiet_has_ended();
    if interrupted.load(Ordering::SeqCst) {
        return Err(STOPPED.into());
    }
    let clock = recorder::Clock::new().measure();
    let request = Request {
        cells: NoiseWork::ALL
            .map(|work| Cell::Noise {
                work,
                for_ms: PIECE.as_millis() as u64,
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
    let noise = noise(&request.cells, &session.profile, args.threshold);
    let diagnosis = Diagnosis::new(args, findings(&facts), noise, facts);
    let page = || page::page(&diagnosis);
    crate::print::page_or_document(args.format, page, || &diagnosis, out)?;
    Ok(match diagnosis.fit {
        true => Outcome::Passed,
        false => Outcome::Inconclusive,
    })
}

/// The noise of every benchmark, or why it is unknown.
fn noise(cells: &[Cell], profile: &Profile, threshold: Threshold) -> Vec<Measured> {
    let measured = |cell: &Cell| {
        let Cell::Noise { work, .. } = cell else {
            return None;
        };
        let name = cell.operation()?.name;
        let operation = profile.operations.iter().find(|it| it.name == name);
        let failure = operation.and_then(|operation| operation.failure.clone());
        let noise = operation.and_then(Noise::of);
        let noise = match (noise, failure) {
            (_, Some(failure)) => Err(failure),
            (Some(noise), None) => Ok(noise),
            (None, None) => Err(Failure {
                kind: "no samples".to_owned(),
                message: "there are too few runs".to_owned(),
            }),
        };
        Some(Measured::new(*work, noise, threshold))
    };
    cells.iter().filter_map(measured).collect()
}

/// False-positive rate, the default of a comparison.
const ALPHA: f64 = 0.05;

/// A piece of work and the noise of its times.
#[derive(Debug, Clone, Serialize)]
struct Measured {
    work: NoiseWork,
    /// None if it could not be measured.
    noise: Option<Noise>,
    failure: Option<Failure>,
    /// Runs per side that the threshold needs; none for more than 1e9.
    needed: Option<PlannedRuns>,
    /// Runs per side at both ends of the noise's interval.
    needed_between: [Option<u64>; 2],
}

impl Measured {
    fn new(work: NoiseWork, noise: Result<Noise, Failure>, threshold: Threshold) -> Self {
        let needed = |noise| planned_runs(noise, threshold, ALPHA);
        let ends = noise.as_ref().map(|noise| noise.between_interval);
        let ends = ends.map(|ends| ends.map(|end| needed(end).map(|planned| planned.runs)));
        Self {
            work,
            needed: noise.as_ref().ok().and_then(|noise| needed(noise.between)),
            needed_between: ends.unwrap_or_default(),
            failure: noise.as_ref().err().cloned(),
            noise: noise.ok(),
        }
    }
}

/// The complete diagnosis.
#[derive(Debug, Serialize)]
struct Diagnosis {
    fit: bool,
    /// All reasons for which the machine is not fit.
    unfit: Vec<String>,
    /// Smallest change to detect.
    threshold: f64,
    /// Most runs per side that are acceptable.
    most_runs: u64,
    /// The largest number of runs per side that any benchmark needs, if all are known.
    runs_needed: Option<u64>,
    noise: Vec<Measured>,
    findings: Vec<Finding>,
    facts: Facts,
}

impl Diagnosis {
    fn new(args: &DoctorArgs, findings: Vec<Finding>, noise: Vec<Measured>, facts: Facts) -> Self {
        let most = args.runs.get();
        let bad = findings.iter().filter(|it| it.standing == Standing::Bad);
        let bad = bad.map(|it| format!("{}: {}", it.subject, it.seen));
        let noisy = noise.iter().filter_map(|measured| {
            let why = match (&measured.noise, measured.needed) {
                (None, _) => "its noise could not be measured".to_owned(),
                (_, Some(needed)) if needed.runs <= most => return None,
                (_, Some(needed)) => format!(
                    "its times vary: a comparison needs {} per side, more than --runs {most}",
                    plural(needed.runs, "run")
                ),
                (_, None) => "its times vary so much that no number of runs is enough".to_owned(),
            };
            Some(format!("{}: {why}", measured.work))
        });
        let unfit: Vec<String> = bad.chain(noisy).collect();
        let runs = noise.iter().map(|it| it.needed.map(|needed| needed.runs));
        let runs: Option<Vec<u64>> = runs.collect();
        Self {
            fit: unfit.is_empty(),
            unfit,
            threshold: args.threshold.as_fraction(),
            most_runs: most,
            runs_needed: runs.and_then(|runs| runs.into_iter().max()),
            noise,
            findings,
            facts,
        }
    }
}

/// Observes a machine first idle, then under load.
#[derive(Debug)]
struct Observer {
    root: PathBuf,
    sensors: Sensors,
    counters: Counters,
    quiet: Activity,
}

impl Observer {
    /// Begins to observe the idle machine.
    fn start() -> Self {
        Self::at(Path::new("/"), Sensors::open())
    }

    fn at(root: &Path, sensors: Sensors) -> Self {
        Self {
            root: root.to_owned(),
            sensors,
            counters: Counters::read(root),
            quiet: Activity::default(),
        }
    }

    /// Ends the idle phase; the load begins. Wait a second between the start and this call, because
    /// CPU time is counted in hundredths of a second.
    fn quiet_has_ended(&mut self) {
        let now = Counters::read(&self.root);
        self.quiet = Activity::between(&self.counters, &now);
        self.counters = now;
        // Throttling is reported since this reading.
        let _ = self.sensors.read();
    }

    /// Returns the facts, with the clock that measured times, if known.
    fn end(mut self, clock: Option<Clock>) -> Facts {
        let mut reading = self.sensors.read();
        self.sensors.add_processes(&mut reading);
        let now = Counters::read(&self.root);
        Facts {
            loaded: Activity::between(&self.counters, &now),
            root: self.root,
            quiet: self.quiet,
            cpu: reading.cpu,
            gpus: reading.gpus,
            clock,
        }
    }
}
