//! What is known about an operation on other devices: a measurement there, a break-even size, or
//! the shortest possible time by the other device's peaks.

use breakeven_profile::profile::{BreakEven, Operation, Peak};
use breakeven_profile::unit::{self, percent};

use super::calls::CallsOf;
use super::case::{Case, Subject};
use super::evidence::{Evidence, EvidenceKind, Gain};
use crate::roofline::{BOUND_SHARE, Roofline, compute_ns};
use crate::winner::{typical_ns, winner};

/// What measurements show about an operation on another device.
pub(super) enum Elsewhere {
    /// Clearly faster on this device.
    Faster(String, Gain, Evidence),
    /// Not faster, not clearly faster, or not comparable.
    NotFaster(Evidence),
}

/// Checks the samples of the same operation at the same size on the `eligible` devices, then the
/// break-even sizes. `None` if nothing was measured.
pub(super) fn elsewhere(
    case: &Case<'_>,
    subject: &Subject<'_>,
    eligible: impl Fn(&str) -> bool,
) -> Option<Elsewhere> {
    measured(case, subject, &eligible).or_else(|| break_even(case, subject, &eligible))
}

fn measured(
    case: &Case<'_>,
    subject: &Subject<'_>,
    eligible: &impl Fn(&str) -> bool,
) -> Option<Elsewhere> {
    let here = subject.operation;
    let (there_ns, there) = case
        .same_work(subject)
        .into_iter()
        .map(|other| other.operation)
        .filter(|other| other.device != here.device && eligible(&other.device))
        .filter_map(|other| Some((typical_above_zero(other)?, other)))
        .min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let here_ns = typical_above_zero(here)?;
    let device = there.device.clone();
    if here.size.is_none() && case.calls_of == CallsOf::Program {
        let text = format!("recorded on {device} too, without sizes: the calls may differ in size");
        let evidence = Evidence::new(EvidenceKind::NotComparable, text);
        return Some(Elsewhere::NotFaster(evidence));
    }
    let faster = there_ns < here_ns;
    let (winner, word) = match faster {
        true => (winner(there, here), "fast"),
        false => (winner(here, there), "slow"),
    };
    let interval = winner.interval.map_or_else(String::new, |[lower, upper]| {
        let over = if winner.over_runs { "runs" } else { "one run" };
        format!(" ({lower:.2} to {upper:.2}, 95 % over {over})")
    });
    let clearly = if winner.clear { "" } else { ", not clearly" };
    let times = winner.ratio;
    let evidence = Evidence::measured(format!(
        "{device} is {times:.2} times as {word}{interval}{clearly}"
    ));
    if !(faster && winner.clear) {
        return Some(Elsewhere::NotFaster(evidence));
    }
    let saved = |times: f64| 1.0 - 1.0 / times;
    let gain = Gain::new(saved(times), winner.interval.map(|ends| ends.map(saved)));
    Some(Elsewhere::Faster(device, gain, evidence))
}

/// The time of an operation; `None` if it is below the clock's resolution.
fn typical_above_zero(operation: &Operation) -> Option<f64> {
    typical_ns(operation).filter(|ns| *ns > 0.0)
}

fn break_even(
    case: &Case<'_>,
    subject: &Subject<'_>,
    eligible: &impl Fn(&str) -> bool,
) -> Option<Elsewhere> {
    let here = subject.operation;
    let at = here.size?;
    let found = case.profile.evidence.break_even.iter().filter_map(|found| {
        let other = match (&found.device, &found.over) {
            _ if found.operation != here.name => return None,
            (pays, over) if *over == here.device => pays,
            (pays, over) if *pays == here.device => over,
            _ => return None,
        };
        let side = side_at(found, at as f64).filter(|_| eligible(other))?;
        let [device, over] = [&found.device, &found.over].map(|id| case.profile.device_label(id));
        let size = match (found.size, found.tested_to) {
            (Some(size), _) => format!("pays over {over} from size {size:.0}"),
            (None, Some(to)) => format!("never paid over {over} up to size {to:.0}"),
            (None, None) => format!("never paid over {over}"),
        };
        let evidence = Evidence::measured(format!("{device} {size}, this is {at}"));
        let faster = match side {
            Side::Pays => *other == found.device,
            Side::Below => *other == found.over,
            Side::Between => false,
        };
        Some(match faster {
            true => {
                let because = "a break-even size shows which device is faster, not by how much";
                Elsewhere::Faster(other.clone(), Gain::unknown(because), evidence)
            }
            false => Elsewhere::NotFaster(evidence),
        })
    });
    // The first device that is faster, else the first that is not.
    found.min_by_key(|found| matches!(found, Elsewhere::NotFaster(_)))
}

/// Position of a size relative to a break-even size.
#[derive(Debug, PartialEq)]
enum Side {
    Pays,
    Below,
    /// Inside the interval of the break-even size.
    Between,
}

/// `None` above the largest size that was measured.
fn side_at(found: &BreakEven, at: f64) -> Option<Side> {
    let Some(size) = found.size else {
        let tried = found.tested_to.is_none_or(|tested| at <= tested);
        return tried.then_some(Side::Below);
    };
    let [lower, upper] = found.interval.unwrap_or([size, size]);
    Some(if at >= upper {
        Side::Pays
    } else if at < lower {
        Side::Below
    } else {
        Side::Between
    })
}

