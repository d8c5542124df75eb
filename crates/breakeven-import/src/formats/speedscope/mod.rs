//! Speedscope's own format: <https://www.speedscope.app/file-format-schema.json>, as
//! py-spy, rbspy, speedscope and this program write it. Of profiles with events every call
//! is a sample of its frame's operation; of sampled ones a frame's one sample is its time.
//! The file is one run.

mod sheets;
mod state;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::fields::{KeyOf, expects, seed};
use crate::format::Importer;
use crate::json::{self, Entry};
use crate::note::Notes;
use crate::read::Options;
use crate::source::Source;

use sheets::Sheet;
use state::{Read, Shared};

pub(crate) static IMPORTER: Importer = Importer {
    name: "speedscope",
    about: "speedscope's JSON: py-spy record --format speedscope, breakeven export --to speedscope",
    recognises: |source| source.has("profiles[].type") || source.has("shared.frames"),
    read,
};

fn read(source: Source, options: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let path = source.path().to_owned();
    let mut read = Read {
        count_ns: options.count_ns,
        ..Read::default()
    };
    json::stream(source, Document(&mut read))?;
    read.profile(notes).map_err(|error| error.at_path(&path))
}

struct Document<'r>(&'r mut Read);

seed!(Document<'_> => (), deserialize_map);

const KEYS: &[&str] = &["shared", "profiles", "exporter"];

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    expects!("an object with profiles and shared frames");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(KeyOf(KEYS))? {
            match key {
                Some("shared") => {
                    let shared: Shared = map.next_value()?;
                    let frames = shared.frames.into_iter();
                    self.0.frames = frames.map(|frame| frame.ok().unwrap_or_default()).collect();
                }
                Some("exporter") => {
                    let exporter = map.next_value::<Entry<String>>()?.ok();
                    self.0.is_own = exporter.is_some_and(|by| by.starts_with("breakeven "));
                }
                Some("profiles") => map.next_value_seed(Sheets(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The list of profiles.
struct Sheets<'r>(&'r mut Read);

seed!(Sheets<'_> => (), deserialize_seq);

impl<'de> Visitor<'de> for Sheets<'_> {
    type Value = ();

    expects!("a list of profiles");

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Sheet::of(self.0))?.is_some() {}
        Ok(())
    }
}
