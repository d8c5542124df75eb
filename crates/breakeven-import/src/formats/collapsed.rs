//! Collapsed stacks, as `perf` with `stackcollapse-perf`, inferno, py-spy's `--format raw`
//! and this program write them: a line per call path, its frames parted by `;`, then a
//! count. What the counts count, the file does not say: [`Options::count_ns`] does. An operation is a
//! frame, whose one sample is its time in the run; the file is one run.

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;

use crate::folded::Folded;
use crate::formats::{Format, Options};
use crate::note::Notes;
use crate::source::Source;

pub(crate) static IMPORTER: Format = Format {
    name: "collapsed",
    about: "collapsed stacks: perf with inferno or stackcollapse, py-spy record --format raw, \
            breakeven's export; give the unit of the counts",
    recognises: |source| {
        let lines = source.lines().filter(|line| !is_comment(line)).take(50);
        let paths: Vec<Option<(&str, f64)>> = lines.map(path_and_count).collect();
        let is_path = |path: &&(&str, f64)| path.0.contains(';');
        let known = paths.iter().flatten();
        let is_most = 2 * known.clone().count() >= paths.len();
        is_most && known.clone().any(|path| is_path(&path)) && !source.text().starts_with("{\"")
    },
    read,
};

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

fn path_and_count(line: &str) -> Option<(&str, f64)> {
    let (path, count) = line.trim_end().rsplit_once(' ')?;
    let is_number = count.starts_with(|c: char| c.is_ascii_digit());
    let count: f64 = count.parse().ok().filter(|_| is_number)?;
    (!path.trim().is_empty()).then_some((path, count))
}

fn read(source: Source, options: &Options, notes: &mut Notes) -> Result<Profile, FileError> {
    let path = source.path().to_owned();
    let wrong = |kind, message: &str| FileError::new(kind, message).at_path(&path);
    let Some(unit_ns) = options.count_ns else {
        let message = "the counts of collapsed stacks have no unit; give the unit: ns for those of \
                    breakeven convert, else us or ms, or the rate of the samples, as in 99hz";
        return Err(wrong(FileErrorKind::Unit, message));
    };
    let text = source.into_lines(notes)?;
    let mut folded = Folded::default();
    let (mut counted, mut counted_twice) = (0_u64, 0_u64);
    for (number, line) in (1..)
        .zip(text.lines())
        .filter(|(_, line)| !is_comment(line))
    {
        let Some((stack, count)) = path_and_count(line) else {
            let why = "they do not end in a space and a count";
            notes.leave_out("line(s)", why, &format!("line {number}"));
            continue;
        };
        counted += 1;
        counted_twice += u64::from(path_and_count(stack).is_some());
        let mut at = None;
        for frame in stack.split(';') {
            at = Some(folded.step(at, frame.trim()));
        }
        folded.sum_of(at, count * unit_ns);
    }
    // Some lines may be cut, and few names end in a number.
    if 2 * counted_twice > counted {
        let message = "most lines have two counts, so these are two profiles (of difffolded.pl or \
                    inferno-diff-folded); give the two files that it was made from";
        return Err(wrong(FileErrorKind::Value, message));
    }
    folded.profile(notes)
}
