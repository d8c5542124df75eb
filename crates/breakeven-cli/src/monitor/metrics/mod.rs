//! Readings of the sensors and of programs as metrics: OpenMetrics 1.0, and Prometheus's text
//! format 0.0.4 for scrapers that request nothing newer.

mod catalogue;
mod exposition;
mod families;
mod machine;
mod name;
mod program;

pub(crate) use exposition::Format;
use exposition::{Family, write};
pub(crate) use machine::{Own, families};

/// The answer to a scrape, in this format.
pub(crate) fn text(families: &[Family], format: Format) -> String {
    write(families, format)
}

#[cfg(test)]
mod documents_tests;
#[cfg(test)]
mod tests;
