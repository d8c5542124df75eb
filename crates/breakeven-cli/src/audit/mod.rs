//! `breakeven audit`: past results through a rule for CI, and through `compare`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use breakeven_history::{History, is_history};
use breakeven_judge::audit::{Rule, audit};
use breakeven_profile::profile::Profile;
use clap::Args;

use crate::exit::Ending;
use crate::input::{Input, InputArgs, distinct};
use crate::print::page_or_document;
use crate::values::PageFormat;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Past results, oldest first: profiles, files of other tools, or a history
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

pub(crate) fn run(args: &AuditArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    distinct(&args.past)?;
    let mut input = Input::new(&args.input, err);
    let mut entries: Vec<Profile> = Vec::new();
    for path in &args.past {
        if is_history(path) {
            let history = History::open(path)?;
            for entry in history.entries(&history.main_branch()?)? {
                entries.push(history.profile(entry.id)?);
            }
        } else {
            let found = input.read_history(path)?;
            entries.extend(found.into_iter().map(|entry| entry.profile));
        }
    }
    let audit = audit(&entries, &args.rule)?;
    page_or_document(args.format, || audit.page(), || &audit, out)?;
    Ok(Ending::Done)
}
