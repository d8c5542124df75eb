//! The Trace Event Format: what `chrome://tracing` and Perfetto read, and PyTorch's
//! profiler, Node.js, Clang, Bazel and many others write. An operation is a name on a
//! device; a sample is one event with a duration; the file is one run. Events are taken
//! one by one, so a trace of any length is read in the same memory.

mod build;
mod event;
mod pairs;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;
use serde::Deserialize;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::fields::{KeyOf, expects, seed};
use crate::format::Importer;
use crate::json::{self, Entry};
use crate::note::Notes;
use crate::read::Options;
use crate::source::Source;

use build::Builder;
use event::Event;

pub(crate) static IMPORTER: Importer = Importer {
    name: "chrome",
    about: "trace events as JSON, gzip too: PyTorch's profiler (Kineto), chrome://tracing, \
            Perfetto, breakeven export --to chrome",
    recognises: |source| {
        let is_kineto = || source.has("schemaVersion") && source.has("deviceProperties");
        source.has("traceEvents") || source.has("[].ph") || is_kineto()
    },
    read,
};

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let mut builder = Builder::default();
    json::stream(source, Document(&mut builder))?;
    builder.profile(notes)
}

/// The document: an object with `traceEvents`, or the list alone.
struct Document<'b>(&'b mut Builder);

seed!(Document<'_> => (), deserialize_any);

#[derive(Deserialize)]
struct OtherData {
    exporter: String,
}

const KEYS: &[&str] = &["traceEvents", "otherData", "deviceProperties"];

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    expects!("a trace: an object with traceEvents, or a list of events");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key_seed(KeyOf(KEYS))? {
            match key {
                Some("traceEvents") => {
                    found = true;
                    map.next_value_seed(Events(self.0))?;
                }
                Some("otherData") => {
                    let data = map.next_value::<Entry<OtherData>>()?.ok();
                    let is_own = |data: OtherData| data.exporter.starts_with("breakeven ");
                    self.0.is_own = data.is_some_and(is_own);
                }
                Some("deviceProperties") => self.0.gpus = json::entries(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match found {
            true => Ok(()),
            false => Err(A::Error::custom("traceEvents is missing")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        Events(self.0).visit_seq(list)
    }
}

/// The list of events.
struct Events<'b>(&'b mut Builder);

seed!(Events<'_> => (), deserialize_seq);

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    expects!("a list of events");

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut event = Event::default();
        while list.next_element_seed(&mut event)?.is_some() {
            self.0.take(&event);
        }
        Ok(())
    }
}
