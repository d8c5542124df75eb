//! One event of a trace, and the streaming writer of events.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::ser::{CompactFormatter, Formatter};

use super::super::ExportError;

/// An event; its fields have the names of the format.
#[derive(Default, Serialize)]
pub(super) struct Event<'a> {
    pub(super) name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cat: Option<&'static str>,
    pub(super) ph: &'static str,
    pub(super) ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dur: Option<f64>,
    pub(super) pid: usize,
    pub(super) tid: usize,
    /// Scope of an instant: `g`lobal or `t`hread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) s: Option<&'static str>,
    #[serde(skip_serializing_if = "Args::is_empty")]
    pub(super) args: Args<'a>,
}

/// Position of an event: ids of its process and of its track.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) pid: usize,
    pub(super) tid: usize,
}

impl Place {
    /// The process and the track with these numbers, from 0. Perfetto merges tracks of equal ids,
    /// whatever their process, and takes a track with a process's id for that process's main
    /// thread. Therefore track ids follow the process ids.
    pub(super) fn new(process: usize, track: usize) -> Self {
        Self {
            pid: process + 1,
            tid: track + 1,
        }
    }
}

impl<'a> Event<'a> {
    /// A call from `start_ns` on.
    pub(super) fn call(
        name: &'a str,
        category: &'static str,
        place: Place,
        (start_ns, duration_ns): (u64, u64),
    ) -> Self {
        Self {
            cat: Some(category),
            ts: microseconds(start_ns),
            dur: Some(microseconds(duration_ns)),
            ..Self::new(name, "X", place, Args::default())
        }
    }

    /// The name of a process or of a track.
    pub(super) fn metadata(kind: &'static str, place: Place, name: String) -> Self {
        let mut args = Args::default();
        args.push("name", Value::Text(name.into()));
        Self::new(kind, "M", place, args)
    }

    /// A remark at the beginning of the whole trace.
    pub(super) fn instant(name: &'a str, args: Args<'a>) -> Self {
        let place = Place { pid: 1, tid: 1 };
        Self {
            s: Some("g"),
            ..Self::new(name, "i", place, args)
        }
    }

    /// A remark at the beginning of a track.
    pub(super) fn of_track(name: &'a str, place: Place, args: Args<'a>) -> Self {
        Self {
            s: Some("t"),
            ..Self::new(name, "i", place, args)
        }
    }

    fn new(name: &'a str, ph: &'static str, place: Place, args: Args<'a>) -> Self {
        Self {
            name: name.into(),
            ph,
            pid: place.pid,
            tid: place.tid,
            args,
            ..Self::default()
        }
    }
}

/// The time in the format's µs. Perfetto multiplies by 1000 and truncates, so a number whose last
/// digit is too small would lose one ns, and calls that end together would overlap.
fn microseconds(ns: u64) -> f64 {
    let ns = ns as f64;
    let us = ns / 1000.0;
    if us * 1000.0 < ns { us.next_up() } else { us }
}

/// An event's properties besides its time, in order.
#[derive(Default)]
pub(super) struct Args<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

/// One property.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Value<'a> {
    Text(Cow<'a, str>),
    Count(u64),
    Number(f64),
    Is(bool),
    Any(&'a serde_json::Value),
}

impl<'a> Args<'a> {
    /// Adds a value under a name that is not used yet.
    pub(super) fn push(&mut self, name: impl Into<Cow<'a, str>>, value: Value<'a>) {
        self.0.push((name.into(), value));
    }

    pub(super) fn text(&mut self, name: &'a str, text: &'a str) {
        self.push(name, Value::Text(text.into()));
    }

    pub(super) fn count(&mut self, name: &'a str, count: Option<u64>) {
        if let Some(count) = count {
            self.push(name, Value::Count(count));
        }
    }

    /// Adds the program's attributes, except under names that are used.
    pub(super) fn attributes(&mut self, attributes: &'a BTreeMap<String, serde_json::Value>) {
        let own = self.0.len();
        for (name, value) in attributes {
            if self.0[..own].iter().all(|(other, _)| other != name) {
                self.push(name.as_str(), Value::Any(value));
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Args<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A trace that is being written.
pub(super) struct Trace<W> {
    out: W,
    separator: &'static str,
}

impl<W: Write> Trace<W> {
    /// Writes what comes before the events.
    pub(super) fn begin(mut out: W, other_data: &Args<'_>) -> Result<Self, ExportError> {
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
        json(&mut out, other_data)?;
        write!(out, ",\"traceEvents\":[")?;
        Ok(Self {
            out,
            separator: "\n",
        })
    }

    pub(super) fn event(&mut self, event: &Event<'_>) -> Result<(), ExportError> {
        write!(self.out, "{}", self.separator)?;
        self.separator = ",\n";
        Ok(json(&mut self.out, event)?)
    }

    pub(super) fn end(mut self) -> Result<(), ExportError> {
        writeln!(self.out, "\n]}}")?;
        Ok(self.out.flush()?)
    }
}

fn json(out: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Escaped(CompactFormatter));
    Ok(value.serialize(&mut serializer)?)
}

/// Escapes DEL, the one control character that JSON allows unescaped in a text: Perfetto refuses a
/// trace with it.
struct Escaped(CompactFormatter);

impl Formatter for Escaped {
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut parts = fragment.split('\u{7f}');
        let first = parts.next().unwrap_or_default();
        self.0.write_string_fragment(writer, first)?;
        for part in parts {
            writer.write_all(b"\\u007f")?;
            self.0.write_string_fragment(writer, part)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_nanosecond_is_lost_where_perfetto_cuts_off() {
        let odd = (0..2_000_000).map(|n| n * 37 + 1);
        for ns in odd.chain([1 << 40, (1 << 50) + 1]) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "as Perfetto does it"
            )]
            let read = (microseconds(ns) * 1000.0) as u64;
            assert_eq!(read, ns);
        }
        assert_eq!(microseconds(1_500), 1.5);
    }
}
