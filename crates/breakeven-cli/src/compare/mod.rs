//! `breakeven compare`: compares two sides of profiles, and gives a verdict for CI.

use breakeven_judge::Outcome;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use breakeven_judge::compare::Options;
use breakeven_judge::{Compared, Policy, Source, compare};
use breakeven_profile::file;

use crate::compare::args::{CompareArgs, Output};
use crate::compare::format::{FORMATS, Format};
use crate::input::{Input, behind, distinct};

mod accept;
pub(crate) mod args;
mod format;
mod github;
mod json;
mod junit;
pub(crate) mod page;

pub(crate) fn run(args: &CompareArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    let mut input = Input::new(&args.input, err);
    let limits = crate::input::limits(args.budget.as_deref())?.unwrap_or_default();
    for Output { path, .. } in &args.output {
        file::check_writable(path)?;
    }
    let (baseline, current) = sides(args)?;
    let before = match args.accept {
        true => accept::before(&baseline)?,
        false => input.read_all(&baseline)?,
    };
    let after = input.read_all(&current)?;
    let history = input.read_past(&args.history, after.first(), ENTRIES)?;
    input.finish()?;
    // Refused before anything is printed.
    let accepted = args.accept.then(|| accept::joined(after.clone()));
    let accepted = accepted.transpose()?;
    if let Some(accepted) = accepted.as_ref().filter(|_| before.is_empty()) {
        return accept::write(&baseline[0], accepted, out, err);
    }
    let options = Options {
        threshold: args.threshold,
        alpha: args.alpha,
        history,
        relative_to_common_shift: args.relative,
        plain_threshold: args.plain_threshold,
        metric: args.metric.clone(),
        limits,
    };
    let compared = compare(&before, &after, &options);
    let comparison = match args.accept {
        true => compared.with_context(|| {
            let name = baseline[0].display();
            format!("{name}: stays the baseline; delete it to begin anew, or name another")
        })?,
        false => compared?,
    };
    let policy = Policy {
        allow_missing: args.allow_missing,
        require_decided: args.require_decided,
        strict: args.strict,
    };
    let sources = [Source::of(&baseline, &before), Source::of(&current, &after)];
    let report = Compared::new(sources, comparison, args.gate.then_some(policy));
    // The files are written first, so that they do not wait for a blocked terminal.
    for Output { format, path } in &args.output {
        let format = format.or(args.format).or_else(|| Format::of(path));
        write_file(&report, format.unwrap_or(&FORMATS[0]), path)?;
    }
    let is_printed = args.output.iter().all(|output| output.format.is_some());
    let printed = args.format.filter(|_| is_printed).unwrap_or(&FORMATS[0]);
    (printed.write)(&report, out).and_then(|()| Ok(out.flush()?))?;
    match &accepted {
        Some(accepted) => accept::write(&baseline[0], accepted, out, err),
        None => Ok(report.verdict.outcome),
    }
}

/// Most entries of a history that are used to estimate the noise.
const ENTRIES: usize = 50;

/// The files of both sides, without duplicates on one side.
fn sides(args: &CompareArgs) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let side = |one: &Option<PathBuf>, more: &[PathBuf]| match one {
        Some(one) => vec![one.clone()],
        None => more.to_vec(),
    };
    let baseline = side(&args.baseline, &args.baselines);
    let current = side(&args.current, &args.currents);
    let before = distinct(&baseline)?;
    distinct(&current)?;
    // A gate that compares a file with itself would always pass.
    let both = current.iter().find(|path| before.contains(&behind(path)));
    if let Some(both) = both.filter(|_| args.gate || args.accept) {
        let both = both.display();
        bail!("{both} is on both sides; name the baseline and the new profile");
    }
    Ok((baseline, current))
}

fn write_file(report: &Compared, format: &Format, path: &Path) -> Result<()> {
    file::replace(path, |out| {
        let mut plain = anstream::StripStream::new(Vec::new());
        (format.write)(report, &mut plain)?;
        out.write_all(&plain.into_inner())
            .with_context(|| format!("{} cannot be written", path.display()))
    })
}
