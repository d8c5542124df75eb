//! One event of a trace, read into memory that the next one uses again.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::fields::{Count, KeyOf, Text, Three, Time, expects, passes_over, seed};

/// Times are in µs.
const UNIT_NS: u32 = 1_000;

/// An event as it is written.
#[derive(Debug, Default)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) category: String,
    pub(super) phase: String,
    pub(super) start: Option<i64>,
    pub(super) duration: Option<i64>,
    pub(super) process: String,
    pub(super) thread: String,
    pub(super) id: String,
    pub(super) args: Args,
}

/// What is told of an event beside its time; of all that there is, what counts here.
#[derive(Debug, Default)]
pub(super) struct Args {
    /// Of a process or a thread.
    pub(super) name: String,
    pub(super) device: Option<u64>,
    pub(super) stream: Option<u64>,
    pub(super) correlation: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) grid: Option<[u64; 3]>,
    pub(super) block: Option<[u64; 3]>,
    /// The run of a sample and the size of an operation, in this program's own traces.
    pub(super) run: Option<u64>,
    pub(super) size: Option<u64>,
}

impl Event {
    fn clear(&mut self) {
        for text in [
            &mut self.name,
            &mut self.category,
            &mut self.phase,
            &mut self.process,
            &mut self.thread,
            &mut self.id,
        ] {
            text.clear();
        }
        (self.start, self.duration) = (None, None);
        self.args.clear();
    }
}

impl Args {
    fn clear(&mut self) {
        let mut name = std::mem::take(&mut self.name);
        name.clear();
        *self = Self {
            name,
            ..Self::default()
        };
    }
}

/// Reads the next event over the one before.
impl<'de> DeserializeSeed<'de> for &mut Event {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.clear();
        deserializer.deserialize_any(self)
    }
}

const KEYS: &[&str] = &[
    "name", "cat", "ph", "ts", "dur", "pid", "tid", "id", "id2", "args",
];

impl<'de> Visitor<'de> for &mut Event {
    type Value = ();

    expects!("an event, an object");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(KeyOf(KEYS))? {
            let time = Time { unit_ns: UNIT_NS };
            match key {
                Some("name") => map.next_value_seed(Text(&mut self.name))?,
                Some("cat") => map.next_value_seed(Text(&mut self.category))?,
                Some("ph") => map.next_value_seed(Text(&mut self.phase))?,
                Some("pid") => map.next_value_seed(Text(&mut self.process))?,
                Some("tid") => map.next_value_seed(Text(&mut self.thread))?,
                Some("id" | "id2") => map.next_value_seed(Text(&mut self.id))?,
                Some("ts") => self.start = map.next_value_seed(time)?,
                Some("dur") => self.duration = map.next_value_seed(time)?,
                Some("args") => map.next_value_seed(&mut self.args)?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    passes_over!(bool null text numbers list);
}

seed!(&mut Args => (), deserialize_any);

const ARGS: &[&str] = &[
    "name",
    "device",
    "stream",
    "correlation",
    "bytes",
    "grid",
    "block",
    "run",
    "size",
];

impl<'de> Visitor<'de> for &mut Args {
    type Value = ();

    expects!("an object");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(KeyOf(ARGS))? {
            match key {
                Some("name") => map.next_value_seed(Text(&mut self.name))?,
                Some("device") => self.device = map.next_value_seed(Count)?,
                Some("stream") => self.stream = map.next_value_seed(Count)?,
                Some("correlation") => self.correlation = map.next_value_seed(Count)?,
                Some("bytes") => self.bytes = map.next_value_seed(Count)?,
                Some("grid") => self.grid = map.next_value_seed(Three)?,
                Some("block") => self.block = map.next_value_seed(Three)?,
                Some("run") => self.run = map.next_value_seed(Count)?,
                Some("size") => self.size = map.next_value_seed(Count)?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    passes_over!(bool null text numbers list);
}
