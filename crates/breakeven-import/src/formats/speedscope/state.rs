//! What was read of a speedscope file, and what becomes of it once its frames are known.

use std::collections::{HashMap, HashSet};

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::{Environment, Profile};
use serde::Deserialize;

use crate::folded::Folded;
use crate::json::Entry;
use crate::note::{Notes, Skipped};
use crate::trace::Trace;

/// A frame of the list that all profiles share.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Frame {
    pub(super) name: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Shared {
    #[serde(default)]
    pub(super) frames: Vec<Entry<Frame>>,
}

/// What was read so far. Frames are numbers until the whole file was.
#[derive(Default)]
pub(super) struct Read {
    pub(super) frames: Vec<Frame>,
    pub(super) is_own: bool,
    pub(super) count_ns: Option<f64>,
    pub(super) trace: Trace,
    /// Operations by the number of their frame.
    pub(super) operations: HashMap<u64, u32>,
    pub(super) folded: Folded,
    /// Frames of sampled profiles, by number: as the file has them, and as `folded` does.
    pub(super) sampled: HashMap<u64, usize>,
    pub(super) evented: u64,
    pub(super) unclosed: u64,
    pub(super) samples: u64,
    /// Samples without a weight, or weights without a sample.
    pub(super) unweighted: u64,
    /// Events that cannot be.
    pub(super) wrong: Skipped,
}

impl Read {
    pub(super) fn operation(&mut self, frame: u64) -> u32 {
        let trace = &mut self.trace;
        *self.operations.entry(frame).or_insert_with(|| {
            let cpu = trace.operations.device("cpu");
            trace.operations.number(&frame.to_string(), cpu, "")
        })
    }

    fn frame(&self, number: u64) -> Option<&Frame> {
        self.frames.get(usize::try_from(number).ok()?)
    }

    pub(super) fn profile(mut self, notes: &mut Notes) -> Result<Profile, FileError> {
        notes.left_out(self.unclosed, "call(s)", "they begin and never end");
        notes.skipped(
            std::mem::take(&mut self.wrong),
            "event(s)",
            "they lack a time, close a frame that is not open, or end before they begin",
        );
        notes.left_out(
            self.unweighted,
            "sample(s)",
            "there are not as many weights as samples",
        );
        if self.frames.is_empty() {
            let told = "no frame has a name: shared.frames is missing or empty";
            return Err(FileError::new(FileErrorKind::Empty, told));
        }
        let count = self.frames.len();
        let used = self.operations.keys().chain(self.sampled.keys());
        let unnamed = used.filter(|frame| **frame >= count as u64).count() as u64;
        let why = format!("their names: shared.frames has only {count}");
        notes.left_out(unnamed, "frame(s)", why);
        if self.evented == 0 || (self.samples > 0 && !self.is_own) {
            if self.evented > 0 {
                let told = "it has both events and samples, whose times may be the same; save \
                            one profile apart in speedscope";
                return Err(FileError::new(FileErrorKind::Value, told));
            }
            let mut names = vec![String::new(); self.sampled.len()];
            for (frame, number) in &self.sampled {
                names[*number] = match self.frame(*frame) {
                    Some(frame) => frame.name.clone(),
                    None => format!("(frame {frame})"),
                };
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
            let name = match self.frame(number) {
                Some(frame) => unique(frame, number, &mut taken),
                None => format!("(frame {number})"),
            };
            self.trace.operations.rename(operation, &name);
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
