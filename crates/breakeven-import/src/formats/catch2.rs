//! Catch2's XML (`--reporter xml`, versions 2 and 3). The file has the mean of a
//! benchmark, its deviation and its outliers, not its samples: the mean is one sample, and
//! a file is one run, since one process measures each benchmark once. Several files are
//! several runs.
//!
//! A benchmark is named by its test case, its sections and itself, with ` / ` between
//! them. A name that is there again, as below a `GENERATE`, may be other work: it gets a
//! number, `#2`. A test case that failed is a failed operation.
//!
//! Source: docs/benchmarks.md of catchorg/Catch2, and `catch_reporter_xml.cpp`, by which
//! values are in ns.

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::formats::{Format, Options};
use crate::gather::Gather;
use crate::note::{Notes, position};
use crate::source::Source;

pub(crate) static IMPORTER: Format = Format {
    name: "catch2",
    about: "Catch2: --reporter xml --out FILE",
    recognises: |source| {
        let is_root = |line: &str| line.contains("<Catch2TestRun") || line.contains("<Catch ");
        source.lines().take(10).any(is_root)
    },
    read,
};

/// Elements inside each other; sections of tests are nested a few deep.
const DEEPEST: usize = 256;

/// What is wrong with an element.
type Wrong = String;

#[derive(Default)]
struct State {
    /// The element names that are open, and the names that they give their benchmarks.
    open: Vec<Option<String>>,
    /// The benchmark that is open, of which a mean or a failure is to come, and how many
    /// elements are around it.
    benchmark: Option<(String, usize)>,
    version: Option<String>,
    gather: Gather,
}

fn read(source: Source, _: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let text = source.into_text(notes)?;
    let mut reader = Reader::from_str(&text);
    let mut state = State::default();
    let at = |place: u64, error: FileError| {
        let end = usize::try_from(place).unwrap_or(usize::MAX).min(text.len());
        let (line, column) = position(text.as_bytes(), end, 1);
        error.at_position(line, column - 1)
    };
    let end = loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => {
                let message = format!("not valid XML: {error}");
                let error = FileError::new(FileErrorKind::Syntax, message);
                break Some(at(reader.error_position(), error));
            }
        };
        let taken = match &event {
            Event::Start(element) => state.open(element, &reader),
            Event::Empty(element) => {
                let taken = state.open(element, &reader);
                state.close();
                taken
            }
            Event::End(_) => {
                state.close();
                Ok(())
            }
            Event::Eof if state.open.is_empty() => break None,
            Event::Eof => break Some(at(reader.buffer_position(), FileError::truncated())),
            _ => Ok(()),
        };
        let wrong = |message: String| {
            let error = FileError::new(FileErrorKind::Value, message);
            at(reader.buffer_position(), error)
        };
        if let Err(message) = taken {
            let why = "they are not as Catch2 writes them";
            notes.leave_out("element(s)", why, &wrong(message).to_string());
        }
        if state.open.len() > DEEPEST {
            let message = format!("elements are nested more than {DEEPEST} deep");
            break Some(wrong(message));
        }
    };
    // What was measured before is kept.
    if let Some(reason) = end {
        notes.stop(reason);
    }
    notes.summary_only("mean");
    let version = state.version.map(|version| format!("Catch2 {version}"));
    state.gather.about.generator = version;
    state.gather.profile(notes)
}

impl State {
    fn open(&mut self, element: &BytesStart<'_>, reader: &Reader<&[u8]>) -> Result<(), Wrong> {
        let taken = self.take(element, reader);
        let (name, taken) = match taken {
            Ok(name) => (name, Ok(())),
            Err(wrong) => (None, Err(wrong)),
        };
        self.open.push(name);
        taken
    }

    /// Takes what an element says: the name that it gives those inside it.
    fn take(
        &mut self,
        element: &BytesStart<'_>,
        reader: &Reader<&[u8]>,
    ) -> Result<Option<String>, Wrong> {
        let attribute = |name: &str| -> Result<Option<String>, Wrong> {
            let found = element.try_get_attribute(name);
            let found = found.map_err(|error| format!("not valid XML: {error}"))?;
            let Some(found) = found else { return Ok(None) };
            let value =
                found.decoded_and_normalized_value(XmlVersion::Implicit1_0, reader.decoder());
            let value = value.map_err(|error| format!("not valid XML: {error}"))?;
            Ok(Some(value.into_owned()))
        };
        let mut name = None;
        match element.name().as_ref() {
            b"Catch2TestRun" => self.version = attribute("catch2-version")?,
            b"TestCase" | b"Section" => name = attribute("name")?,
            b"BenchmarkResults" => {
                let own = attribute("name")?.ok_or("a benchmark has no name")?;
                let path = self.path(Some(&own));
                let operation = self.gather.entry(&path, "cpu", None);
                self.benchmark = Some((operation.operation.name.clone(), self.open.len()));
            }
            b"mean" => {
                if let Some((benchmark, _)) = &self.benchmark {
                    let value = attribute("value")?.ok_or("the mean has no value")?;
                    let ns: f64 = value
                        .trim()
                        .parse()
                        .map_err(|_| format!("the mean {value} is not a number"))?;
                    self.gather.operation(benchmark).sample(0, ns);
                }
            }
            b"failed" => {
                if let Some((benchmark, _)) = &self.benchmark {
                    let message = attribute("message")?.unwrap_or_default();
                    self.gather.operation(benchmark).failed("error", &message);
                }
            }
            b"OverallResult" if attribute("success")?.as_deref() == Some("false") => {
                let case = self.path(None);
                self.gather
                    .operation(&case)
                    .failed("error", "the test case failed");
            }
            _ => {}
        }
        Ok(name)
    }

    /// The path of what is open, or of a benchmark in it.
    fn path(&self, own: Option<&str>) -> String {
        let around = self.open.iter().flatten().map(|name| name.trim());
        let path: Vec<&str> = around.chain(own).collect();
        path.join(" / ")
    }

    fn close(&mut self) {
        self.open.pop();
        self.benchmark
            .take_if(|(_, around)| *around == self.open.len());
    }
}
