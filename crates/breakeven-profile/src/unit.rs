//! Formats figures with units: three significant digits, and a prefix that keeps the number short.
//!
//! A figure that is not finite is printed as [`UNKNOWN`]. User input is parsed by [`parse_time`],
//! [`parse_bytes`], [`parse_rate`] and [`parse_fraction`].

/// The text for a figure that is not known.
pub const UNKNOWN: &str = "–";

/// Units of time: ns per unit, name.
const TIME: [(f64, &str); 7] = [
    (1e-3, "ps"),
    (1.0, "ns"),
    (1e3, "µs"),
    (1e6, "ms"),
    (1e9, "s"),
    (60e9, "min"),
    (3600e9, "h"),
];

/// Binary units of memory: bytes per unit, name.
const MEMORY: [(f64, &str); 5] = [
    (1.0, "B"),
    (1024.0, "KiB"),
    (1_048_576.0, "MiB"),
    (1_073_741_824.0, "GiB"),
    (1_099_511_627_776.0, "TiB"),
];

/// Decimal prefixes of energy.
const ENERGY: [(f64, &str); 7] = [
    (1e-9, "nJ"),
    (1e-6, "µJ"),
    (1e-3, "mJ"),
    (1.0, "J"),
    (1e3, "kJ"),
    (1e6, "MJ"),
    (1e9, "GJ"),
];

/// Decimal prefixes of rates.
const DECIMAL: [(f64, &str); 6] = [
    (1.0, ""),
    (1e3, "k"),
    (1e6, "M"),
    (1e9, "G"),
    (1e12, "T"),
    (1e15, "P"),
];

/// A duration given in ns: `812 ns`, `1.24 ms`, `3.01 s`, `16.7 min`.
/// Negative for differences: `-1.24 ms`.
pub fn time(ns: f64) -> String {
    written(ns, &TIME, "ns", "")
}

/// An energy given in J: `12.3 J`, `812 µJ`, `1.24 kJ`.
pub fn joules(joules: f64) -> String {
    written(joules, &ENERGY, "J", "")
}

/// A size of memory in binary units, without zeros at the end: `512 B`, `10 KiB`, `1.5 GiB`.
pub fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, &MEMORY).map_or_else(unknown, |(digits, unit)| {
        let digits = match digits.contains('.') {
            true => digits.trim_end_matches('0').trim_end_matches('.'),
            false => &digits,
        };
        format!("{digits} {unit}")
    })
}

/// A rate of data in decimal units: `12.3 GB/s`.
pub fn bytes_per_s(rate: f64) -> String {
    written(rate, &DECIMAL, "", "B/s")
}

/// A rate of floating-point operations: `1.23 GFLOP/s`.
pub fn flops_per_s(rate: f64) -> String {
    written(rate, &DECIMAL, "", "FLOP/s")
}

/// A rate without a unit: `12.3 /s`, `1 234 /s`, `1.23 M/s`. Up to a million the number is printed
/// in groups of three, which reads more easily than a `k`.
pub fn per_s(rate: f64) -> String {
    if (999.5..999_999.5).contains(&rate.abs()) {
        format!("{} /s", grouped(rate))
    } else {
        written(rate, &DECIMAL, "", "/s")
    }
}

/// A fraction as a percentage with one decimal: `12.3 %`.
pub fn percent(fraction: f64) -> String {
    let percent = (fraction * 1000.0).round() / 10.0;
    if percent.is_finite() {
        // Adding zero makes a plain zero of a negative one.
        format!("{:.1} %", percent + 0.0)
    } else {
        unknown()
    }
}

/// A change as a percentage with its sign: `+12.3 %`, `-5.0 %`, `0.0 %`; from a factor of ten on as
/// that factor: `× 141`.
pub fn change(fraction: f64) -> String {
    if fraction.is_finite() && fraction >= 8.995 {
        return format!("× {}", three_digits(1.0 + fraction).0);
    }
    let text = percent(fraction);
    match fraction > 0.0 && text != percent(0.0) && text != UNKNOWN {
        true => format!("+{text}"),
        false => text,
    }
}

/// A number of things: `1 task`, `2 000 tasks`.
pub fn plural(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{} {one}s", self::count(count as f64)),
    }
}

/// A count, as an integer if it is one: `20`, `12 345`, `7.50`.
pub fn count(count: f64) -> String {
    if !count.is_finite() {
        unknown()
    } else if count.fract() == 0.0 {
        grouped(count)
    } else {
        three_digits(count).0
    }
}

fn unknown() -> String {
    UNKNOWN.to_owned()
}

