//! Real files with bytes changed, cut, doubled and moved: never a panic, always an error of
//! one line or a profile that can be written and read again.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use breakeven_import::{Format, Imported, Options, read_from};
use breakeven_profile::file;
use breakeven_profile::profile::Run;
use rand::{RngExt as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::support::data;

/// Damaged copies of a file.
const COPIES: usize = 40;

fn damaged(text: &[u8], random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..random.random_range(1..6) {
        let at = random.random_range(0..=text.len());
        let end = (at + random.random_range(0..64)).min(text.len());
        match random.random_range(0..6) {
            0 => text.truncate(at),
            1 => drop(text.drain(at..end)),
            2 => {
                let part = text[at..end].to_vec();
                let to = random.random_range(0..=text.len());
                text.splice(to..to, part);
            }
            3 => text[at..end].fill(random.random_range(0..=255)),
            4 => {
                let words: [&[u8]; 8] = [
                    b"-1",
                    b"1e308",
                    b"NaN",
                    b"null",
                    b"\"",
                    b"\n",
                    b"[[",
                    "│".as_bytes(),
                ];
                let word = words[random.random_range(0..words.len())];
                text.splice(at..at, word.iter().copied());
            }
            _ => {
                if let Some(byte) = text.get_mut(at) {
                    *byte ^= 1 << random.random_range(0..8);
                }
            }
        }
    }
    text
}

fn check(text: Vec<u8>, options: &Options) {
    match read_from(Cursor::new(text), "file", options) {
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error:?}"),
        Ok(imported) => {
            let mut written = Vec::new();
            file::write_to(&imported.profile, &mut written).expect("a profile to write");
            let again = file::read_from(&written[..], "again").expect("a profile to read");
            assert_eq!(again, imported.profile);
        }
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_damaged_file_is_no_crash() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(20_261_123);
    let columns = "name=case,time=wall,unit=unit,run=process,device=device,size=elements";
    for path in files(&data("")) {
        let text = fs::read(&path).unwrap();
        let folders = path
            .ancestors()
            .filter_map(|each| each.file_name()?.to_str());
        let format = folders.filter_map(Format::named).last();
        for _ in 0..COPIES {
            let copy = damaged(&text, &mut random);
            check(
                copy.clone(),
                &Options {
                    from: format,
                    ..Options::default()
                },
            );
            check(copy.clone(), &Options::default());
            let columns = Some(columns.parse().unwrap());
            check(
                copy,
                &Options {
                    columns,
                    ..Options::default()
                },
            );
        }
    }
}

fn times(imported: &Imported) -> Vec<(&str, Vec<&[f64]>)> {
    let operations = imported.profile.operations.iter();
    fn samples(runs: &[Run]) -> Vec<&[f64]> {
        runs.iter().map(|run| &run.samples_ns[..]).collect()
    }
    operations
        .map(|each| (each.name.as_str(), samples(&each.runs)))
        .collect()
}

/// What ends a process or a group in the output of a tool.
const ENDS: [(&str, &str); 6] = [
    ("go", "PASS"),
    ("go", "\nFAIL"),
    ("criterion/console", "\n\n"),
    ("libtest/twice", "test result: "),
    ("catch2/console", "test cases: "),
    ("gungraun/lines", "}\n"),
];

/// A value that was cut is a smaller one, and a benchmark that was cut off is one that is not
/// judged. Where a line or a process ends, nothing shows that more followed.
#[test]
fn a_file_that_was_cut_is_never_taken_for_a_complete_one() {
    let mut silent = Vec::new();
    for path in files(&data("")) {
        let name = path.strip_prefix(data("")).unwrap().display().to_string();
        let text = fs::read(&path).unwrap();
        let options = Options {
            count_ns: Some(1.0),
            columns: match &*name {
                "table/hyperfine.csv" => Some("name=command,time=max,unit=s".parse().unwrap()),
                "table/runs.csv" => Some("name=case,time=wall,unit=unit".parse().unwrap()),
                "table/lines.jsonl" => Some("name=bench,time=took".parse().unwrap()),
                _ => None,
            },
            ..Options::default()
        };
        let read = |text: &[u8]| read_from(Cursor::new(text.to_vec()), &path, &options);
        // Two tables: behind the first one the file is complete.
        let is_twice = name == "divan/twice_coloured.txt";
        let Some(whole) = read(&text).ok().filter(|_| !is_twice) else {
            continue;
        };
        let step = text.len() / 400 + 1;
        let has_no_end = ["table", "collapsed", "rocprofv3/csv"];
        let has_no_end = has_no_end.iter().any(|each| name.starts_with(each));
        for end in (1..text.len()).step_by(step) {
            let Ok(cut) = read(&text[..end]) else {
                continue;
            };
            let said = cut.notes.iter().any(|note| !whole.notes.contains(note));
            let before = String::from_utf8_lossy(&text[..end]);
            let is_end =
                |(folder, mark): &(_, _)| name.starts_with(folder) && before.contains(mark);
            let has_ended = ENDS.iter().any(is_end);
            let may_end = has_ended || has_no_end && (said || text[end - 1] == b'\n');
            let is_same = times(&cut) == times(&whole);
            if !(is_same || may_end || cut.profile.interrupted) {
                silent.push(format!("{name}: {end} of {}", text.len()));
            }
        }
    }
    assert!(silent.is_empty(), "{silent:#?}");
}
