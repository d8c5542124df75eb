//! Speedscope's own format: <https://www.speedscope.app/file-format-schema.json>, as
//! py-spy, rbspy, speedscope and this program write it. Of profiles with events every call
//! is a sample of its frame's operation; of sampled ones a frame's one sample is its time.
//! The file is one run.

mod sheets;
mod state;

use std::cell::{Cell, RefCell};

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::fields::{KeyOf, expects, seed};
use crate::format::Importer;
use crate::json;
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
    let read = RefCell::new(Read {
        count_ns: options.count_ns,
        ..Read::default()
    });
    let place = Cell::new(0_usize);
    json::stream(source, Document(&read, &place), || match place.get() {
        0 => String::new(),
        number => format!("profiles[{}]", number - 1),
    })?;
    let read = read.into_inner();
    read.profile(notes).map_err(|error| error.at_path(&path))
}

struct Document<'r>(&'r RefCell<Read>, &'r Cell<usize>);

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
                    self.0.borrow_mut().frames = shared.frames;
                }
                Some("exporter") => {
                    let exporter: Option<String> = map.next_value()?;
                    let is_own = exporter.is_some_and(|by| by.starts_with("breakeven "));
                    self.0.borrow_mut().is_own = is_own;
                }
                Some("profiles") => map.next_value_seed(Sheets(self.0, self.1))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The list of profiles.
struct Sheets<'r>(&'r RefCell<Read>, &'r Cell<usize>);

seed!(Sheets<'_> => (), deserialize_seq);

impl<'de> Visitor<'de> for Sheets<'_> {
    type Value = ();

    expects!("a list of profiles");

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut read = self.0.borrow_mut();
        self.1.set(1);
        while list.next_element_seed(Sheet::of(&mut read))?.is_some() {
            self.1.set(self.1.get() + 1);
        }
        self.1.set(0);
        Ok(())
    }
}
