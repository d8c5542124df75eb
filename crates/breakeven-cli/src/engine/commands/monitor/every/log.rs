//! The log of the periodic mode: lines of JSON.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;

use crate::engine::periodic::event::Event;

#[derive(Serialize)]
struct Line<'e> {
    time: String,
    #[serde(flatten)]
    event: &'e Event,
}

/// Appends a line, in one write: lines of several programs do not mix.
pub(super) fn append(path: &Path, event: &Event) -> io::Result<()> {
    let time = crate::engine::session::now();
    let mut line = serde_json::to_vec(&Line { time, event })?;
    line.push(b'\n');
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(&line)
}
