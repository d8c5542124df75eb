//! Speedscope's own format: <https://www.speedscope.app/file-format-schema.json>, as
//! py-spy, rbspy, speedscope and this program write it. Of profiles with events every call
//! is a sample of its frame's operation; of sampled ones a frame's one sample is its time.
//! The file is one run.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;
use serde_json::Value;

use crate::folded::Folded;
use crate::formats::{Format, Options};
use crate::json::{self, count, number};
use crate::note::Notes;
use crate::source::Source;
use crate::trace::{Trace, When};

pub(crate) static IMPORTER: Format = Format {
    name: "speedscope",
    about: "speedscope's JSON: py-spy record --format speedscope, breakeven's export",
    recognises: |source| source.has("profiles[].type") || source.has("shared.frames"),
    read,
};

fn read(source: Source, options: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let path = source.path().to_owned();
    let document: Value = json::read(source, notes)?;
    let profile = profile(&document, options.count_ns, notes);
    profile.map_err(|error| error.at_path(&path))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What was read so far.
#[derive(Default)]
struct Read {
    /// Names of frames, and those that each frame has alone.
    names: Vec<String>,
    own_names: Vec<String>,
    trace: Trace,
    folded: Folded,
    /// Frames that are used and have no name.
    unnamed: BTreeSet<u64>,
    events: u64,
    unclosed: u64,
    samples: u64,
    /// Samples without a weight, or weights without a sample.
    unweighted: u64,
}

fn profile(
    document: &Value,
    count_ns: Option<f64>,
    notes: &mut Notes,
) -> Result<Profile, FileError> {
    let frames = list(&document["shared"]["frames"]);
    let names = frames
        .iter()
        .map(|frame| json::text(&frame["name"]).into_owned());
    let mut taken = HashSet::new();
    let own_names = (0..).zip(frames);
    let mut read = Read {
        names: names.collect(),
        own_names: own_names
            .map(|(number, frame)| unique(frame, number, &mut taken))
            .collect(),
        ..Read::default()
    };
    let mut lacks_unit = false;
    for (number, sheet) in (1..).zip(list(&document["profiles"])) {
        if let Err(why) = read.sheet(sheet, count_ns, notes) {
            lacks_unit |= sheet["unit"] == "none";
            let why_not = "their times cannot be read";
            notes.leave_out("profile(s)", why_not, &format!("number {number}: {why}"));
        }
    }
    notes.left_out(read.unclosed, "call(s)", "they begin and never end");
    let why = "there are not as many weights as samples";
    notes.left_out(read.unweighted, "sample(s)", why);
    if frames.is_empty() {
        let message = "no frame has a name: shared.frames is missing or empty";
        return Err(FileError::new(FileErrorKind::Empty, message));
    }
    let why = format!("their names: shared.frames has only {}", frames.len());
    notes.left_out(read.unnamed.len() as u64, "frame(s)", &why);
    let exporter = document["exporter"].as_str().unwrap_or_default();
    let is_own = exporter.starts_with("breakeven ");
    if read.events > 0 && read.samples > 0 && !is_own {
        let message = "it has both events and samples, whose times may be the same; save one \
                       profile apart in speedscope";
        return Err(FileError::new(FileErrorKind::Value, message));
    }
    if read.events > 0 {
        // This program's samples sum up its events, and more where events were dropped.
        notes.left_out(
            u64::from(read.samples > 0),
            "sampled profile(s)",
            "they have the time of the events once more",
        );
        return read.trace.profile(notes);
    }
    let profile = read.folded.profile(notes);
    profile.map_err(|error| match error.kind() {
        FileErrorKind::Empty if lacks_unit => FileError::new(FileErrorKind::Unit, error.message()),
        _ => error,
    })
}

/// ns of a unit of that name.
fn unit_ns(unit: &str, count_ns: Option<f64>) -> Result<f64, String> {
    match (unit, count_ns) {
        ("nanoseconds", _) => Ok(1.0),
        ("microseconds", _) => Ok(1e3),
        ("milliseconds", _) => Ok(1e6),
        ("seconds", _) => Ok(1e9),
        ("none", Some(count_ns)) => Ok(count_ns),
        ("none", None) => Err(
            "its unit is none, so its weights are counts of samples; give the unit: the rate of \
             the samples, as in 100hz"
                .to_owned(),
        ),
        (unit, _) => Err(format!(
            "its unit is {unit:?}, which is not a unit of time; export a profile of times"
        )),
    }
}

impl Read {
    /// Takes one of the profiles; an error says why it is left out.
    fn sheet(
        &mut self,
        sheet: &Value,
        count_ns: Option<f64>,
        notes: &mut Notes,
    ) -> Result<(), String> {
        let unit = sheet["unit"].as_str().ok_or("it has no unit")?;
        let unit_ns = unit_ns(unit, count_ns)?;
        let name = sheet["name"].as_str().unwrap_or_default();
        if let Some(events) = sheet["events"].as_array() {
            let track = self.trace.track(name);
            let mut open = Vec::new();
            for (number, event) in (0..).zip(events) {
                self.events += 1;
                if self.event(event, unit_ns, track, &mut open).is_none() {
                    let why = "they lack a time, close a frame that is not open, or end before \
                               they begin";
                    notes.leave_out("event(s)", why, &format!("events[{number}] of {name:?}"));
                }
            }
            self.unclosed += open.len() as u64;
        }
        if let Some(samples) = sheet["samples"].as_array() {
            let weights = sheet["weights"].as_array().ok_or("it has no weights")?;
            self.unweighted += samples.len().abs_diff(weights.len()) as u64;
            self.samples += samples.len() as u64;
            for (sample, weight) in samples.iter().zip(weights) {
                let path = self.path(list(sample));
                let weight = number(weight).unwrap_or(f64::NAN);
                self.folded.sample(path, weight * unit_ns);
            }
        }
        Ok(())
    }

    /// Takes an event; `None` is what is not one. Closing a frame closes those inside.
    fn event(
        &mut self,
        event: &Value,
        unit_ns: f64,
        track: u32,
        open: &mut Vec<(u64, i64)>,
    ) -> Option<()> {
        let frame = count(&event["frame"])?;
        let ns = number(&event["at"])? * unit_ns;
        let is_time = ns.abs() <= (1_u64 << 62) as f64;
        let at = is_time.then(|| ns.round() as i64)?;
        match event["type"].as_str()? {
            "O" => open.push((frame, at)),
            "C" => {
                let number = open.iter().rposition(|(begun, _)| *begun == frame)?;
                let when = When::between(open[number].1, at)?;
                self.unclosed += (open.len() - number - 1) as u64;
                open.truncate(number);
                let name = named(&self.own_names, frame, &mut self.unnamed);
                let cpu = self.trace.operations.device("cpu");
                let operation = self.trace.operations.number(&name, cpu, "");
                self.trace.call(operation, track, when);
            }
            _ => return None,
        }
        Some(())
    }

    /// The call path of a sample's frames, the outermost first; none where one is no number.
    fn path(&mut self, frames: &[Value]) -> Option<u32> {
        let mut path = None;
        for frame in frames {
            let name = named(&self.names, count(frame)?, &mut self.unnamed);
            path = Some(self.folded.step(path, &name));
        }
        path
    }
}

/// The name of a frame; by its number where it has none.
fn named<'n>(names: &'n [String], frame: u64, unnamed: &mut BTreeSet<u64>) -> Cow<'n, str> {
    let known = usize::try_from(frame).ok();
    match known.and_then(|frame| names.get(frame)) {
        Some(name) => name.into(),
        None => {
            unnamed.insert(frame);
            format!("(frame {frame})").into()
        }
    }
}

/// A frame's name; with its place where another has the name.
fn unique(frame: &Value, number: u64, taken: &mut HashSet<String>) -> String {
    let name = match &*json::text(&frame["name"]) {
        "" => "(unnamed)".to_owned(),
        name => name.to_owned(),
    };
    let file = frame["file"].as_str().unwrap_or("?");
    let line = count(&frame["line"]).unwrap_or(0);
    let placed = format!("{name} ({file}:{line})");
    let numbered = format!("{name} (frame {number})");
    let mut names = [name, placed, numbered.clone()].into_iter();
    let free = names.find(|name| taken.insert(name.clone()));
    free.unwrap_or(numbered)
}
