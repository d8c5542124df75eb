//! `breakeven advise`: what to change first in a profile, and what earlier
//! advice was worth.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use breakeven_judge::advise::{ProfilerOptimizer, realised};
use breakeven_profile::file;
use breakeven_profile::profile::Difference;

use super::input::Input;
use crate::args::AdviseArgs;
use crate::exit::Ending;
use crate::output;
use crate::output::advice::{AdviceReport, realised_page};

pub(crate) fn run(args: &AdviseArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    let mut input = Input::new(&args.input, err);
    let mut text = Vec::new();
    match (&args.file, args.realised.as_deref()) {
        (_, Some([before, after])) => {
            let (before, after) = (input.read(before)?, input.read(after)?);
            let found = realised(&before, &after, args.noise)?;
            output::page_or_document(args.format, || realised_page(&found), || &found, &mut text)?;
        }
        (Some(file), _) => {
            let report = advise(args, file, input)?;
            output::page_or_document(args.format, || report.page(), || &report, &mut text)?;
        }
        (None, _) => anyhow::bail!("give a profile file, or --realised with two"),
    }
    match &args.output {
        None => out.write_all(&text).and_then(|()| out.flush())?,
        Some(path) => {
            let plain = anstream::adapter::strip_bytes(&text).into_vec();
            file::replace(path, |file| -> Result<()> { Ok(file.write_all(&plain)?) })?;
        }
    }
    Ok(Ending::Done)
}

fn advise(args: &AdviseArgs, file: &Path, mut input: Input<'_>) -> Result<AdviceReport> {
    let mut profile = input.read(file)?;
    for path in &args.evidence {
        let taken = profile.take_evidence(input.read(path)?);
        taken.map_err(|Difference { part, first, second }| {
            let (its, here) = (path.display(), file.display());
            anyhow::anyhow!(
                "{its}: its evidence is of another machine: the {part} is {second} there, {first} \
                 in {here}"
            )
        })?;
    }
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
