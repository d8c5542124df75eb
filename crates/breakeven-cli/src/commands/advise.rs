//! `breakeven advise`: what to change first in a profile.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::advise::ProfilerOptimizer;
use breakeven_profile::file;
use breakeven_profile::profile::Difference;

use super::input::Input;
use crate::args::AdviseArgs;
use crate::exit::Ending;
use crate::output;
use crate::output::advice::AdviceReport;

pub(crate) fn run(args: &AdviseArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    let report = advise(args, Input::new(&args.input, err))?;
    let mut text = Vec::new();
    output::page_or_document(args.format, || report.page(), || &report, &mut text)?;
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
        taken.map_err(|Difference { part, first, second }| {
            let (its, here) = (path.display(), args.file.display());
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
