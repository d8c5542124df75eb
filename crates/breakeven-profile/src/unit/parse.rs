//! Parses figures with units, as users type them: `2 ms`, `64 GiB`, `12 GB/s`.

use super::{MEMORY, TIME};

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
    use super::super::{bytes, bytes_per_s, time};
    use super::*;

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
    fn rates() {
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
