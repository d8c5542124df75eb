//! Units and figures as other tools write them, also for people.

/// How a value becomes a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unit {
    /// A time: ns in one.
    Time(f64),
    /// A rate: ns of the time that it is per.
    Rate(f64),
}

/// What one of a count is worth, ns: of a unit of time (`us`), or of samples taken at a
/// rate (`99hz`).
pub fn count_ns(text: &str) -> Option<f64> {
    let text = text.trim().to_lowercase();
    if let Some(rate) = text.strip_suffix("hz") {
        let rate: f64 = rate.trim().parse().ok()?;
        return (1e-3..=1e9).contains(&rate).then_some(1e9 / rate);
    }
    match Unit::named(&text) {
        Some(Unit::Time(ns)) if !text.contains('/') => Some(ns),
        _ => None,
    }
}

/// Names of units of time, ns in one.
const TIMES: [(&[&str], f64); 8] = [
    (&["ps", "picosecond", "picoseconds"], 1e-3),
    (&["ns", "nanosecond", "nanoseconds", "nsec"], 1.0),
    (
        &["us", "µs", "μs", "microsecond", "microseconds", "usec"],
        1e3,
    ),
    (&["ms", "millisecond", "milliseconds", "msec"], 1e6),
    (&["s", "sec", "secs", "second", "seconds"], 1e9),
    (&["m", "min", "mins", "minute", "minutes"], 60e9),
    (&["h", "hr", "hour", "hours"], 3600e9),
    (&["d", "day", "days"], 86_400e9),
];

/// What is done per time in a rate.
const DONE: [&str; 12] = [
    "",
    "op",
    "ops",
    "iter",
    "iters",
    "iteration",
    "iterations",
    "call",
    "calls",
    "run",
    "runs",
    "1",
];

impl Unit {
    /// The unit of that name: a time (`ms`), a time per call (`ns/op`, `us/iter`), or a
    /// rate of calls (`ops/s`, `iter/sec`, `1/ms`, `ops`).
    pub(crate) fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        match name.split_once('/') {
            None if matches!(name.as_str(), "ops" | "hz") => Some(Self::Rate(1e9)),
            None => named_time(&name).map(Self::Time),
            Some((done, per)) if DONE.contains(&done) => named_time(per).map(Self::Rate),
            Some((spent, done)) if DONE.contains(&done) => named_time(spent).map(Self::Time),
            Some(_) => None,
        }
    }

    /// The value in this unit as a time, ns: that of one call where it is a rate. A rate
    /// of zero gives an infinite time, which is none.
    pub(crate) fn ns(self, value: f64) -> f64 {
        match self {
            Self::Time(ns) => value * ns,
            Self::Rate(ns) => ns / value,
        }
    }
}

/// The parts of a value with its unit, as in `1.5 ms` or `8GB/s`; no unit if there is none.
pub(crate) fn value_and_unit(text: &str) -> (&str, &str) {
    let letter = text.find(|each: char| each.is_alphabetic() && !matches!(each, 'e' | 'E'));
    match letter {
        // NaN and inf are numbers.
        Some(at) if text.parse::<f64>().is_err() => (text[..at].trim(), &text[at..]),
        _ => (text.trim(), ""),
    }
}

/// Whether a figure of that name and unit is a rate, of which more is better. How fast
/// memory is allocated is none: less work done allocates less.
pub(crate) fn is_rate(name: &str, unit: &str) -> bool {
    let (name, unit) = (name.to_lowercase(), unit.to_lowercase());
    let per_time = |text: &str| match text.rsplit_once('/') {
        Some((_, per)) => named_time(per).is_some(),
        None => text.ends_with("per_second") || text.contains("throughput"),
    };
    (per_time(&name) || per_time(&unit)) && !name.contains("alloc")
}

fn named_time(name: &str) -> Option<f64> {
    let mut times = TIMES.iter();
    times.find_map(|(names, ns)| names.contains(&name).then_some(*ns))
}

/// A line without the colours of a terminal, and without what was overwritten.
pub(crate) fn plain(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or_default();
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let codes = part.strip_prefix('[');
        let end = codes.and_then(|codes| codes.find(|each: char| ('@'..='~').contains(&each)));
        match (codes, end) {
            (Some(codes), Some(end)) => text + &codes[end + 1..],
            _ => text + part,
        }
    })
}

/// A time such as `2.4 µs`, ns.
pub(crate) fn time(text: &str) -> Option<f64> {
    let (value, unit) = value_and_unit(text);
    let value: f64 = value.parse().ok()?;
    Some(Unit::named(unit)?.ns(value))
}

/// A value such as `8.3 GB/s` without the prefix of its unit.
pub(crate) fn scaled(text: &str) -> Option<(f64, &str)> {
    let (value, unit) = value_and_unit(text);
    let value: f64 = value.parse().ok()?;
    let prefixes = ['K', 'M', 'G', 'T', 'P'].into_iter().zip(1..);
    let found = prefixes.filter_map(|(prefix, power)| Some((unit.strip_prefix(prefix)?, power)));
    Some(match found.last() {
        None => (value, unit),
        Some((unit, power)) => match unit.strip_prefix('i') {
            Some(unit) if !unit.starts_with('t') => (value * 1024_f64.powi(power), unit),
            _ => (value * 1e3_f64.powi(power), unit),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_count_is_worth() {
        assert_eq!(count_ns("ns"), Some(1.0));
        assert_eq!(count_ns("MS"), Some(1e6));
        assert_eq!(count_ns("100Hz"), Some(1e7));
        for wrong in ["", "hz", "0hz", "-5hz", "nanhz", "ns/op", "ops/s", "bytes"] {
            assert_eq!(count_ns(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn of_rates_more_is_better() {
        for (name, unit) in [
            ("MB/s", "MB/s"),
            ("items_per_second", ""),
            ("disk", "GB/sec"),
        ] {
            assert!(is_rate(name, unit), "{name} {unit}");
        }
        for (name, unit) in [
            ("allocations", "allocs"),
            ("gc.alloc.rate", "MB/sec"),
            ("a", "B/op"),
        ] {
            assert!(!is_rate(name, unit), "{name} {unit}");
        }
    }

    #[test]
    fn times_and_rates() {
        let ns = |unit, value| Unit::named(unit).map(|unit| unit.ns(value));
        assert_eq!(ns("ms", 2.0), Some(2e6));
        assert_eq!(ns("μs", 2.0), Some(2e3));
        assert_eq!(ns("ns/op", 0.25), Some(0.25));
        assert_eq!(ns("iter/sec", 4.0), Some(2.5e8));
        assert_eq!(ns("ops/ms", 4.0), Some(2.5e5));
        assert_eq!(ns("Ops/s", 0.0), Some(f64::INFINITY));
        for wrong in ["", "MB/s", "furlongs", "s/s", "bytes"] {
            assert_eq!(Unit::named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn colours_and_what_was_overwritten_are_left_out() {
        assert_eq!(plain("\u{1b}[1m\u{1b}[32ma\u{1b}[0m\u{1b}[Kb m"), "ab m");
        assert_eq!(plain("Benchmarking a\r\u{1b}[Ka  time\r"), "a  time");
        assert_eq!(plain("a\u{1b}b"), "ab");
    }
}
