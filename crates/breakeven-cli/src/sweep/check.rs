//! `breakeven sweep --check`: measures the constants of a source file again.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, anyhow};
use breakeven_judge::Outcome;
use breakeven_judge::page::clean;
use breakeven_profile::unit;
use clap::Parser;

use super::args::SweepArgs;
use super::constant::{Constant, read};
use crate::exit::{Ending, Interrupted};

/// The command line of a constant.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    sweep: SweepArgs,
}

pub(super) fn run(path: &Path, out: &mut dyn Write) -> Result<Ending> {
    let constants = read(path)?;
    let at = |constant: &Constant| format!("{}:{}", path.display(), constant.line);
    let sweeps: Vec<SweepArgs> = constants
        .iter()
        .map(|constant| sweep(constant).map_err(|why| anyhow!("{}: {why}", at(constant))))
        .collect::<Result<_>>()?;
    let mut outcome = Outcome::Passed;
    for (constant, args) in constants.iter().zip(&sweeps) {
        let measured = super::measure(args).map_err(|error| error.context(at(constant)))?;
        let swept = &measured.swept;
        if swept.interrupted {
            return Err(Interrupted("interrupted: the remaining constants are not checked").into());
        }
        let found = swept.break_even();
        let admitted = found.and_then(|found| found.admits(constant.value));
        // It may pay at a size that was left out.
        let is_open = admitted == Some(true)
            && constant.value.is_infinite()
            && !swept.not_measured.is_empty();
        let admitted = admitted.filter(|_| !is_open);
        let verdict = match admitted {
            Some(true) => "holds",
            Some(false) => {
                outcome = Outcome::Failed;
                "is stale"
            }
            None => {
                if outcome == Outcome::Passed {
                    outcome = Outcome::Inconclusive;
                }
                "is undecided"
            }
        };
        let answer = swept.rivals.first().map_or_else(
            || "no GPU was measured".to_owned(),
            |rival| swept.answer(rival, &rival.device),
        );
        let mut times = swept.points.iter().flat_map(|point| &point.times);
        let failure = times.find_map(|time| time.failure.as_ref());
        let failure = failure.map_or_else(String::new, |failure| format!("; failed: {failure}"));
        let value = match constant.value.is_finite() {
            true => unit::count(constant.value),
            false => "never".to_owned(),
        };
        let name = &constant.name;
        let line = format!(
            "{}: {name} = {value} {verdict}: {answer}{failure}",
            at(constant)
        );
        writeln!(out, "{}", clean(&line))?;
        out.flush()?;
    }
    Ok(Ending::Judged(outcome))
}

/// The sweep that measures a constant.
fn sweep(constant: &Constant) -> Result<SweepArgs, String> {
    let program = "breakeven sweep".to_owned();
    match Line::try_parse_from([&program].into_iter().chain(&constant.words)) {
        Ok(line) if line.sweep.check.is_none() => Ok(line.sweep),
        Err(error) if error.use_stderr() => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(first.trim_start_matches("error: ").to_owned())
        }
        _ => Err("this command measures nothing".to_owned()),
    }
}
