//! `breakeven import`: files of other tools as one profile file.

use std::io::Write;

use anyhow::{Result, bail};
use breakeven_import::Format;
use breakeven_profile::file;
use breakeven_profile::profile::Profile;

use super::compare::distinct;
use super::input::{Input, with_flags};
use crate::args::ImportArgs;
use crate::exit::Ending;
use crate::output::unless_closed;

pub(crate) fn run(args: &ImportArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    if args.list {
        unless_closed(list(out))?;
        return Ok(Ending::Done);
    }
    let Some(output) = &args.output else {
        bail!("name the file to write with --output");
    };
    file::check_writable(output)?;
    distinct(&args.files)?;
    let profiles = Input::new(&args.input, err).read_all(&args.files)?;
    let joined = Profile::join(profiles)?;
    file::write(&joined, output)?;
    Ok(Ending::Done)
}

fn list(out: &mut dyn Write) -> Result<()> {
    let width = Format::all().map(|format| format.name().len()).max();
    let width = width.unwrap_or_default();
    for format in Format::all() {
        let about = with_flags(format.about());
        writeln!(out, "{:width$}  {about}", format.name())?;
    }
    Ok(())
}
