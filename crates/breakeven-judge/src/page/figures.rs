//! Figures for narrow columns.

use breakeven_profile::unit;
pub use breakeven_profile::unit::plural;

use super::Text;

/// A revision with a full hash abbreviated to ten digits, as `git log --abbrev=10` does; what is
/// behind the hash, as in `-dirty`, and other names stay.
pub fn revision(name: &str) -> String {
    let rest = name.trim_start_matches(|digit: char| digit.is_ascii_hexdigit());
    let hash = &name[..name.len() - rest.len()];
    match hash.len() {
        40.. => format!("{}{rest}", &hash[..10]),
        _ => name.to_owned(),
    }
}

/// What a figure is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number without a unit.
    Count,
    /// ns.
    Time,
    /// Milliseconds.
    Ms,
    /// Bytes.
    Bytes,
    /// J.
    Joules,
    /// A fraction.
    Share,
    /// A fraction of a device's peak, of the rate in the column before.
    OfPeak,
    /// Per second.
    PerS,
    /// Bytes per second.
    BytesPerS,
    /// Floating-point operations per second.
    FlopsPerS,
}

impl Unit {
    /// A figure with its unit.
    #[expect(
        clippy::cast_sign_loss,
        reason = "casts saturate; sizes are not negative"
    )]
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Count => unit::count(value),
            Self::Time => unit::time(value),
            Self::Ms => unit::time(value * 1e6),
            Self::Bytes => unit::bytes(value.round() as u64),
            Self::Joules => unit::joules(value),
            Self::Share | Self::OfPeak => unit::percent(value),
            Self::PerS => unit::per_s(value),
            Self::BytesPerS => unit::bytes_per_s(value),
            Self::FlopsPerS => unit::flops_per_s(value),
        }
    }

    /// A figure for a narrow column, a rate in units of 10^9.
    pub(crate) fn narrow(self, value: f64) -> String {
        match self {
            Self::Time | Self::Joules => self.text(value).replace(' ', ""),
            Self::Share | Self::OfPeak => share(value),
            Self::PerS => per_s(value),
            Self::BytesPerS | Self::FlopsPerS => giga(value),
            Self::Count | Self::Ms | Self::Bytes => self.text(value),
        }
    }
}

/// A time without the space before its unit: `1.23ms`.
pub fn time(ns: f64) -> String {
    unit::time(ns).replace(' ', "")
}

/// The figure if there is one; otherwise empty.
pub fn of(value: Option<f64>, text: impl Fn(f64) -> String) -> Text {
    value.map_or_else(String::new, text).into()
}

/// A count per second without its unit, at most six characters: `8 123`, `81.2k`, `12.3M`.
pub fn per_s(rate: f64) -> String {
    match rate {
        r if (9_999.5..999_500.0).contains(&r) => {
            let decimals = if r < 99_950.0 { 1 } else { 0 };
            format!("{:.decimals$}k", r / 1e3)
        }
        r => {
            let text = unit::per_s(r);
            let number = text.trim_end_matches("/s").trim_end();
            match number.rsplit_once(' ') {
                Some((digits, prefix @ ("M" | "G" | "T" | "k"))) => format!("{digits}{prefix}"),
                _ => number.to_owned(),
            }
        }
    }
}

/// A percentage of at most four characters: `3.4%`, `35%`, `101%`.
pub fn share(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if !percent.is_finite() {
        unit::UNKNOWN.to_owned()
    } else if percent < 9.95 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.0}%")
    }
}

/// A rate in units of 10^9: `12.3`.
pub fn giga(rate: f64) -> String {
    match rate / 1e9 {
        g if g < 0.995 => format!("{g:.2}"),
        g if g < 9.95 => format!("{g:.1}"),
        g => format!("{g:.0}"),
    }
}

/// A factor with three digits: `7.27`, `11.9`, `1 234`.
pub fn times(ratio: f64) -> String {
    match ratio {
        r if r < 9.95 => format!("{r:.2}"),
        r if r < 99.5 => format!("{r:.1}"),
        r if r < 99_999.5 => unit::count(r.round()),
        r => format!("{r:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_hash_is_abbreviated() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(revision(hash), "0123456789");
        assert_eq!(revision(&format!("{hash}-dirty")), "0123456789-dirty");
        for other in ["4f2a91c", "v1.2-3-g0123456789ab", "Ä", ""] {
            assert_eq!(revision(other), other);
        }
    }

    #[test]
    fn narrow_figures() {
        assert_eq!(time(1_234_567.0), "1.23ms");
        assert_eq!(per_s(8_123.4), "8 123");
        assert_eq!(per_s(81_234.0), "81.2k");
        assert_eq!(per_s(812_345.0), "812k");
        assert_eq!(per_s(12_300_000.0), "12.3M");
        assert_eq!(share(0.034), "3.4%");
        assert_eq!(share(0.0996), "10%");
        assert_eq!(giga(12.34e9), "12");
        assert_eq!(giga(0.1234e9), "0.12");
        assert_eq!(times(1_234.4), "1 234");
    }
}
