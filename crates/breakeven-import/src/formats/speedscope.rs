//! Speedscope's own format: <https://www.speedscope.app/file-format-schema.json>, as
//! py-spy, rbspy, speedscope and this program write it. Of profiles with events every call
//! is a sample of its frame's operation; of sampled ones a frame's one sample is its time.
//! The file is one run.

use std::collections::{HashMap, HashSet};

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;
use serde::Deserialize;

use crate::folded::Folded;
use crate::formats::{Format, Options};
use crate::json::{self, Number};
use crate::note::{Notes, Skipped};
use crate::source::Source;
use crate::trace::{Trace, When};
use crate::walk::{Parts, Raw, Want};

pub(crate) static IMPORTER: Format = Format {
    name: "speedscope",
    about: "speedscope's JSON: py-spy record --format speedscope, breakeven's export",
    recognises: |source| source.has("profiles[].type") || source.has("shared.frames"),
    read,
};

fn read(source: Source, options: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let path = source.path().to_owned();
    let mut read = Read {
        count_ns: options.count_ns,
        ..Read::default()
    };
    json::stream(source, &mut read)?;
    read.profile(notes).map_err(|error| error.at_path(&path))
}

/// A frame of the list that all profiles share.
#[derive(Debug, Default, Deserialize)]
struct Frame {
    name: String,
    file: Option<String>,
    line: Option<u64>,
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
    sampled: HashMap<u64, u32>,
    evented: u64,
    unclosed: u64,
    samples: u64,
    /// Samples without a weight, or weights without a sample.
    unweighted: u64,
    /// Events that cannot be.
    wrong: Skipped,
    /// A profile was left out because its counts have no unit.
    lacks_unit: bool,
    /// Profiles so far, and those that are left out.
    sheets: u64,
    refused: Skipped,
    sheet: Sheet,
}

/// The profile that is being read, and in its events or samples how far.
#[derive(Default)]
struct Sheet {
    name: String,
    /// ns of a unit.
    unit_ns: Option<f64>,
    is_refused: bool,
    track: u32,
    /// Frames that are open, and since when.
    open: Vec<(u64, i64)>,
    events: u64,
    /// The call path of each sample; none where a frame is no number.
    paths: Option<Vec<Option<u32>>>,
    weights: Option<Vec<Number>>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: Kind,
    at: Number,
    frame: u64,
}

#[derive(Deserialize)]
enum Kind {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

impl Parts for Read {
    fn want(&mut self, place: &str) -> Want {
        match place {
            "" => Want::Object("an object with profiles and shared frames"),
            "shared" => Want::Object("an object with frames"),
            "shared.frames" => Want::List("a list of frames"),
            "profiles" => Want::List("a list of profiles"),
            "profiles[]" => {
                self.sheet = Sheet::default();
                self.sheets += 1;
                Want::Object("a profile, an object")
            }
            "profiles[].events" if self.unit().is_none() => Want::Nothing,
            "profiles[].events" => {
                self.sheet.track = self.trace.track(&self.sheet.name);
                Want::List("a list of events")
            }
            "profiles[].weights" => {
                self.sheet.weights = Some(Vec::new());
                Want::List("a list of weights")
            }
            "profiles[].samples" => {
                self.sheet.paths = Some(Vec::new());
                Want::List("a list of samples")
            }
            "exporter"
            | "shared.frames[]"
            | "profiles[].name"
            | "profiles[].unit"
            | "profiles[].events[]"
            | "profiles[].samples[]"
            | "profiles[].weights[]" => Want::Text,
            _ => Want::Nothing,
        }
    }

    fn part(&mut self, place: &str, value: Raw<'_>) {
        let text = || value.read::<String>();
        match place {
            "exporter" => {
                self.is_own = text().is_some_and(|by| by.starts_with("breakeven "));
            }
            "shared.frames[]" => {
                self.frames.push(value.read().unwrap_or_default());
            }
            "profiles[].name" => self.sheet.name = text().unwrap_or_default(),
            "profiles[].unit" => {
                let unit = text().ok_or_else(|| "its unit is not a text".to_owned());
                self.lacks_unit |= self.count_ns.is_none() && matches!(unit.as_deref(), Ok("none"));
                match unit.and_then(|unit| unit_ns(&unit, self.count_ns)) {
                    Ok(unit_ns) => self.sheet.unit_ns = Some(unit_ns),
                    Err(why) => self.refuse(&why),
                }
            }
            "profiles[].events[]" => self.event(value.read()),
            "profiles[].samples[]" => self.stack(value),
            _ => {
                let weight = value.read().unwrap_or(Number(f64::NAN));
                self.sheet.weights.get_or_insert_default().push(weight);
            }
        }
    }

    fn end(&mut self, place: &str) -> Result<(), String> {
        match place {
            "profiles[].events[]" => self.unclosed += self.sheet.open.len() as u64,
            "profiles[]" => self.samples(),
            _ => {}
        }
        Ok(())
    }
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
    /// ns of a unit of the profile that is being read, which is left out without one.
    fn unit(&mut self) -> Option<f64> {
        if self.sheet.unit_ns.is_none() {
            self.refuse("missing field `unit`");
        }
        self.sheet.unit_ns
    }

