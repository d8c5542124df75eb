//! The Trace Event Format: what `chrome://tracing` and Perfetto read, and PyTorch's
//! profiler, Node.js, Clang, Bazel and many others write. An operation is a name on a
//! device; a sample is one event with a duration; the file is one run. Events are taken
//! one by one, so a trace of any length is read in the same memory.

mod build;
mod pairs;

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;
use serde::Deserialize;

use crate::formats::{Format, Options};
use crate::json;
use crate::note::Notes;
use crate::source::Source;
use crate::walk::{Parts, Raw, Want};

use build::Builder;

pub(crate) static IMPORTER: Format = Format {
    name: "chrome",
    about: "trace events as JSON, gzip too: PyTorch's profiler (Kineto), chrome://tracing, \
            Perfetto, breakeven's export",
    recognises: |source| {
        let is_kineto = || source.has("schemaVersion") && source.has("deviceProperties");
        source.has("traceEvents") || source.has("[].ph") || is_kineto()
    },
    read,
};

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let mut builder = Builder::default();
    json::stream(source, &mut builder)?;
    builder.profile(notes)
}

#[derive(Deserialize)]
struct OtherData {
    exporter: String,
}

/// The document is an object with `traceEvents`, or the list alone.
impl Parts for Builder {
    fn want(&mut self, place: &str) -> Want {
        self.is_list_found |= matches!(place, "traceEvents" | "[]");
        match place {
            "" => Want::Either("a trace: an object with traceEvents, or a list of events"),
            "traceEvents" => Want::List("a list of events"),
            "traceEvents[]" | "[]" | "otherData" | "deviceProperties" => Want::Text,
            _ => Want::Nothing,
        }
    }

    fn part(&mut self, place: &str, value: Raw<'_>) {
        match place {
            "otherData" => {
                let data: Option<OtherData> = value.read();
                self.is_own = data.is_some_and(|data| data.exporter.starts_with("breakeven "));
            }
            "deviceProperties" => self.gpus = value.entries().flatten().collect(),
            _ => self.take(&value.read().unwrap_or_default()),
        }
    }

    fn end(&mut self, place: &str) -> Result<(), String> {
        match place {
            "" if !self.is_list_found => Err("traceEvents is missing".to_owned()),
            _ => Ok(()),
        }
    }
}
