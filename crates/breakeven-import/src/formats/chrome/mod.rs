//! The Trace Event Format: what `chrome://tracing` and Perfetto read, and PyTorch's
//! profiler, Node.js, Clang, Bazel and many others write. An operation is a name on a
//! device; a sample is one event with a duration; the file is one run. Events are taken
//! one by one, so a trace of any length is read in the same memory.

mod build;
mod event;
mod pairs;

use std::cell::Cell;

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
    let place = Place::default();
    let document = Document {
        builder: &mut builder,
        place: &place,
    };
    json::stream(source, document, || place.text())?;
    builder.profile(notes)
}

/// Where in the document an event is.
#[derive(Debug, Default)]
struct Place {
    /// True for a list, false for an object with one.
    bare: Cell<bool>,
    /// The number of the event, from 1.
    event: Cell<u64>,
}

impl Place {
    fn text(&self) -> String {
        let list = if self.bare.get() { "" } else { "traceEvents" };
        match self.event.get().checked_sub(1) {
            Some(number) => format!("{list}[{number}]"),
            None => String::new(),
        }
    }
}

/// The document: an object with `traceEvents`, or the list alone.
struct Document<'b> {
    builder: &'b mut Builder,
    place: &'b Place,
}

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
                    map.next_value_seed(Events {
                        builder: &mut *self.builder,
                        place: self.place,
                    })?;
                    self.place.event.set(0);
                }
                Some("otherData") => {
                    let data = map.next_value::<Entry<OtherData>>()?.ok();
                    let is_own = |data: OtherData| data.exporter.starts_with("breakeven ");
                    self.builder.is_own = data.is_some_and(is_own);
                }
                Some("deviceProperties") => self.builder.gpus = json::entries(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match found {
            true => Ok(()),
            false => Err(A::Error::custom("traceEvents is missing")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        self.place.bare.set(true);
        let events = Events {
            builder: self.builder,
            place: self.place,
        };
        events.visit_seq(list)
    }
}

/// The list of events.
struct Events<'b> {
    builder: &'b mut Builder,
    place: &'b Place,
}

seed!(Events<'_> => (), deserialize_seq);

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    expects!("a list of events");

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut event = Event::default();
        self.place.event.set(1);
        while list.next_element_seed(&mut event)?.is_some() {
            self.builder.take(&event);
            self.place.event.set(self.place.event.get() + 1);
        }
        Ok(())
    }
}
