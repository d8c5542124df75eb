//! Profiles that commands read, of this program or of other tools, and the options for reading
//! them.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};
use breakeven_history::{History, is_history};
use breakeven_import::{Columns, Entry, Format, Imported, Options};
use breakeven_judge::Limits;
use breakeven_judge::page::clean;
use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;
use clap::Args;

use crate::values::unknown;

#[derive(Debug, Default, Args)]
pub(crate) struct InputArgs {
    /// Format of the files, if their content does not show it; `breakeven convert --list` lists all
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) from: Option<&'static Format>,

    /// Meaning of the columns of a CSV file or of the keys of JSON lines, as in
    /// name=case,time=wall,unit=ms,run=process (also device= and size=)
    #[arg(long, value_name = "name=…,time=…")]
    pub(crate) columns: Option<Columns>,

    /// Unit of the counts of collapsed stacks: ns, us, ms, s, or samples at a rate, as in 99hz
    #[arg(long, value_name = "UNIT", value_parser = unit)]
    pub(crate) unit: Option<f64>,
}

impl InputArgs {
    /// How to read files.
    pub(crate) fn options(&self) -> Options {
        Options {
            from: self.from,
            columns: self.columns.clone(),
            count_ns: self.unit,
        }
    }
}

fn unit(text: &str) -> Result<f64, String> {
    breakeven_import::count_ns(text).ok_or_else(|| {
        "there is no such unit; give ns, us, ms, s, or a rate such as 99hz".to_owned()
    })
}

fn format(text: &str) -> Result<&'static Format, String> {
    let names: Vec<&str> = Format::all().map(Format::name).collect();
    Format::named(text).ok_or_else(|| unknown("format", text, &names))
}

/// A library's error on a file, with the flag that gives the missing information.
fn with_flag(error: FileError) -> Error {
    let flag = match error.kind() {
        FileErrorKind::Columns => "--columns",
        FileErrorKind::Format => "--from; `breakeven convert --list` lists all",
        FileErrorKind::Unit => "--unit",
        _ => return error.into(),
    };
    Error::msg(format!("{error} ({flag})"))
}

/// Reads profiles, and prints warnings about them.
pub(crate) struct Input<'a> {
    options: Options,
    /// The formats of the files that were read.
    formats: HashSet<&'static str>,
    /// Each note with the first file that it is about, and the number of files.
    notes: Vec<(String, PathBuf, usize)>,
    err: &'a mut dyn Write,
}

impl<'a> Input<'a> {
    pub(crate) fn new(args: &InputArgs, err: &'a mut dyn Write) -> Self {
        let options = args.options();
        Self {
            options,
            formats: HashSet::new(),
            notes: Vec::new(),
            err,
        }
    }

    /// Prints the notes on what was read, and refuses an option that applied to none of the files.
    pub(crate) fn finish(self) -> Result<()> {
        for (note, first, files) in &self.notes {
            let more = match files {
                1 => String::new(),
                all => format!(" and {} more", all - 1),
            };
            let text = format!("note: {}{more}: {note}", first.display());
            // The reader of stderr may be gone.
            let _ = writeln!(self.err, "{}", clean(&text));
        }
        let Options {
            columns, count_ns, ..
        } = &self.options;
        let given = [
            (columns.is_some(), "--columns", "table"),
            (count_ns.is_some(), "--unit", "collapsed"),
        ];
        for (is_given, option, format) in given {
            if is_given && !self.formats.contains(format) {
                bail!("{option} is for files of the format {format}, and there is none");
            }
        }
        Ok(())
    }

    pub(crate) fn read(&mut self, path: &Path) -> Result<Profile> {
        Ok(self.imported(path)?.profile)
    }

    fn imported(&mut self, path: &Path) -> Result<Imported> {
        let imported = breakeven_import::read(path, &self.options).map_err(with_flag)?;
        self.formats.extend(imported.format.map(Format::name));
        for note in &imported.notes {
            match self.notes.iter_mut().find(|(known, ..)| known == note) {
                Some((.., files)) => *files += 1,
                None => self.notes.push((note.clone(), path.to_owned(), 1)),
            }
        }
        Ok(imported)
    }

    pub(crate) fn read_all(&mut self, paths: &[PathBuf]) -> Result<Vec<Profile>> {
        paths.iter().map(|path| self.read(path)).collect()
    }

    /// The measurements in a file, oldest first; of a history file, all of them.
    pub(crate) fn read_history(&mut self, path: &Path) -> Result<Vec<Entry>> {
        let imported = self.imported(path)?;
        Ok(match imported.history.is_empty() {
            false => imported.history,
            true => vec![Entry {
                profile: imported.profile,
                commit: None,
                branch: None,
                date: None,
            }],
        })
    }

    /// Earlier profiles, oldest first: of each path the latest ones. Of a history, those of the
    /// machine of `like`, else of its newest entry, if it records machines.
    pub(crate) fn read_past(
        &mut self,
        paths: &[PathBuf],
        like: Option<&Profile>,
        most: usize,
    ) -> Result<Vec<Profile>> {
        let mut profiles = Vec::new();
        for path in paths {
            if !is_history(path) {
                let entries = self.read_history(path)?;
                let older = entries.len().saturating_sub(most);
                profiles.extend(entries.into_iter().skip(older).map(|entry| entry.profile));
                continue;
            }
            let history = History::open(path)?;
            let branch = history.main_branch()?;
            let newest = match (like, history.entries(&branch)?.last()) {
                (None, Some(newest)) => Some(history.profile(newest.id)?),
                _ => None,
            };
            if let Some(like) = like.or(newest.as_ref()) {
                profiles.extend(history.latest(&branch, &like.environment, most)?);
            }
        }
        Ok(profiles)
    }
}

/// The limits of a budget file.
pub(crate) fn limits(path: Option<&Path>) -> Result<Option<Limits>> {
    let Some(path) = path else { return Ok(None) };
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the budget file {name}"))?;
    let limits = Limits::from_toml(&text).with_context(|| format!("budget file {name}"))?;
    Ok(Some(limits))
}

/// The files behind the paths: the same runs twice would look like less noise.
pub(crate) fn distinct(paths: &[PathBuf]) -> Result<HashSet<PathBuf>> {
    let mut files = HashSet::new();
    for path in paths {
        if !files.insert(behind(path)) {
            bail!("{} is named twice on one side", path.display());
        }
    }
    Ok(files)
}

/// Refuses to write a file that was read.
pub(crate) fn not_among(output: &Path, inputs: &HashSet<PathBuf>) -> Result<()> {
    if inputs.contains(&behind(output)) {
        let path = output.display();
        bail!("{path}: is one of the profiles; name another file to write");
    }
    Ok(())
}

/// The file behind a path. A missing file is reported when it is read.
pub(crate) fn behind(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
