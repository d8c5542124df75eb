//! The name of a metric: OpenTelemetry's name and unit, turned into Prometheus's.
//!
//! The rules are those of OpenTelemetry's "Prometheus and OpenMetrics Compatibility"
//! (specification, compatibility/prometheus_and_openmetrics): invalid characters become `_`, the
//! unit is appended in full, a counter ends in `_total`, a gauge whose unit is 1 in `_ratio`.

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only rises, from zero or from where its source began.
    Counter,
    /// A current figure whose sum over labels has no meaning.
    Gauge,
    /// A current figure that may be summed over labels (OpenTelemetry's up-down counter).
    Sum,
    /// Labels only; the value is 1.
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
    /// A fraction, or a count.
    One,
}

impl Unit {
    /// Prometheus's suffix for the unit.
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
    /// OpenTelemetry's name; `breakeven.` is in front of names that it does not define.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) unit: Unit,
    /// One sentence, without a line break, a quote or a backslash.
    pub(crate) help: &'static str,
}

impl Metric {
    /// The unit that ends the name.
    pub(crate) fn unit_suffix(&self) -> Option<&'static str> {
        match (self.kind, self.unit) {
            (Kind::Gauge, Unit::One) => Some("ratio"),
            _ => self.unit.suffix(),
        }
    }

    /// The name of its family in OpenMetrics, without the suffix of samples.
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

    /// The name of its samples, for queries.
    pub(crate) fn sample(&self) -> String {
        let family = self.family();
        match self.kind {
            Kind::Counter => family + "_total",
            Kind::Info => family + "_info",
            Kind::Gauge | Kind::Sum => family,
        }
    }
}