/// A value in the unit that gives it one to three digits before the point; `zero` is the unit of
/// zero, and `suffix` follows every unit.
fn written(value: f64, units: &[(f64, &'static str)], zero: &str, suffix: &str) -> String {
    if value == 0.0 {
        return format!("0 {zero}{suffix}");
    }
    scaled(value, units).map_or_else(unknown, |(digits, unit)| format!("{digits} {unit}{suffix}"))
}

/// The value's digits in the largest unit in which it is, after rounding, at least one. `None` if
/// it is not finite.
fn scaled(value: f64, units: &[(f64, &'static str)]) -> Option<(String, &'static str)> {
    if !value.is_finite() {
        return None;
    }
    for (index, (size, name)) in units.iter().enumerate() {
        // Where the next unit begins: at 1000 of this one, or at one of the next if that is more
        // (1024 bytes). Seconds and minutes go up to 1000 too.
        let most = match units.get(index + 1) {
            Some((next, _)) => (next / size).max(1000.0),
            None => f64::INFINITY,
        };
        let (digits, rounded) = three_digits(value / size);
        if rounded.abs() < most {
            return Some((digits, name));
        }
    }
    None
}

/// Three significant digits, all digits from 1000 on in groups; and the number
/// that they show.
fn three_digits(value: f64) -> (String, f64) {
    let decimals = match value.abs() {
        magnitude if magnitude < 9.995 => 2,
        magnitude if magnitude < 99.95 => 1,
        magnitude if magnitude < 999.5 => 0,
        _ => return (grouped(value), value.round()),
    };
    let digits = format!("{value:.decimals$}");
    let rounded = digits.parse().unwrap_or(value);
    (digits, rounded)
}

/// An integer in groups of three: `12 345`; huge ones as `1.23e45`.
fn grouped(value: f64) -> String {
    if value.abs() >= 1e21 {
        return format!("{value:.2e}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Decimal units of memory: bytes per unit, name.
const DECIMAL_MEMORY: [(f64, &str); 4] = [(1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")];

/// Why a text is not a figure with a unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// Not a duration.
    #[error("{0:?} is not a duration; write a number and a unit, as in \"2 ms\" or \"800 us\"")]
    Time(String),
    /// Not a size of memory.
    #[error(
        "{0:?} is not a size of memory; write a number and a unit, as in \"64 GiB\", \"10 kB\" or \"512 B\""
    )]
    Bytes(String),
    /// Not a rate of data.
    #[error("{0:?} is not a rate of data; write a number and a unit per second, as in \"12 GB/s\"")]
    Rate(String),
    /// More bytes than 64 bits count.
    #[error("{0:?} is too large; the largest amount of memory is 16777215 TiB")]
    TooLarge(String),
    /// Not a fraction; the text says what to give.
    #[error("{0}")]
    Fraction(String),
}

/// A duration in ns: `2 ms`, `800us`, `1.5 s`; from `ps` to `h`. Finite, 0 or more.
///
/// # Errors
///
/// [`UnitError::Time`].
pub fn parse_time(text: &str) -> Result<f64, UnitError> {
    let wrong = || UnitError::Time(text.to_owned());
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let unit = match unit {
        // The letter µ has two code points, and many keyboards have none.
        "us" | "μs" => "µs",
        unit => unit,
    };
    let scale = scale(&TIME, unit).ok_or_else(wrong)?;
    figure(number, scale).ok_or_else(wrong)
}

/// A size of memory in bytes: `64 GiB`, `10 kB`, `512 B`; without a unit, bytes. Fractions of a
/// byte are rounded.
///
/// # Errors
///
/// [`UnitError::Bytes`], and [`UnitError::TooLarge`] past 64 bits.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError::Bytes(text.to_owned());
    let (number, unit) = split(text).unwrap_or((text.trim(), "B"));
    let scale = memory_scale(unit).ok_or_else(wrong)?;
    // An integer is exact to the last digit.
    let whole = number.parse::<u64>().ok();
    if let Some(bytes) = whole.and_then(|number| number.checked_mul(whole_bytes(scale)?)) {
        return Ok(bytes);
    }
    let bytes = figure(number, scale).ok_or_else(wrong)?.round();
    whole_bytes(bytes).ok_or_else(|| UnitError::TooLarge(text.to_owned()))
}

/// A rate of data in bytes per second: `12 GB/s`, `900 MiB/s`. Finite, 0 or more.
///
/// # Errors
///
/// [`UnitError::Rate`].
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    let wrong = || UnitError::Rate(text.to_owned());
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let unit = unit.strip_suffix("/s").ok_or_else(wrong)?;
    let scale = memory_scale(unit).ok_or_else(wrong)?;
    figure(number, scale).ok_or_else(wrong)
}

/// A fraction above zero: `5%` or `0.05`. Without the sign it is 1 at the most.
///
/// # Errors
///
/// [`UnitError::Fraction`].
pub fn parse_fraction(text: &str) -> Result<f64, UnitError> {
    let wrong = |text: &str| UnitError::Fraction(text.to_owned());
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|_| wrong("give a fraction as in 5% or 0.05"))?;
    if !(number.is_finite() && number > 0.0) {
        Err(wrong("give a fraction above zero, as in 5% or 0.05"))
    } else if scale == 1.0 && number > 1.0 {
        let percent = number * 100.0;
        Err(wrong(&format!(
            "{number} is {percent} %; did you mean {number}%?"
        )))
    } else {
        Ok(number * scale)
    }
}

/// The number and the unit after it.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let unit = text.find(|c: char| c.is_alphabetic() && c != 'e' && c != 'E')?;
    let (number, unit) = text.split_at(unit);
    Some((number.trim(), unit))
}

fn scale(units: &[(f64, &str)], unit: &str) -> Option<f64> {
    let (scale, _) = units.iter().find(|(_, name)| *name == unit)?;
    Some(*scale)
}

fn memory_scale(unit: &str) -> Option<f64> {
    let unit = match unit {
        "KB" => "kB",
        "kiB" => "KiB",
        unit => unit,
    };
    scale(&MEMORY, unit).or_else(|| scale(&DECIMAL_MEMORY, unit))
}

/// The amount in base units; `None` if it is negative or not finite.
fn figure(number: &str, scale: f64) -> Option<f64> {
    let value = number.parse::<f64>().ok()? * scale;
    (value.is_finite() && value >= 0.0).then_some(value + 0.0)
}

/// Whole bytes; `None` past 64 bits.
#[expect(clippy::cast_sign_loss, reason = "figures are 0 or more")]
fn whole_bytes(bytes: f64) -> Option<u64> {
    // 2^64, the first that does not fit.
    (bytes < 18_446_744_073_709_551_616.0).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (0.000_5, "0.50 ps"),
            (0.123_4, "123 ps"),
            (1.0, "1.00 ns"),
            (812.0, "812 ns"),
            (812_000.0, "812 µs"),
            (1_240_000.0, "1.24 ms"),
            (3_010_000_000.0, "3.01 s"),
            (61e9, "61.0 s"),
            (1000e9, "16.7 min"),
            (60_000e9, "16.7 h"),
            (9.3e18, "2 583 333 h"),
            (-1_240_000.0, "-1.24 ms"),
        ] {
            assert_eq!(time(ns), text, "{ns}");
        }
    }

    #[test]
    fn rounding_crosses_into_the_next_unit() {
        for (ns, text) in [
            (999_400.0, "999 µs"),
            (999_500.0, "1.00 ms"),
            (999_960.0, "1.00 ms"),
            (9_994.0, "9.99 µs"),
            (9_996.0, "10.0 µs"),
            (99_960.0, "100 µs"),
        ] {
            assert_eq!(time(ns), text, "{ns}");
        }
        assert_eq!(bytes_per_s(999.7e6), "1.00 GB/s");
        assert_eq!(bytes(1_048_575), "1 MiB");
    }

    #[test]
    fn energies() {
        for (joules, text) in [
            (0.0, "0 J"),
            (12.34, "12.3 J"),
            (0.000_812, "812 µJ"),
            (1_240.0, "1.24 kJ"),
            (-0.5, "-500 mJ"),
            (f64::NAN, UNKNOWN),
        ] {
            assert_eq!(super::joules(joules), text);
        }
    }

    #[test]
    fn memory() {
        for (size, text) in [
            (0, "0 B"),
            (512, "512 B"),
            (1000, "1 000 B"),
            (1023, "1 023 B"),
            (1024, "1 KiB"),
            (10 * 1024, "10 KiB"),
            (1_610_612_736, "1.5 GiB"),
            (64 << 30, "64 GiB"),
            (u64::MAX, "16 777 216 TiB"),
        ] {
            assert_eq!(bytes(size), text, "{size}");
        }
    }

    #[test]
    fn rates() {
        assert_eq!(bytes_per_s(12.3e9), "12.3 GB/s");
        assert_eq!(bytes_per_s(0.0), "0 B/s");
        assert_eq!(flops_per_s(1.234e9), "1.23 GFLOP/s");
        assert_eq!(flops_per_s(2e18), "2 000 PFLOP/s");
        assert_eq!([0.25, 12.34].map(per_s), ["0.25 /s", "12.3 /s"]);
        assert_eq!([999.6, 1234.4].map(per_s), ["1 000 /s", "1 234 /s"]);
        assert_eq!(per_s(999_999.0), "999 999 /s");
        assert_eq!([999_999.6, 1.23e6].map(per_s), ["1.00 M/s", "1.23 M/s"]);
    }

    #[test]
    fn percentages_changes_with_their_sign_and_counts() {
        assert_eq!([0.1234, 12.0].map(percent), ["12.3 %", "1200.0 %"]);
        assert_eq!([-0.0001, -0.05].map(percent), ["0.0 %", "-5.0 %"]);
        assert_eq!([0.1234, -0.05].map(change), ["+12.3 %", "-5.0 %"]);
        assert_eq!([8.0, 140.0].map(change), ["+800.0 %", "× 141"]);
        assert_eq!([0.000_01, -0.000_01].map(change), ["0.0 %"; 2]);
        assert_eq!([20.0, 12_345.0, 7.5].map(count), ["20", "12 345", "7.50"]);
    }

    #[test]
    fn what_is_not_finite_is_unknown() {
        let rates = [bytes_per_s, flops_per_s, per_s];
        for print in [time, percent, change, count].into_iter().chain(rates) {
            let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            assert_eq!(values.map(print), [UNKNOWN; 3]);
        }
    }

    #[test]
    fn any_number_prints_short() {
        for exponent in -300..300 {
            let text = time(1.2345 * 10f64.powi(exponent));
            assert!(exponent > 17 || text.chars().count() <= 8, "{text}");
        }
    }

    #[test]
    fn fractions() {
        let read = ["5%", "2.5 %", "0.05", "150%"].map(parse_fraction);
        assert_eq!(read, [0.05, 0.025, 0.05, 1.5].map(Ok));
        for wrong in ["", "%", "five", "-5%", "0", "nan", "inf", "5"] {
            assert!(parse_fraction(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations() {
        let times = ["2 ms", " 800us ", "1e3ns", "2 min", "0 s"].map(parse_time);
        assert_eq!(times, [2e6, 8e5, 1e3, 120e9, 0.0].map(Ok));
        assert_eq!(
            ["1.5 µs", "1.5 μs"].map(parse_time),
            [Ok(1_500.0), Ok(1_500.0)]
        );
        for wrong in [
            "", "2", "ms", "-1 ms", "1e999 s", "2 m", "nan ms", "inf s", "2 ms x", "2 MS",
        ] {
            assert_eq!(parse_time(wrong), Err(UnitError::Time(wrong.to_owned())));
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_bytes("64 GiB"), Ok(64 << 30));
        assert_eq!(parse_bytes("1.5KiB"), Ok(1536));
        assert_eq!(["10 kB", "10KB"].map(parse_bytes), [Ok(10_000), Ok(10_000)]);
        assert_eq!(["1 KiB", "1kiB"].map(parse_bytes), [Ok(1024), Ok(1024)]);
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert_eq!(parse_bytes("0 B"), Ok(0));
        assert_eq!(parse_bytes("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse_bytes("16777215 TiB"), Ok(16_777_215 << 40));
        for wrong in ["", "GiB", "-1 B", "64 gib", "64 K", "1e999 B", "NaN B"] {
            assert_eq!(parse_bytes(wrong), Err(UnitError::Bytes(wrong.to_owned())));
        }
        for large in ["16777216 TiB", "18446744073709551616", "1e30 GB"] {
            let error = UnitError::TooLarge(large.to_owned());
            assert_eq!(parse_bytes(large), Err(error));
        }
    }

    #[test]
    fn rates_are_parsed() {
        assert_eq!(parse_rate("12 GB/s"), Ok(12e9));
        assert_eq!(parse_rate("1MiB/s"), Ok(1_048_576.0));
        for wrong in ["", "12", "12 GB", "/s", "-1 B/s", "inf B/s", "3 m/s"] {
            assert_eq!(parse_rate(wrong), Err(UnitError::Rate(wrong.to_owned())));
        }
    }

    #[test]
    fn what_is_printed_is_read() {
        for ns in [0.5, 812.0, 1.24e6, 3.01e9, 61e9, 6e12] {
            let printed = time(ns);
            assert_eq!(parse_time(&printed).map(time), Ok(printed));
        }
        for size in [0, 512, 10 << 10, 64 << 30] {
            assert_eq!(parse_bytes(&bytes(size)), Ok(size));
        }
        assert_eq!(parse_rate(&bytes_per_s(12.3e9)), Ok(12.3e9));
    }
}
