//! `breakeven advise`: what to change first in a profile, and what earlier
//! advice was worth.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use breakeven_judge::advise::{Digesting, ProfilerOptimizer, ScoreBook, realised};
use breakeven_judge::page::clean;
use breakeven_profile::file;
use breakeven_profile::profile::{Difference, Profile};

use super::input::Input;
use crate::args::AdviseArgs;
use crate::exit::Ending;
use crate::output;
use crate::output::advice::{AdviceReport, RealisedReport};

pub(crate) fn run(args: &AdviseArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    let mut warnings = Vec::new();
    let mut text = Vec::new();
    match (&args.file, args.realised.as_deref()) {
        (_, Some([before, after])) => {
            let input = Input::new(&args.input, err);
            let report = realise(args, before, after, input, &mut warnings)?;
            output::page_or_document(args.format, || report.page(), || &report, &mut text)?;
        }
        (Some(file), _) => {
            let input = Input::new(&args.input, err);
            let report = advise(args, file, input, &mut warnings)?;
            output::page_or_document(args.format, || report.page(), || &report, &mut text)?;
        }
        (None, _) => anyhow::bail!("give a profile file, or --realised with two"),
    }
    // Nobody may be left to tell.
    for warning in warnings {
        let _ = writeln!(err, "warning: {}", clean(&warning));
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

fn advise(
    args: &AdviseArgs,
    file: &Path,
    mut input: Input<'_>,
    warnings: &mut Vec<String>,
) -> Result<AdviceReport> {
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
    let scores =
        scores_file(args).map_or_else(|| Ok(ScoreBook::default()), |path| ScoreBook::read(&path));
    let scores = scores.unwrap_or_else(|error| {
        warnings.push(error.to_string());
        ScoreBook::default()
    });
    let top = args.top.get();
    let shown = match args.critical {
        true => {
            let critical = optimizer.get_critical_suggestions().into_iter();
            critical.take(top).cloned().collect()
        }
        false => optimizer.get_suggestions(top).to_vec(),
    };
    let advice = optimizer.advice().clone();
    Ok(AdviceReport::new(advice, shown, args.critical, &scores))
}

fn realise(
    args: &AdviseArgs,
    before: &Path,
    after: &Path,
    mut input: Input<'_>,
    warnings: &mut Vec<String>,
) -> Result<RealisedReport> {
    let (before_path, before) = (before, input.read(before)?);
    let (after_path, after) = (after, input.read(after)?);
    let digest_before = digest(before_path, &before)?;
    let digest_after = digest(after_path, &after)?;
    let realised = realised(&before, &after, args.noise)?;
    let mut report = RealisedReport {
        realised,
        scores: Vec::new(),
        counted: false,
        kept_in: None,
    };
    let Some(path) = scores_file(args) else {
        let warning =
            "there is no folder for a user's data: the score is not kept; --scores names a file";
        warnings.push(warning.to_owned());
        return Ok(report);
    };
    let kept = ScoreBook::read(&path).and_then(|mut book| {
        report.counted = book.add(&digest_before, &digest_after, &report.realised);
        if report.counted {
            book.write(&path)?;
        }
        report.scores = book.scores();
        Ok(())
    });
    match kept {
        Ok(()) => report.kept_in = Some(path),
        // A file that cannot be understood is somebody's: it stays as it is.
        Err(error) => warnings.push(format!("{error}; this pair is not counted")),
    }
    report.counted &= report.kept_in.is_some();
    Ok(report)
}

/// What tells whether a pair of files was scored before.
fn digest(path: &Path, profile: &Profile) -> Result<String> {
    let failed = || format!("{}: cannot be read", path.display());
    let mut written = Vec::new();
    let bytes: Box<dyn Read> = match path.is_dir() {
        // The results of some tools are a folder.
        true => {
            file::write_to(profile, &mut written)?;
            Box::new(&written[..])
        }
        false => Box::new(File::open(path).with_context(failed)?),
    };
    let mut reader = Digesting::new(bytes);
    std::io::copy(&mut reader, &mut std::io::sink()).with_context(failed)?;
    Ok(reader.digest())
}

/// The file that keeps the scores: the one named, else one in the folder that
/// the system sets aside for a user's data.
fn scores_file(args: &AdviseArgs) -> Option<PathBuf> {
    args.scores
        .clone()
        .or_else(|| Some(data_folder()?.join("breakeven").join("advice-scores.json")))
}

/// `$XDG_DATA_HOME` or `~/.local/share`; `~/Library/Application Support` on
/// macOS, `%LOCALAPPDATA%` on Windows.
fn data_folder() -> Option<PathBuf> {
    let folder = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        // The XDG specification asks to ignore relative ones.
        path.is_absolute().then_some(path)
    };
    if cfg!(windows) {
        return folder("LOCALAPPDATA");
    }
    let below_home = match cfg!(target_os = "macos") {
        true => "Library/Application Support",
        false => ".local/share",
    };
    folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(below_home)))
}
