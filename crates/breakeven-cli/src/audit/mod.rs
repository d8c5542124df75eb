//! `breakeven audit`: past results through a rule for CI, and through `compare`.

use breakeven_judge::Outcome;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use breakeven_judge::audit::{Rule, audit};
use breakeven_profile::unit;
use clap::Args;

use crate::input::{Input, InputArgs, distinct};
use crate::print::page_or_document;
use crate::values::PageFormat;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Past results, oldest first (sorted if dated): profiles, files of other tools, or a history (of
    /// the machine of its newest entry)
    #[arg(value_name = "PAST", required = true)]
    pub(crate) past: Vec<PathBuf>,

    /// The rule that decides today: a metric and the increase over the result before that fails a
    /// change
    #[arg(long, value_name = "METRIC > N%", default_value = "mean > 5%")]
    pub(crate) rule: Rule,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: PageFormat,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}

pub(crate) fn run(args: &AuditArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    distinct(&args.past)?;
    let mut input = Input::new(&args.input, err);
    let mut entries = input.read_past(&args.past, None, usize::MAX)?;
    // A shell lists past-10 before past-2.
    let is_dated = entries.iter().all(|entry| entry.created.is_some());
    if is_dated && args.past.len() > 1 {
        entries.sort_by(|a, b| a.created.cmp(&b.created));
    }
    input.finish()?;
    let audit = audit(&entries, &args.rule)?;
    let page = || {
        let mut page = audit.page();
        if let Some((threshold, _)) = audit.suggested {
            let percent = unit::count((1000.0 * threshold).round() / 10.0);
            page.say(format!(
                "For CI: breakeven compare --baseline old-* --current new-* --metric {} \
                 --threshold {percent}% --gate",
                audit.rule.name
            ));
        }
        page
    };
    page_or_document(args.format, page, || &audit, out)?;
    Ok(Outcome::Passed)
}
