//! Reads the operator's environment variables: a strategy, and the prices of devices.

use std::path::Path;

use crate::error::Error;
use crate::plan::{ExecutionStrategy, Prices};

/// The environment variable that overrides Auto: the operator's switch.
pub const STRATEGY_VARIABLE: &str = "BREAKEVEN_STRATEGY";

/// Returns the strategy that the operator set by [`STRATEGY_VARIABLE`], or what is wrong with it;
/// none if it is not set, or `auto`.
pub fn ordered_strategy() -> Option<Result<ExecutionStrategy, Error>> {
    operator(std::env::var_os(STRATEGY_VARIABLE).as_deref())
}

/// Parses the operator's strategy; none if it is not set, or `auto`.
fn operator(value: Option<&std::ffi::OsStr>) -> Option<Result<ExecutionStrategy, Error>> {
    let text = value?.to_string_lossy();
    if text.trim().is_empty() {
        return None;
    }
    let wrong = |error| Error::invalid(format!("{STRATEGY_VARIABLE}: {error}"));
    let strategy = text.parse().map_err(|error: Error| wrong(error));
    (strategy != Ok(ExecutionStrategy::Auto)).then_some(strategy)
}

/// The environment variable that names the file of prices.
pub const PRICES_VARIABLE: &str = "BREAKEVEN_PRICES";

/// Reads the prices in the file that [`PRICES_VARIABLE`] names; none if it names none.
///
/// # Errors
///
/// [`ErrorKind::File`](crate::ErrorKind::File) for a file that cannot be read, and as
/// [`Prices::from_toml`].
pub fn ordered_prices() -> Result<Option<Prices>, Error> {
    match std::env::var_os(PRICES_VARIABLE) {
        Some(path) if !path.is_empty() => read_prices(Path::new(&path)).map(Some),
        _ => Ok(None),
    }
}

/// Reads the prices in a file.
///
/// # Errors
///
/// [`ErrorKind::File`](crate::ErrorKind::File) for a file that cannot be read, and as
/// [`Prices::from_toml`], with the file's name.
pub fn read_prices(path: &Path) -> Result<Prices, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|reason| Error::file(path, "the prices cannot be read", &reason))?;
    Prices::from_toml(&text)
        .map_err(|error| Error::new(error.kind(), format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn the_operator_says_a_strategy_or_what_is_wrong_with_it() {
        let said = |text: &str| operator(Some(OsStr::new(text)));
        assert_eq!(said("cpu-only"), Some(Ok(ExecutionStrategy::CpuOnly)));
        assert_eq!(said("auto"), None);
        assert_eq!(said(" "), None);
        assert_eq!(operator(None), None);
        let wrong = said("cpu").and_then(Result::err).expect("no strategy");
        let expected = "BREAKEVEN_STRATEGY: \"cpu\" is not a strategy";
        assert!(wrong.to_string().starts_with(expected));
    }
}
