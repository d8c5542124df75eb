//! A rule's answer: its evidence, and what it is worth.

use std::fmt;

use serde::Serialize;

/// One piece of evidence. Displayed, it begins with its kind, as in `measured: a launch takes 8 µs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// How well it is supported.
    pub kind: EvidenceKind,
    /// What it shows, with its figures.
    pub text: String,
}

/// How well evidence is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// A measurement in the profile.
    Measured,
    /// A measurement that does not compare the same work.
    NotComparable,
    /// An assumption.
    Assumed,
    /// A constant was exceeded, and no measurement is more specific.
    RuleOfThumb,
}

impl Evidence {
    pub(super) fn new(kind: EvidenceKind, text: String) -> Self {
        Self { kind, text }
    }

    pub(super) fn measured(text: String) -> Self {
        Self::new(EvidenceKind::Measured, text)
    }

    pub(super) fn rule_of_thumb(text: String) -> Self {
        Self::new(EvidenceKind::RuleOfThumb, text)
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            EvidenceKind::Measured => "measured",
            EvidenceKind::NotComparable => "not comparable",
            EvidenceKind::Assumed => "assumed",
            EvidenceKind::RuleOfThumb => "rule of thumb",
        };
        write!(f, "{kind}: {}", self.text)
    }
}

/// A rule's answer.
pub(super) enum Verdict {
    /// The rule does not apply.
    Silent,
    /// The rule of thumb applies, but a measurement contradicts it.
    Overruled(Evidence),
    /// A suggestion.
    Suggest(Box<Advised>),
}

/// What a rule suggests.
pub(super) struct Advised {
    pub(super) target_device: Option<String>,
    pub(super) description: String,
    pub(super) hint: &'static str,
    pub(super) evidence: Vec<Evidence>,
    pub(super) gain: Gain,
}

impl Verdict {
    /// Creates a suggestion that names no other device.
    pub(super) fn suggest(
        description: String,
        hint: &'static str,
        evidence: Vec<Evidence>,
        gain: Gain,
    ) -> Self {
        Self::Suggest(Box::new(Advised {
            target_device: None,
            description,
            hint,
            evidence,
            gain,
        }))
    }

    /// Sets the device to move to.
    pub(super) fn to(mut self, device: impl Into<String>) -> Self {
        if let Self::Suggest(advised) = &mut self {
            advised.target_device = Some(device.into());
        }
        self
    }
}

/// The estimated gain of a suggestion, in fractions of the operation's own time.
pub(super) struct Gain {
    /// The saving, if a measurement supports it; otherwise, why there is no estimate.
    pub(super) saved: Result<f64, &'static str>,
    /// The smallest and the largest saving, if known.
    pub(super) range: Option<[f64; 2]>,
}

impl Gain {
    pub(super) fn new(saved: f64, range: Option<[f64; 2]>) -> Self {
        Self {
            saved: Ok(saved.clamp(0.0, 1.0)),
            range: range.map(|ends| ends.map(|part| part.clamp(0.0, 1.0))),
        }
    }

    pub(super) fn unknown(because: &'static str) -> Self {
        Self {
            saved: Err(because),
            range: None,
        }
    }
}
