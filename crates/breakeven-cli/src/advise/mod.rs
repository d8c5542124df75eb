//! `breakeven advise`: what to change first in a profile.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;
use breakeven_judge::Outcome;
use breakeven_judge::advise::{Advice, OptimizationSuggestion, Overruled, ProfilerOptimizer};
use breakeven_judge::page::Page;
use breakeven_profile::file;
use breakeven_profile::profile::{Difference, Profile};
use clap::Args;
use serde::Serialize;

use crate::input::Input;
use crate::print::page_or_document;
use crate::values::{PageFormat, by_extension};

#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// Profile file, or a file of another tool
    pub(crate) file: PathBuf,

    /// A file of `breakeven sweep`, or another profile of the same machine, whose break-even sizes
    /// and peaks to use too; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Vec<PathBuf>,

    /// Number of suggestions to show, the largest saving first
    #[arg(long, value_name = "N", default_value = "10", value_parser = crate::values::one_or_more::<NonZeroUsize>)]
    pub(crate) top: NonZeroUsize,

    /// Only suggestions that save a quarter or more of the total time
    #[arg(long)]
    pub(crate) critical: bool,

    /// Format of the output [default: table, or what the name of the file ends with]
    #[arg(long, value_enum)]
    pub(crate) format: Option<PageFormat>,

    /// File to write instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) input: crate::input::InputArgs,
}

pub(crate) fn run(args: &AdviseArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    let profile = profile(args, Input::new(&args.input, err))?;
    let optimizer = ProfilerOptimizer::new(&profile);
    let (advice, top) = (optimizer.advice(), args.top.get());
    let shown: Vec<OptimizationSuggestion> = match args.critical {
        true => {
            let critical = optimizer.get_critical_suggestions().into_iter();
            critical.take(top).cloned().collect()
        }
        false => optimizer.get_suggestions(top).to_vec(),
    };
    let document = || Document {
        left_out: advice.suggestions.len() - shown.len(),
        advice: Advice {
            suggestions: shown.clone(),
            ..advice.clone()
        },
    };
    let mut text = Vec::new();
    let ends = [("json", PageFormat::Json), ("md", PageFormat::Markdown)];
    let by_name = || by_extension(args.output.as_deref()?, &ends);
    let format = args.format.or_else(by_name).unwrap_or_default();
    page_or_document(format, || page(advice, &shown), document, &mut text)?;
    match &args.output {
        None => out.write_all(&text).and_then(|()| out.flush())?,
        Some(path) => {
            let plain = anstream::adapter::strip_bytes(&text).into_vec();
            file::replace(path, |file| -> Result<()> { Ok(file.write_all(&plain)?) })?;
        }
    }
    Ok(Outcome::Passed)
}

/// The profile, with the evidence of other files.
fn profile(args: &AdviseArgs, mut input: Input<'_>) -> Result<Profile> {
    let mut profile = input.read(&args.file)?;
    for path in &args.evidence {
        let taken = profile.take_evidence(input.read(path)?);
        taken.map_err(|found| {
            let Difference { what, first, second, .. } = found;
            let (its, here) = (path.display(), args.file.display());
            anyhow::anyhow!(
                "{its}: its evidence is from another machine: the {what} is {second} there, {first} \
                 in {here}"
            )
        })?;
    }
    input.finish()?;
    Ok(profile)
}

#[derive(Serialize)]
struct Document {
    /// The advice, with only the shown suggestions.
    #[serde(flatten)]
    advice: Advice,
    /// Number of hidden suggestions.
    left_out: usize,
}

/// Most overruled rules of thumb that are printed.
const OVERRULED: usize = 5;

fn page(advice: &Advice, shown: &[OptimizationSuggestion]) -> Page {
    let mut page = advice.page(shown);
    for caveat in advice.caveats() {
        page.aside(caveat);
    }
    let overruled = &advice.overruled;
    let title = "Not advised, because a measurement overruled the rule of thumb";
    page.list(title, overruled.iter().take(OVERRULED).map(Overruled::item));
    if overruled.len() > OVERRULED {
        let more = overruled.len() - OVERRULED;
        page.aside(format!("… {more} more: --format json"));
    }
    page
}
