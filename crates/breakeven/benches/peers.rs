//! The kernels at the command of `bench/peers/run` and `bench/gpu/run`, which time
//! other packages at the same work in between.
//!
//! A line of JSON on stdin is a command, a line on stdout its answer. `about` says
//! where problems are solved and how large they may be; `make` reads a problem's
//! inputs from files of f32, solves it once and writes the output to a file, for the
//! two sides to be compared; `time` says how long each of several lots of calls took.
//! `--serve` is for the CPU, `--serve --gpu` for the best GPU: its inputs are uploaded
//! once, and a lot is launches and one wait. Without `--serve` nothing is timed.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs,
    reason = "a bench prints its figures"
)]

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use breakeven::{DeviceError, DeviceErrorKind};
use serde::{Deserialize, Serialize};

#[path = "peers/problem.rs"]
mod problem;
#[path = "peers/side.rs"]
mod side;

use problem::Problem;
use side::{About, Outcome, Side, Solve};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command {
    /// Where problems are solved.
    About,
    /// Reads a problem; its output goes to a file.
    Make {
        #[serde(flatten)]
        problem: Problem,
        inputs: Vec<PathBuf>,
        output: PathBuf,
    },
    /// Times `lots` lots of `calls` calls each of the last problem.
    Time { lots: usize, calls: usize },
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    About(About),
    /// The problem is made and its output written.
    Made {},
    /// What each lot took, ns.
    Times(Vec<u64>),
    /// The device lacks what the problem takes.
    Unsupported(String),
    /// The command was not understood or could not be done.
    Failed(String),
}

fn main() -> Outcome<ExitCode> {
    if !std::env::args().any(|argument| argument == "--serve") {
        println!("peers: bench/peers/run starts this bench and speaks with it");
        return Ok(ExitCode::SUCCESS);
    }
    let side = match Side::asked_for() {
        Ok(side) => side,
        Err(error) => {
            eprintln!("{error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut problem = None;
    for line in std::io::stdin().lock().lines() {
        let answer = serde_json::from_str(&line?)
            .map_err(Into::into)
            .and_then(|command| obey(command, &side, &mut problem))
            .unwrap_or_else(|error: Box<dyn Error>| match error.downcast_ref() {
                Some(lacking) if is_unsupported(lacking) => Answer::Unsupported(error.to_string()),
                _ => Answer::Failed(error.to_string()),
            });
        println!("{}", serde_json::to_string(&answer)?);
        std::io::stdout().flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn is_unsupported(error: &DeviceError) -> bool {
    error.kind == DeviceErrorKind::Unsupported
}

fn obey(command: Command, side: &Side, current: &mut Option<Box<dyn Solve>>) -> Outcome<Answer> {
    match command {
        Command::About => Ok(Answer::About(side.about())),
        Command::Make {
            problem,
            inputs,
            output,
        } => {
            // What the last one held is free before the next one is made.
            *current = None;
            let inputs = inputs.iter().map(floats).collect::<Outcome<_>>()?;
            let mut made = problem.on(side, inputs)?;
            std::fs::write(&output, made.output()?)?;
            *current = Some(made);
            Ok(Answer::Made {})
        }
        Command::Time { lots, calls } => {
            let problem = current.as_mut().ok_or("no problem was made")?;
            let times = (0..lots).map(|_| {
                let nanoseconds = problem.lot(calls)?.as_nanos();
                Ok(u64::try_from(nanoseconds)?)
            });
            Ok(Answer::Times(times.collect::<Outcome<_>>()?))
        }
    }
}

fn floats(path: &PathBuf) -> Outcome<Vec<f32>> {
    Ok(bytemuck::pod_collect_to_vec(&std::fs::read(path)?))
}