/// Shortest time of a call by the device's peaks, ns: its bytes at the bandwidth of their working
/// set or its arithmetic at the peak, whichever takes longer. The roofline of Williams, Waterman
/// and Patterson (2009). `None` if neither is known.
pub(super) fn roof_ns(peak: &Peak, operation: &Operation) -> Option<f64> {
    let set = operation.memory_bytes.or(operation.bytes);
    let bandwidth = set.and_then(|set| peak.bandwidth_at(set));
    let bytes_ns = at_rate_ns(operation.bytes, bandwidth);
    let flops_ns = at_rate_ns(operation.flops, peak.flops_per_s);
    [bytes_ns, flops_ns].into_iter().flatten().reduce(f64::max)
}

/// [`roof_ns`] of a GPU plus the cost of reaching it: one launch, and each byte once at the faster
/// direction of transfer.
pub(super) fn roof_with_transfer_ns(peak: &Peak, operation: &Operation) -> Option<f64> {
    let ways = [peak.upload_bytes_per_s, peak.download_bytes_per_s];
    let fastest = ways.into_iter().flatten().reduce(f64::max);
    let transfer_ns = at_rate_ns(operation.bytes, fastest);
    let work_ns = roof_ns(peak, operation);
    let parts = [peak.launch_ns, transfer_ns, work_ns];
    work_ns.or(transfer_ns)?;
    Some(parts.into_iter().flatten().sum())
}

/// Time for an amount at a rate per second, ns.
fn at_rate_ns(amount: Option<u64>, rate: Option<f64>) -> Option<f64> {
    let rate = rate.filter(|rate| *rate > 0.0)?;
    Some(amount? as f64 / rate * 1e9)
}

// How far an operation is from its own device's measured peaks.

/// The distance of an operation from the roofline.
pub(super) struct Gap {
    /// Fraction of the bandwidth at its working set.
    pub(super) bytes_share: Option<f64>,
    /// Fraction of the arithmetic peak.
    pub(super) flops_share: Option<f64>,
    /// Its time at the peaks, ns.
    pub(super) least_ns: f64,
    /// Its computing time, ns, at the median.
    pub(super) compute_ns: f64,
    /// The time of the complete call, ns, at the median.
    call_ns: f64,
}

impl Gap {
    /// `None` if the device's peaks or the operation's amounts are unknown.
    pub(super) fn of(case: &Case<'_>, subject: &Subject<'_>) -> Option<Self> {
        let compute_ns = compute_ns(subject.operation, &subject.summary);
        let shares = Roofline::of(case.profile, subject.operation, compute_ns);
        Some(Self {
            bytes_share: shares.bytes_share,
            flops_share: shares.flops_share,
            least_ns: roof_ns(case.peak_of(subject)?, subject.operation)?,
            compute_ns,
            call_ns: subject.summary.median.max(compute_ns),
        })
        .filter(|gap| gap.call_ns > 0.0)
    }

    /// Fraction of a call that is saved if computing takes `after_ns`.
    pub(super) fn saved(&self, after_ns: f64) -> f64 {
        ((self.compute_ns - after_ns) / self.call_ns).max(0.0)
    }

    /// True if the operation is bound by that peak.
    pub(super) fn is_bound(share: Option<f64>) -> bool {
        share.is_some_and(|share| share >= BOUND_SHARE)
    }

    pub(super) fn evidence(&self) -> Evidence {
        let share = |share: Option<f64>, of: &str| Some(format!("{} of the {of}", percent(share?)));
        let shares = [
            share(self.bytes_share, "bandwidth"),
            share(self.flops_share, "arithmetic"),
        ];
        let shares: Vec<String> = shares.into_iter().flatten().collect();
        Evidence::measured(format!(
            "at {} of its device, {} at the peaks",
            shares.join(" and "),
            unit::time(self.least_ns)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_of_a_break_even_size() {
        let mut found = BreakEven {
            size: Some(1_000.0),
            interval: Some([900.0, 1_100.0]),
            ..BreakEven::default()
        };
        assert_eq!(side_at(&found, 899.0), Some(Side::Below));
        assert_eq!(side_at(&found, 900.0), Some(Side::Between));
        assert_eq!(side_at(&found, 1_100.0), Some(Side::Pays));
        found.interval = None;
        assert_eq!(side_at(&found, 999.0), Some(Side::Below));
        assert_eq!(side_at(&found, 1_000.0), Some(Side::Pays));
        found.size = None;
        found.tested_to = Some(5_000.0);
        assert_eq!(side_at(&found, 5_000.0), Some(Side::Below));
        assert_eq!(side_at(&found, 5_001.0), None);
    }

    #[test]
    fn the_roof_is_the_slower_of_bytes_and_arithmetic() {
        let peak = Peak {
            memory_bytes_per_s: Some(1e9),
            flops_per_s: Some(1e10),
            launch_ns: Some(500.0),
            upload_bytes_per_s: Some(1e8),
            download_bytes_per_s: Some(2e8),
            ..Peak::default()
        };
        let mut operation = Operation::new("f", "gpu");
        assert_eq!(roof_ns(&peak, &operation), None);
        assert_eq!(roof_with_transfer_ns(&peak, &operation), None);
        operation.bytes = Some(1_000);
        operation.flops = Some(1_000);
        assert_eq!(roof_ns(&peak, &operation), Some(1_000.0));
        // 500 for the launch, 5 000 for the bytes at 0.2 GB/s, 1 000 for the work.
        assert_eq!(roof_with_transfer_ns(&peak, &operation), Some(6_500.0));
        operation.flops = Some(100_000);
        assert_eq!(roof_ns(&peak, &operation), Some(10_000.0));
    }
}
