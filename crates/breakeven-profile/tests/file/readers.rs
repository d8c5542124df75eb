//! Large files, slow readers, readers without an end.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use breakeven_profile::file::{self, FileErrorKind};

use super::{parse, with_operations};

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

#[test]
fn what_is_no_profile_is_not_read_to_its_end() {
    let error = file::read_from(io::repeat(b'x'), "endless").unwrap_err();
    assert_eq!(error.kind(), FileErrorKind::NotAProfile);
}
