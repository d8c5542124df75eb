//! `breakeven profile -- CMD`: measures programs. A run is a fresh process; what it records with
//! `breakeven-profile` or the Python package joins the profile as a run of that operation.

use breakeven_judge::Outcome;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use breakeven_judge::Limits;
use breakeven_profile::profile::{Counter, Device, Failure, Operation, Profile, Run};
use breakeven_profile::{file, machine};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use tempfile::TempDir;

use crate::ab::Limit;
use crate::engine::session::{Session, generator, now};
use crate::profile::args::{ProfileArgs, ProgramArgs};
use crate::profile::{conclude, host, progress};
use crate::run::process::{Ended, How, Process, how};
use crate::run::running::{Running, watched};
use crate::run::template::{Filling, Quote, Template, quoted};
use crate::show::Report;

/// What a run counts beside time, with the units; user and system time as hyperfine's files.
const COUNTERS: [(&str, &str); 3] = [("user", "s"), ("system", "s"), ("page faults", "")];

const NO_FOLDER: &str = "there is no folder for what programs record";

/// A measured program.
struct Program {
    template: Template,
    operation: Operation,
    /// Of each run that was not cut short: its exit code, or `signal 9`.
    exit_codes: Vec<Value>,
    /// Of each measured run, with what it recorded. They are read at the end: a larger process
    /// knows less of the memory of smaller ones.
    folders: Vec<PathBuf>,
}

/// How programs run.
struct Way<'w> {
    args: &'w ProgramArgs,
    prepare: Option<Template>,
    cleanup: Option<Template>,
    running: &'w Running,
    /// Of folders with what runs recorded.
    folder: &'w TempDir,
    limit: Limit,
}

