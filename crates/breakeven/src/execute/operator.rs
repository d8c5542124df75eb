//! The operator's switch: a strategy from the environment.

use crate::error::Error;
use crate::plan::ExecutionStrategy;

/// The environment variable that overrides Auto: the operator's switch.
pub const STRATEGY_VARIABLE: &str = "BREAKEVEN_STRATEGY";

/// The strategy that the operator orders by [`STRATEGY_VARIABLE`], or what is
/// wrong with the order; none where there is none, or `auto`.
pub fn ordered_strategy() -> Option<Result<ExecutionStrategy, Error>> {
    operator(std::env::var_os(STRATEGY_VARIABLE).as_deref())
}

/// What the operator asks for; none where nothing, or Auto.
fn operator(value: Option<&std::ffi::OsStr>) -> Option<Result<ExecutionStrategy, Error>> {
    let text = value?.to_string_lossy();
    if text.trim().is_empty() {
        return None;
    }
    let wrong = |error| Error::invalid(format!("{STRATEGY_VARIABLE}: {error}"));
    let strategy = text.parse().map_err(|error: Error| wrong(error));
    (strategy != Ok(ExecutionStrategy::Auto)).then_some(strategy)
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
