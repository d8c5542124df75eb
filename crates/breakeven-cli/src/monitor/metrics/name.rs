//! What a metric is called: OpenTelemetry's name and unit, turned into Prometheus's.
//!
//! The rules are those of OpenTelemetry's "Prometheus and OpenMetrics Compatibility"
//! (specification, compatibility/prometheus_and_openmetrics): characters that may not be
//! in a name become `_`, the unit in full is appended, a counter ends in `_total`, a gauge
//! whose unit is 1 in `_ratio`.

/// What kind of figure a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only rises, from zero or from wherever its source began.
    Counter,
    /// A figure of now of which a sum over labels says nothing.
    Gauge,
    /// A figure of now that may be summed up over labels (OpenTelemetry's up-down counter).
    Sum,
    /// Labels alone; the value is 1.
    Info,
}

/// A unit, by its code in UCUM, as OpenTelemetry writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Celsius,
    Hertz,
    Joules,
    Seconds,
    Watts,
    /// A fraction, or a number of things.
    One,
}

impl Unit {
    /// As Prometheus writes it, behind a name.
    fn suffix(self) -> Option<&'static str> {
        match self {
            Unit::Bytes => Some("bytes"),
            Unit::Celsius => Some("celsius"),
            Unit::Hertz => Some("hertz"),
            Unit::Joules => Some("joules"),
            Unit::Seconds => Some("seconds"),
            Unit::Watts => Some("watts"),
            Unit::One => None,
        }
    }
}

/// One metric, as the catalogue has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Metric {
    /// OpenTelemetry's name; `breakeven.` before those that it does not have.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) unit: Unit,
    /// One sentence, without a line break, a quote or a backslash.
    pub(crate) help: &'static str,
}

impl Metric {
    /// The unit that the name ends with.
    pub(crate) fn unit_suffix(&self) -> Option<&'static str> {
        match (self.kind, self.unit) {
            (Kind::Gauge, Unit::One) => Some("ratio"),
            _ => self.unit.suffix(),
        }
    }

    /// The name of its family in OpenMetrics, without what is appended to samples.
    pub(crate) fn family(&self) -> String {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut name = self.name.replace(|character| !is_allowed(character), "_");
        if let Some(unit) = self.unit_suffix()
            && !name.ends_with(&format!("_{unit}"))
        {
            name = format!("{name}_{unit}");
        }
        name
    }

    /// The name of its samples: what a query asks for.
    pub(crate) fn sample(&self) -> String {
        let family = self.family();
        match self.kind {
            Kind::Counter => family + "_total",
            Kind::Info => family + "_info",
            Kind::Gauge | Kind::Sum => family,
        }
    }
}