pub(super) fn run(
    args: &ProfileArgs,
    limits: Option<Limits>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Outcome> {
    let of_programs = &args.of_programs;
    let mut programs = programs(of_programs)?;
    let other = |option, text: Option<&OsString>| {
        let read = text.map(|text| template(option, text));
        read.transpose()
    };
    let prepare = other("--prepare", of_programs.prepare.as_ref())?;
    let cleanup = other("--cleanup", of_programs.cleanup.as_ref())?;
    input(of_programs.input.as_deref())?;
    let limit = Limit::after(of_programs.time_limit.unwrap_or(Duration::MAX))?;
    let folder = tempfile::tempdir().context(NO_FOLDER)?;
    let mut session = Session::default();
    session.profile.created = Some(now());
    watched(of_programs.time_limit.map(|_| limit.end), |running| {
        let way = Way {
            args: of_programs,
            prepare,
            cleanup,
            running,
            folder: &folder,
            limit,
        };
        measure(args, &way, &mut programs)
    })?;
    session.profile.interrupted = limit.is_interrupted();
    let mut remarks = Vec::new();
    for program in &mut programs {
        program.settle(runs(args), &session.profile, &mut remarks);
    }
    join(programs, &mut session);
    let host = args.with_host.then(host).flatten();
    let environment = &mut session.profile.environment;
    environment.host = host.or(environment.host.take());
    let report = |session: Session| {
        let mut report = Report::new(session.profile, limits);
        report.remarks = remarks;
        report
    };
    conclude(args, session, report, out, err)
}

fn runs(args: &ProfileArgs) -> usize {
    args.runs.map_or(10, NonZeroU32::get) as usize
}

fn template(option: &str, text: &OsStr) -> Result<Template> {
    let read = Template::without_inputs(text);
    read.with_context(|| format!("{option} {:?}", text.display()))
}

/// The programs of the command line.
fn programs(args: &ProgramArgs) -> Result<Vec<Program>> {
    let words = args.words.iter().map(|word| {
        use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
        OsString::from_vec(quoted(word.as_bytes(), Quote::None))
    });
    let words: Vec<OsString> = words.collect();
    let of_words = (!words.is_empty()).then(|| words.join(OsStr::new(" ")));
    let mut programs: Vec<Program> = Vec::new();
    for text in of_words.iter().chain(&args.cmd) {
        let name = text.to_string_lossy().trim().to_owned();
        if programs.iter().any(|known| known.operation.name == name) {
            bail!("--cmd {name:?} is given twice; give it once, with more --runs");
        }
        let mut operation = Operation::new(name, Device::CPU);
        for (name, unit) in COUNTERS {
            let unit = unit.to_owned();
            let counter = Counter {
                unit,
                ..Counter::default()
            };
            operation.counters.insert(name.to_owned(), counter);
        }
        programs.push(Program {
            template: template("--cmd", text)?,
            operation,
            exit_codes: Vec::new(),
            folders: Vec::new(),
        });
    }
    Ok(programs)
}

/// What a run reads.
fn input(path: Option<&Path>) -> Result<Stdio> {
    let Some(path) = path else {
        return Ok(Stdio::null());
    };
    let opened = File::open(path);
    let file = opened.with_context(|| format!("--input {}", path.display()))?;
    Ok(file.into())
}

/// Runs all programs in turns, each round in another order.
fn measure(args: &ProfileArgs, way: &Way<'_>, programs: &mut [Program]) -> Result<()> {
    let (warmup, runs) = (args.warmup.unwrap_or(1) as usize, runs(args));
    let rounds = warmup.saturating_add(runs);
    let progress = progress((rounds as u64).saturating_mul(programs.len() as u64));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
    let mut order: Vec<usize> = (0..programs.len()).collect();
    'all: for round in 0..rounds {
        order.shuffle(&mut random);
        for program in &order {
            let program = &mut programs[*program];
            let number = (round + 1).checked_sub(warmup).filter(|number| *number > 0);
            progress.set_message(match number {
                Some(number) => format!("{}, run {number} of {runs}", program.operation.name),
                None => format!("{}, warm-up", program.operation.name),
            });
            // What failed fails again.
            if program.operation.failure.is_none() {
                if way.limit.is_reached() {
                    break 'all;
                }
                program.run(way, number)?;
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    Ok(())
}

impl Program {
    /// Runs it once; `number` is that of the run, none for a warm-up.
    fn run(&mut self, way: &Way<'_>, number: Option<usize>) -> Result<()> {
        let what = number.map_or_else(|| "a warm-up".to_owned(), |number| format!("run {number}"));
        if let Some(prepare) = &way.prepare {
            let how = Process::run(prepare.command(Filling::default()), way.running).how;
            if !how.is_good() {
                self.failed(way, format!("--prepare of {what}: {how}"));
                return Ok(());
            }
        }
        let mut command = self.template.command(Filling::default());
        command.stdin(input(way.args.input.as_deref())?);
        let folder = tempfile::tempdir_in(way.folder.path())
            .context(NO_FOLDER)?
            .keep();
        command.env("BREAKEVEN_PROFILE", &folder);
        let ended = Process::run(command, way.running);
        if let Some(cleanup) = &way.cleanup {
            // Even if the limit has ended the run: with this process's group, so that Ctrl-C ends it.
            let status = cleanup
                .command(Filling::default())
                .stdout(Stdio::null())
                .status();
            let how = status.map_or_else(|error| How::NotStarted(error.to_string()), how);
            if !how.is_good() {
                self.failed(way, format!("--cleanup of {what}: {how}"));
            }
        }
        if way.limit.is_reached() {
            // A process that was asked to end may still exit with success.
            return Ok(());
        }
        if number.is_some() {
            self.exit_codes.push(match &ended.how {
                How::Exit(code) => (*code).into(),
                how => how.to_string().into(),
            });
        }
        match &ended.how {
            How::NotStarted(why) if self.operation.runs.is_empty() => {
                bail!("cannot run {:?}: {why}", self.operation.name)
            }
            How::Exit(code) if *code == 0 || way.args.ignore_failure => {
                if number.is_some() {
                    self.measured(&ended, folder);
                }
            }
            how => self.failed(way, format!("{what}: {how}")),
        }
        Ok(())
    }

    /// Why it has no further runs; none if the limit has ended it.
    fn failed(&mut self, way: &Way<'_>, message: String) {
        let kind = "error".to_owned();
        if !way.limit.is_reached() {
            self.operation
                .failure
                .get_or_insert(Failure { kind, message });
        }
    }

    /// Adds a run, with what it has left in its folder.
    fn measured(&mut self, ended: &Ended, folder: PathBuf) {
        let (usage, ns) = (&ended.usage, ended.took.as_secs_f64() * 1e9);
        let (user, system) = (usage.user.as_secs_f64(), usage.system.as_secs_f64());
        let counted = COUNTERS.map(|(name, _)| name.to_owned());
        let counted = counted
            .into_iter()
            .zip([user, system, usage.page_faults as f64]);
        let run = Run {
            samples_ns: vec![ns],
            memory_bytes: usage.peak_bytes,
            counters: counted.collect(),
            ..Run::default()
        };
        let memory = &mut self.operation.memory_bytes;
        *memory = (*memory).max(run.memory_bytes);
        self.operation.runs.push(run);
        self.folders.push(folder);
    }

    /// Reads what the runs left in their folders.
    fn recorded(&mut self, warnings: &mut Vec<String>) -> Vec<Profile> {
        let mut recorded = Vec::new();
        for (run, folder) in self.operation.runs.iter_mut().zip(self.folders.drain(..)) {
            let mut own = run.total_ns();
            for left in fs::read_dir(folder).into_iter().flatten().flatten() {
                match file::read(&left.path()) {
                    Ok(profile) => {
                        own -= profile
                            .stacks
                            .iter()
                            .map(|stack| stack.self_ns as f64)
                            .sum::<f64>();
                        // Threads and devices work at the same time.
                        run.self_ns = Some(own.max(0.0));
                        recorded.push(profile);
                    }
                    Err(error) => warnings.push(format!("a recording is left out: {error}")),
                }
            }
        }
        recorded
    }

    /// Completes the operation.
    fn settle(&mut self, runs: usize, profile: &Profile, remarks: &mut Vec<String>) {
        let (name, done) = (&self.operation.name, self.operation.runs.len());
        if done < runs && self.operation.failure.is_none() && !profile.interrupted {
            if done == 0 {
                let kind = "timeout".to_owned();
                let message = "no run ended within the time limit".to_owned();
                self.operation.failure = Some(Failure { kind, message });
            } else {
                remarks.push(format!(
                    "{name}: {done} of {runs} runs within the time limit"
                ));
            }
        }
        if !self.exit_codes.is_empty() {
            let codes = std::mem::take(&mut self.exit_codes);
            self.operation
                .attributes
                .insert(Operation::EXIT_CODES.to_owned(), codes.into());
        }
    }
}

/// Joins the programs, and what they recorded, to the session's profile.
fn join(programs: Vec<Program>, session: &mut Session) {
    let names: Vec<String> = programs
        .iter()
        .map(|each| each.operation.name.clone())
        .collect();
    let profile = &mut session.profile;
    // Repeated by this command's choice.
    profile.benchmark = true;
    let (mut operations, mut recorded) = (Vec::new(), BTreeMap::new());
    for mut program in programs {
        let left = program.recorded(&mut session.warnings);
        let is_known = !program.operation.runs.is_empty() || program.operation.failure.is_some();
        if !left.is_empty() {
            recorded.insert(program.operation.name.clone(), left);
        }
        operations.extend(is_known.then_some(program.operation));
    }
    profile.operations = operations;
    for (program, recorded) in recorded {
        // Several programs may record operations of one name.
        let rename = |name: &mut String| {
            if names.len() > 1 || names.contains(name) {
                *name = format!("{name} ({program})");
            }
        };
        let joined = Profile::join(recorded).and_then(|mut recorded| {
            recorded
                .operations
                .iter_mut()
                .for_each(|each| rename(&mut each.name));
            let frames = recorded
                .stacks
                .iter_mut()
                .flat_map(|stack| &mut stack.frames);
            frames.for_each(rename);
            Profile::join([profile.clone(), recorded])
        });
        match joined {
            Ok(joined) => *profile = joined,
            Err(error) => {
                let left_out = format!("what {program:?} recorded is left out: {error}");
                session.warnings.push(left_out);
            }
        }
    }
    profile.generator = Some(generator());
    // A program knows better what it ran on, for example under `taskset`.
    let environment = &mut profile.environment;
    let system = || std::env::consts::OS.to_owned();
    environment.os.get_or_insert_with(system);
    let arch = || std::env::consts::ARCH.to_owned();
    environment.arch.get_or_insert_with(arch);
    let cpu = || machine::cpu(Path::new("/"));
    environment.cpu.get_or_insert_with(cpu);
}
