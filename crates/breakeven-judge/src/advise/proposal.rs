//! The answer of a rule.

use super::case::Subject;
use super::evidence::Evidence;

/// A rule's answer.
pub(super) enum Verdict {
    /// The rule does not apply.
    Silent,
    /// The rule of thumb applies, but a measurement contradicts it.
    Overruled(Vec<Evidence>),
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

/// The estimated gain of a suggestion.
pub(super) struct Gain {
    /// Fractions of the own times of operations, if a measurement supports them; otherwise, why
    /// there is no estimate.
    pub(super) savings: Result<Vec<Saving>, &'static str>,
    /// Smallest and largest saving over the complete profile, ns, if known.
    pub(super) range_ns: Option<[f64; 2]>,
}

/// Fraction of an operation's own time that is saved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saving {
    /// The operation's index in [`Case::subjects`].
    pub(super) subject: usize,
    /// 0 to 1.
    pub(super) fraction: f64,
}

impl Gain {
    /// An estimate for one operation: a fraction of its own time, and the smallest and largest
    /// fraction.
    pub(super) fn part(subject: &Subject<'_>, of: f64, range: Option<[f64; 2]>) -> Self {
        let saving = Saving {
            subject: subject.place,
            fraction: of.clamp(0.0, 1.0),
        };
        Self {
            savings: Ok(vec![saving]),
            range_ns: range.map(|range| range.map(|part| part.clamp(0.0, 1.0) * subject.own_ns)),
        }
    }

    /// No estimate, and the reason.
    pub(super) fn unknown(because: &'static str, range_ns: Option<[f64; 2]>) -> Self {
        Self {
            savings: Err(because),
            range_ns,
        }
    }
}
