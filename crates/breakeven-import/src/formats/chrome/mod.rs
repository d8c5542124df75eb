//! The Trace Event Format: what `chrome://tracing` and Perfetto read, and PyTorch's
//! profiler, Node.js, Clang, Bazel and many others write. An operation is a name on a
//! device; a sample is one event with a duration; the file is one run. Events are taken
//! one by one, so a trace of any length is read in the same memory.

mod build;
mod event;

use std::cell::Cell;
use std::fmt;

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::fields::KeyOf;
use crate::format::Importer;
use crate::json;
use crate::note::Notes;
use crate::read::Options;
use crate::source::Source;

use build::Builder;
use event::Event;

pub(crate) static IMPORTER: Importer = Importer {
    name: "chrome",
    about: "trace events as JSON, gzip too: PyTorch's profiler (Kineto), chrome://tracing, \
            Perfetto, breakeven export --to chrome",
    recognises: |source| source.has("traceEvents") || source.has("[].ph"),
    read,
};

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let mut builder = Builder::default();
    let place = Place::default();
    let document = Document {
        builder: &mut builder,
        place: &place,
    };
    match json::stream(source, document, || place.text()) {
        // The format allows a list that is not closed: a program that is stopped leaves one.
        Err(error) if error.kind() == FileErrorKind::Truncated && place.may_end_early() => {
            notes.left_out(
                1,
                "end of the list",
                "the trace is not closed, as a program that was stopped leaves it; events may be \
                 missing",
            );
            builder.interrupted = true;
        }
        read => read?,
    }
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

    fn may_end_early(&self) -> bool {
        self.bare.get() && self.event.get() > 1
    }
}

/// The document: an object with `traceEvents`, or the list alone.
struct Document<'b> {
    builder: &'b mut Builder,
    place: &'b Place,
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

#[derive(Deserialize)]
struct OtherData {
    exporter: Option<serde_json::Value>,
}

const KEYS: &[&str] = &["traceEvents", "otherData", "deviceProperties"];

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a trace: an object with traceEvents, or a list of events")
    }

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
                    let data: Option<OtherData> = map.next_value()?;
                    let exporter = data.and_then(|data| data.exporter);
                    let exporter = exporter.as_ref().and_then(serde_json::Value::as_str);
                    self.builder.is_own = exporter.is_some_and(|by| by.starts_with("breakeven "));
                }
                Some("deviceProperties") => self.builder.gpus = map.next_value()?,
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

impl<'de> DeserializeSeed<'de> for Events<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

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
