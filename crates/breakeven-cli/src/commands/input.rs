//! Profiles that commands read, of this program or other tools.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use breakeven_import::{Entry, Imported};
use breakeven_judge::page::clean;
use breakeven_profile::profile::Profile;

use crate::args::InputArgs;

/// What a library says of a file, with the flags that give what it asks for.
pub(crate) fn with_flags(text: &str) -> String {
    text.replace("name the columns", "name the columns (--columns)")
        .replace("name the format", "name the format (--from)")
        .replace("give the unit", "give the unit (--unit)")
}

/// Reads profiles, and tells what their readers should know of them.
pub(crate) struct Input<'a> {
    options: breakeven_import::Options,
    err: &'a mut dyn Write,
}

impl<'a> Input<'a> {
    pub(crate) fn new(args: &InputArgs, err: &'a mut dyn Write) -> Self {
        let options = args.options();
        Self { options, err }
    }

    pub(crate) fn read(&mut self, path: &Path) -> Result<Profile> {
        Ok(self.imported(path)?.profile)
    }

    fn imported(&mut self, path: &Path) -> Result<Imported> {
        let imported = breakeven_import::read(path, &self.options)
            .map_err(|error| Error::msg(with_flags(&error.to_string())))?;
        for note in &imported.notes {
            let text = format!("note: {}: {note}", path.display());
            // Nobody may be left to tell.
            let _ = writeln!(self.err, "{}", clean(&text));
        }
        Ok(imported)
    }

    pub(crate) fn read_all(&mut self, paths: &[PathBuf]) -> Result<Vec<Profile>> {
        paths.iter().map(|path| self.read(path)).collect()
    }

    /// The measurements in a file, oldest first: of one that keeps a history all of it.
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
}