    /// Leaves out the profile that is being read.
    fn refuse(&mut self, why: &str) {
        if !std::mem::replace(&mut self.sheet.is_refused, true) {
            let number = self.sheets;
            self.refused.add(|| format!("number {number}: {why}"));
        }
    }

    /// Takes an event; `None` is what is not one.
    fn event(&mut self, event: Option<Event>) {
        self.evented += 1;
        let unit_ns = self.sheet.unit_ns.unwrap_or(f64::NAN);
        let event = event.and_then(|event| {
            let ns = event.at.0 * unit_ns;
            (ns.abs() <= (1_u64 << 62) as f64).then(|| (event.kind, event.frame, ns.round() as i64))
        });
        match event {
            Some((Kind::Open, frame, at)) => self.sheet.open.push((frame, at)),
            Some((Kind::Close, frame, at)) if self.close(frame, at).is_some() => {}
            _ => {
                let Sheet { events, name, .. } = &self.sheet;
                (self.wrong).add(|| format!("events[{events}] of {name:?}"));
            }
        }
        self.sheet.events += 1;
    }

    /// Closes the frame, and those inside that were not closed; `None` if it is not open, or
    /// ends before it began.
    fn close(&mut self, frame: u64, at: i64) -> Option<()> {
        let open = &mut self.sheet.open;
        let number = open.iter().rposition(|(begun, _)| *begun == frame)?;
        let when = When::between(open[number].1, at)?;
        self.unclosed += (open.len() - number - 1) as u64;
        open.truncate(number);
        let operation = self.operation(frame);
        self.trace.call(operation, self.sheet.track, when);
        Some(())
    }

    /// Takes the frames of a sample, the outermost first.
    fn stack(&mut self, sample: Raw<'_>) {
        let mut path = Some(None);
        for frame in sample.entries::<Raw<'_>>() {
            path = path.zip(frame.and_then(Raw::count)).map(|(path, frame)| {
                let next = self.sampled.len() as u32;
                let number = *self.sampled.entry(frame).or_insert(next);
                self.folded.step(path, number)
            });
        }
        self.sheet
            .paths
            .get_or_insert_default()
            .push(path.flatten());
    }

    /// Takes the samples of a profile with their weights.
    fn samples(&mut self) {
        let Some(paths) = self.sheet.paths.take() else {
            return;
        };
        let Some(unit_ns) = self.unit() else { return };
        let Some(weights) = self.sheet.weights.take() else {
            return self.refuse("missing field `weights`");
        };
        self.unweighted += paths.len().abs_diff(weights.len()) as u64;
        self.samples += paths.len() as u64;
        for (path, weight) in paths.into_iter().zip(weights) {
            self.folded.sample(path, weight.0 * unit_ns);
        }
    }

    fn operation(&mut self, frame: u64) -> u32 {
        let trace = &mut self.trace;
        *self.operations.entry(frame).or_insert_with(|| {
            let cpu = trace.operations.device("cpu");
            trace.operations.number(&frame.to_string(), cpu, "")
        })
    }

    fn frame(&self, number: u64) -> Option<&Frame> {
        self.frames.get(usize::try_from(number).ok()?)
    }

    fn profile(mut self, notes: &mut Notes) -> Result<Profile, FileError> {
        notes.left_out(self.unclosed, "call(s)", "they begin and never end");
        notes.skipped(
            std::mem::take(&mut self.wrong),
            "event(s)",
            "they lack a time, close a frame that is not open, or end before they begin",
        );
        let why = "their times cannot be read";
        notes.skipped(std::mem::take(&mut self.refused), "profile(s)", why);
        notes.left_out(
            self.unweighted,
            "sample(s)",
            "there are not as many weights as samples",
        );
        if self.frames.is_empty() {
            let message = "no frame has a name: shared.frames is missing or empty";
            return Err(FileError::new(FileErrorKind::Empty, message));
        }
        let count = self.frames.len();
        let used = self.operations.keys().chain(self.sampled.keys());
        let unnamed = used.filter(|frame| **frame >= count as u64).count() as u64;
        let why = format!("their names: shared.frames has only {count}");
        notes.left_out(unnamed, "frame(s)", why);
        if self.evented == 0 || (self.samples > 0 && !self.is_own) {
            if self.evented > 0 {
                let message = "it has both events and samples, whose times may be the same; save \
                            one profile apart in speedscope";
                return Err(FileError::new(FileErrorKind::Value, message));
            }
            let mut names = vec![String::new(); self.sampled.len()];
            for (frame, number) in &self.sampled {
                names[*number as usize] = match self.frame(*frame) {
                    Some(frame) => frame.name.clone(),
                    None => format!("(frame {frame})"),
                };
            }
            let lacks_unit = self.lacks_unit;
            return self
                .folded
                .profile(&names, notes)
                .map_err(|error| match error.kind() {
                    FileErrorKind::Empty if lacks_unit => {
                        FileError::new(FileErrorKind::Unit, error.message())
                    }
                    _ => error,
                });
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
            self.trace.operations.get_mut(operation).rename(&name);
        }
        self.trace.profile(notes)
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
