//! Memory and time stay bounded.

use std::cell::Cell;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use breakeven_profile::file;

use super::{parse, with_operations};

const OPERATIONS: usize = 200;
const SAMPLES: usize = 10_000;

/// Makes the text of a large profile while it is read.
struct Lazy<'a> {
    made: &'a Cell<usize>,
    part: io::Cursor<String>,
}

impl Lazy<'_> {
    fn next_part(&self) -> Option<String> {
        let index = self.made.get();
        self.made.set(index + 1);
        match index {
            0..OPERATIONS => {
                let mut part = format!(
                    "{} {{\"name\": \"{index}\"",
                    if index == 0 { "" } else { "," }
                );
                part.push_str(", \"samples_ns\": [1000000");
                for sample in 1..SAMPLES {
                    write!(part, ", {}", 1_000_000 + sample).unwrap();
                }
                part.push_str("]}\n");
                Some(part)
            }
            OPERATIONS => Some("]}".to_owned()),
            _ => None,
        }
    }
}

impl Read for Lazy<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.part.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            match self.next_part() {
                Some(part) => self.part = io::Cursor::new(part),
                None => return Ok(0),
            }
        }
    }
}

#[test]
fn operations_are_handed_over_before_the_rest_is_read() {
    let made = Cell::new(0);
    let header = r#"{"format": "breakeven-profile", "version": 1, "operations": ["#;
    let reader = Lazy {
        made: &made,
        part: io::Cursor::new(header.to_owned()),
    };
    let mut handed = 0;
    let profile = file::read_operations(reader, "lazy", |operation| {
        assert_eq!(operation.runs[0].samples_ns.len(), SAMPLES);
        handed += 1;
        // The buffer holds less than one operation's text.
        assert!(
            made.get() <= handed + 1,
            "{} made, {handed} handed over",
            made.get()
        );
    });
    assert_eq!(profile.unwrap(), Default::default());
    assert_eq!(handed, OPERATIONS);
}

#[test]
fn a_million_samples_are_read_in_seconds() {
    let samples: Vec<String> = (0..1_000_000)
        .map(|sample| (812_000 + sample).to_string())
        .collect();
    let text = with_operations(&format!(
        "{{\"name\": \"a\", \"samples_ns\": [{}]}}",
        samples.join(",")
    ));
    let begin = Instant::now();
    let profile = parse(text).unwrap();
    assert_eq!(profile.operations[0].samples_ns().count(), 1_000_000);
    // Far above what it takes, for busy machines and unoptimised builds.
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn a_reader_may_give_one_byte_at_a_time() {
    struct Drip<'a>(&'a [u8]);
    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }
    let text = format!("\u{feff}{}", include_str!("full.json"));
    let profile = file::read_from(Drip(text.as_bytes()), "drip").unwrap();
    assert_eq!(profile, parse(&text).unwrap());
}
