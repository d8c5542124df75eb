//! `breakeven advise`: what to change first in a profile.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;
use breakeven_judge::advise::ProfilerOptimizer;
use breakeven_profile::file;
use breakeven_profile::profile::Difference;
use clap::Args;

use crate::advise::page::AdviceReport;
use crate::exit::Ending;
use crate::input::Input;
use crate::print::page_or_document;

pub(crate) mod page;

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

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: crate::values::PageFormat,

    /// File to write instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) input: crate::input::InputArgs,
}

pub(crate) fn run(args: &AdviseArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    let report = advise(args, Input::new(&args.input, err))?;
    let mut text = Vec::new();
    page_or_document(args.format, || report.page(), || &report, &mut text)?;
    match &args.output {
        None => out.write_all(&text).and_then(|()| out.flush())?,
        Some(path) => {
            let plain = anstream::adapter::strip_bytes(&text).into_vec();
            file::replace(path, |file| -> Result<()> { Ok(file.write_all(&plain)?) })?;
        }
    }
    Ok(Ending::Done)
}

fn advise(args: &AdviseArgs, mut input: Input<'_>) -> Result<AdviceReport> {
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
    input.check_options()?;
    let optimizer = ProfilerOptimizer::new(&profile);
    let top = args.top.get();
    let shown = match args.critical {
        true => {
            let critical = optimizer.get_critical_suggestions().into_iter();
            critical.take(top).cloned().collect()
        }
        false => optimizer.get_suggestions(top).to_vec(),
    };
    let advice = optimizer.advice().clone();
    Ok(AdviceReport::new(advice, shown, args.critical))
}
