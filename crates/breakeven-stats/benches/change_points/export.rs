//! Series for others to search.

use std::fs::File;
use std::io::{BufWriter, Write};

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::kinds::KINDS;
use crate::{found, stepped};

/// Series of each kind without a step, and of each shape with one.
const EACH: usize = 40;

/// Values before a step and from it on.
const SHAPES: [(usize, usize); 3] = [(30, 10), (100, 10), (100, 100)];

/// Writes a line per series: kind, place of the step (empty without one), the places that
/// breakeven finds, separated by spaces, and the values.
pub(crate) fn write(path: &str) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(10);
    for kind in &KINDS {
        for round in 0..EACH {
            let series = kind.series(100, &mut random);
            line(&mut file, kind.name, None, &series)?;
            for (before, after) in SHAPES {
                let (series, _) = stepped(kind, before, after, round, &mut random);
                line(&mut file, kind.name, Some(before), &series)?;
            }
        }
    }
    file.flush()
}

fn line(
    file: &mut impl Write,
    kind: &str,
    step: Option<usize>,
    series: &[f64],
) -> std::io::Result<()> {
    let step = step.map_or_else(String::new, |step| step.to_string());
    let found: Vec<String> = found(series).iter().map(ToString::to_string).collect();
    write!(file, "{kind},{step},{}", found.join(" "))?;
    for value in series {
        write!(file, ",{value}")?;
    }
    writeln!(file)
}
