//! Speedscope's own format: <https://www.speedscope.app/file-format-schema.json>, as
//! py-spy, rbspy, speedscope and this program write it. Of profiles with events every call
//! is a sample of its frame's operation; of sampled ones a frame's one sample is its time.
//! The file is one run.

mod sheets;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::{Environment, Profile};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::fields::KeyOf;
use crate::folded::Folded;
use crate::format::Importer;
use crate::json;
use crate::note::Notes;
use crate::read::Options;
use crate::source::Source;
use crate::trace::Trace;

use sheets::Sheet;

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

/// A frame of the list that all profiles share.
#[derive(Debug, Deserialize)]
struct Frame {
    name: String,
    file: Option<String>,
    line: Option<u64>,
}

#[derive(Deserialize)]
struct Shared {
    #[serde(default)]
    frames: Vec<Frame>,
}

/// What was read so far. Frames are numbers until the whole file was.
#[derive(Default)]
struct Read {
    frames: Vec<Frame>,
    is_own: bool,
    count_ns: Option<f64>,
    trace: Trace,
    /// Operations by the number of their frame.
    operations: HashMap<u64, u32>,
    folded: Folded,
    /// Frames of sampled profiles, by number: as the file has them, and as `folded` does.
    sampled: HashMap<u64, usize>,
    evented: u64,
    unclosed: u64,
    samples: u64,
}

impl Read {
    fn operation(&mut self, frame: u64) -> u32 {
        let trace = &mut self.trace;
        *self.operations.entry(frame).or_insert_with(|| {
            let cpu = trace.operations.device("cpu");
            trace.operations.number(&frame.to_string(), cpu, "")
        })
    }

    fn profile(mut self, notes: &mut Notes) -> Result<Profile, FileError> {
        notes.left_out(self.unclosed, "call(s)", "they begin and never end");
        let most = (self.frames.len() as u64).checked_sub(1);
        let used = self.operations.keys().chain(self.sampled.keys());
        let wrong = used.copied().find(|frame| Some(*frame) > most);
        if let Some(frame) = wrong {
            let told = format!(
                "there is no frame {frame}; shared.frames has {}",
                self.frames.len()
            );
            return Err(FileError::new(FileErrorKind::Value, told));
        }
        if self.evented == 0 || (self.samples > 0 && !self.is_own) {
            if self.evented > 0 {
                let told = "it has both events and samples, whose times may be the same; save \
                            one profile apart in speedscope";
                return Err(FileError::new(FileErrorKind::Value, told));
            }
            let mut names = vec![String::new(); self.sampled.len()];
            for (frame, number) in &self.sampled {
                let frame = usize::try_from(*frame).ok();
                if let Some(frame) = frame.and_then(|frame| self.frames.get(frame)) {
                    names[*number] = frame.name.clone();
                }
            }
            return self.folded.profile(&names, notes);
        }
        // This program's samples sum up its events, and more where events were dropped.
        notes.left_out(
            u64::from(self.samples > 0),
            "sampled profile(s)",
            "they have the time of the events once more",
        );
        let mut used: Vec<(u64, u32)> = self.operations.drain().collect();
        used.sort_unstable();
        let mut taken = HashSet::new();
        for (number, operation) in used {
            let frame = usize::try_from(number).ok();
            if let Some(frame) = frame.and_then(|frame| self.frames.get(frame)) {
                let name = unique(frame, number, &mut taken);
                self.trace.operations.rename(operation, &name);
            }
        }
        self.trace.profile(Environment::default(), notes)
    }
}

/// A frame's name; with its place where another has the name.
fn unique(frame: &Frame, number: u64, taken: &mut HashSet<String>) -> String {
    let name = if frame.name.is_empty() {
        "(unnamed)"
    } else {
        &frame.name
    };
    let file = frame.file.as_deref().unwrap_or("?");
    let line = frame.line.unwrap_or(0);
    let names = [
        name.to_owned(),
        format!("{name} ({file}:{line})"),
        format!("{name} (frame {number})"),
    ];
    let free = names.into_iter().find(|name| taken.insert(name.clone()));
    free.unwrap_or_else(|| format!("frame {number}"))
}

struct Document<'r>(&'r RefCell<Read>, &'r Cell<usize>);

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

const KEYS: &[&str] = &["shared", "profiles", "exporter"];

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with profiles and shared frames")
    }

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

impl<'de> DeserializeSeed<'de> for Sheets<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Sheets<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of profiles")
    }

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
