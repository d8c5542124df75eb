//! What devices cost, in TOML.

use breakeven_profile::unit;
use serde::Deserialize;
use toml::Spanned;

use super::toml_file;
use crate::error::Error;

/// The price of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Per hour, in the currency of its file.
    pub per_hour: f64,
    /// True for a device that is paid for as long as the batch lasts (a rented machine); false for
    /// one that is paid for only while it works.
    pub while_idle: bool,
}

/// What the devices of a machine cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// What the figures are in: a label, nothing is converted.
    pub currency: String,
    cpu: Price,
    gpus: Vec<(Option<String>, Price)>,
}

impl Prices {
    /// Reads a file of prices. `currency` is a label. A `[[gpu]]` without a `name` is the price of
    /// every GPU that has no entry of its own.
    ///
    /// ```
    /// # use breakeven_schedule::plan::Prices;
    /// let prices = Prices::from_toml(r#"
    ///     currency = "EUR"
    ///     [cpu]
    ///     per_hour = 0.60
    ///     while_idle = true        # rented: it costs as long as the batch lasts
    ///     [[gpu]]
    ///     name = "V100"            # as `breakeven devices` names it, or the description
    ///     per_hour = 2.50
    ///     while_idle = false       # it costs while it works
    /// "#)?;
    /// assert_eq!(prices.gpu("V100").map(|price| price.per_hour), Some(2.5));
    /// assert_eq!(prices.gpu("H100"), None);
    /// # Ok::<(), breakeven_types::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](breakeven_types::ErrorKind::File) with line and column, for invalid
    /// TOML, unknown or missing keys, a GPU that is named twice, or a price that is no amount.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let file: File = toml_file::read(text)?;
        let mut gpus: Vec<(Option<String>, Price)> = Vec::with_capacity(file.gpu.len());
        for entry in file.gpu {
            let place = entry.span();
            let entry = entry.into_inner();
            if gpus.iter().any(|(name, _)| *name == entry.name) {
                let who = match &entry.name {
                    Some(name) => format!("the GPU {name:?} has two prices"),
                    None => "two prices apply to every GPU that is not named".to_owned(),
                };
                let message = format!("{who}; keep one");
                return Err(toml_file::error_at(text, Some(place), &message));
            }
            let price = price(text, entry.per_hour, entry.while_idle)?;
            gpus.push((entry.name, price));
        }
        Ok(Self {
            currency: currency(text, file.currency)?,
            cpu: price(text, file.cpu.per_hour, file.cpu.while_idle)?,
            gpus,
        })
    }

    /// Returns the price of the CPU.
    pub fn cpu(&self) -> Price {
        self.cpu
    }

    /// Returns the price of the GPU of that name; none if the file has none.
    pub fn gpu(&self, name: &str) -> Option<Price> {
        let is_its = |entry: &&(Option<String>, Price)| entry.0.as_deref() == Some(name);
        let is_others = |entry: &&(Option<String>, Price)| entry.0.is_none();
        let found = self.gpus.iter().find(is_its);
        found
            .or_else(|| self.gpus.iter().find(is_others))
            .map(|(_, price)| *price)
    }

    /// Formats an amount with the currency: `0.0123 EUR`, `1.23e-5 EUR`.
    pub fn amount(amount: f64, currency: &str) -> String {
        match amount.abs() {
            small if small > 0.0 && small < 1e-3 => format!("{amount:.2e} {currency}"),
            small if small < 0.1 => format!("{amount:.4} {currency}"),
            _ => format!("{} {currency}", unit::count(amount)),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    currency: Spanned<String>,
    cpu: CpuEntry,
    #[serde(default)]
    gpu: Vec<Spanned<GpuEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as in [cpu]")]
struct CpuEntry {
    per_hour: Spanned<f64>,
    while_idle: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as in [[gpu]]")]
struct GpuEntry {
    name: Option<String>,
    per_hour: Spanned<f64>,
    while_idle: bool,
}

fn price(text: &str, per_hour: Spanned<f64>, while_idle: bool) -> Result<Price, Error> {
    let (place, per_hour) = (per_hour.span(), per_hour.into_inner());
    if per_hour.is_finite() && per_hour >= 0.0 {
        return Ok(Price {
            per_hour,
            while_idle,
        });
    }
    let message = format!("a price of {per_hour} per hour: give a number, 0 or more");
    Err(toml_file::error_at(text, Some(place), &message))
}

fn currency(text: &str, currency: Spanned<String>) -> Result<String, Error> {
    let (place, currency) = (currency.span(), currency.into_inner());
    let is_word = |c: char| !c.is_control() && !c.is_whitespace();
    if (1..=16).contains(&currency.chars().count()) && currency.chars().all(is_word) {
        return Ok(currency);
    }
    let message =
        format!("{currency:?} is no currency: give a word of up to 16 letters, as in EUR");
    Err(toml_file::error_at(text, Some(place), &message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_without_a_price_of_its_own_has_that_of_the_others() {
        let prices = Prices::from_toml(
            "currency = \"EUR\"\n[cpu]\nper_hour = 1\nwhile_idle = false\n\
             [[gpu]]\nper_hour = 2\nwhile_idle = true\n[[gpu]]\nname = \"a\"\nper_hour = 3\nwhile_idle = true",
        )
        .expect("prices");
        let per_hour = |name: &str| prices.gpu(name).map(|price| price.per_hour);
        assert_eq!((per_hour("a"), per_hour("b")), (Some(3.0), Some(2.0)));
        assert!(!prices.cpu().while_idle);
    }

    #[test]
    fn amounts_are_short() {
        let amount = |amount| Prices::amount(amount, "EUR");
        assert_eq!(amount(0.0), "0.0000 EUR");
        assert_eq!(amount(1.234_5e-5), "1.23e-5 EUR");
        assert_eq!(amount(0.012_34), "0.0123 EUR");
        assert_eq!(amount(12.34), "12.3 EUR");
    }

    #[test]
    fn errors_name_their_place() {
        let cases = r#"
 => line 1, column 1: missing field `currency`
currency = "EUR" => line 1, column 1: missing field `cpu`
currency = ""; [cpu]; per_hour = 1; while_idle = true => line 1, column 12: "" is no currency: give a word of up to 16 letters, as in EUR
currency = "EUR"; [cpu]; per_hour = 1 => line 2, column 1: missing field `while_idle`
currency = "EUR"; [cpu]; while_idle = true => line 2, column 1: missing field `per_hour`
currency = "EUR"; [cpu]; per_hour = -1; while_idle = true => line 3, column 12: a price of -1 per hour: give a number, 0 or more
currency = "EUR"; [cpu]; per_hour = nan; while_idle = true => line 3, column 12: a price of NaN per hour: give a number, 0 or more
currency = "EUR"; [cpu]; per_hour = "1 EUR"; while_idle = true => line 3, column 12: invalid type: string "1 EUR", expected a number
currency = "EUR"; [cpu]; per_hour = 1; while_idle = true; per_day = 3 => line 5, column 1: unknown field `per_day`, expected `per_hour` or `while_idle`
currency = "EUR"; [cpu]; per_hour = 1; while_idle = true; [[gpu]]; name = "a"; per_hour = 2; while_idle = true; [[gpu]]; name = "a"; per_hour = 3; while_idle = true => line 9, column 1: the GPU "a" has two prices; keep one"#;
        toml_file::refuses(cases, Prices::from_toml);
    }
}
