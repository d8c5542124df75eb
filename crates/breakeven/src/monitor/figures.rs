//! What a program reports about itself: the served message, as data.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::execute::ManagerStats;

/// The message's version; a reader refuses a newer one.
pub const VERSION: u32 = 1;

/// Operations that are counted separately, in order of first use; all later ones are counted as
/// [`OTHER_OPERATIONS`].
pub(crate) const MOST_OPERATIONS: usize = 32;
pub(crate) const OTHER_OPERATIONS: &str = "other operations";

/// Devices that are counted separately.
pub(crate) const MOST_DEVICES: usize = 16;

/// Most decisions kept.
pub(crate) const MOST_DECISIONS: usize = 16;

/// Most characters of a name or a sentence.
const MOST_CHARACTERS: usize = 240;

/// What a program reports about itself. All counts are since it began to publish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The writer's [`VERSION`].
    pub version: u32,
    /// The program's process id.
    pub pid: u32,
    /// The file name of its executable.
    pub name: String,
    /// Time since it began to publish, s.
    pub since_s: f64,
    /// What all its managers did.
    pub stats: ManagerStats,
    /// How often each device was quarantined.
    pub quarantines: BTreeMap<String, u64>,
    /// Per operation, by name.
    pub operations: Vec<OperationFigures>,
    /// The last decisions, newest first.
    pub decisions: Vec<DecisionFigures>,
}

/// What a program reports about one of its operations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OperationFigures {
    /// Its name.
    pub name: String,
    /// Batches that ended, including those that failed or were stopped.
    pub batches: u64,
    /// Batches that failed or were stopped.
    pub incomplete: u64,
    /// Tasks of each device; the CPU is `cpu`.
    pub tasks: BTreeMap<String, u64>,
    /// Tasks that fell back from a GPU to the CPU.
    pub fallback_tasks: u64,
    /// How often a device was quarantined in one of its batches.
    pub quarantines: u64,
    /// Times of the completed batches.
    pub latency: Latency,
}

/// A decision and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionFigures {
    /// How long ago its batch ended, s.
    pub ago_s: f64,
    /// What ran where and why, in a line.
    pub text: String,
}

impl Figures {
    /// Drops what exceeds the limits of this version's programs.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.name = shortened(&self.name).to_owned();
        bound(&mut self.stats.tasks);
        bound(&mut self.stats.device_errors);
        bound(&mut self.quarantines);
        self.operations.truncate(MOST_OPERATIONS + 1);
        for operation in &mut self.operations {
            operation.name = shortened(&operation.name).to_owned();
            bound(&mut operation.tasks);
        }
        self.decisions.truncate(MOST_DECISIONS);
        for decision in &mut self.decisions {
            decision.text = shortened(&decision.text).to_owned();
        }
        self
    }
}

fn bound(counts: &mut BTreeMap<String, u64>) {
    let all = std::mem::take(counts).into_iter().take(MOST_DEVICES + 1);
    counts.extend(all.map(|(name, count)| (shortened(&name).to_owned(), count)));
}

/// Returns the beginning of a text.
pub(crate) fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(MOST_CHARACTERS);
    end.map_or(text, |(end, _)| &text[..end])
}

/// Buckets per doubling, and their bits.
const PER_DOUBLING: u64 = 16;
const BITS: u32 = 4;

/// The last bucket: 73 minutes and longer.
const LAST: u16 = 639;

/// Times of batches, counted in buckets: sixteen per doubling, so a quantile is wrong by at most 3
/// % (half a bucket). The layout is HdrHistogram's with four bits of precision.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Latency(BTreeMap<u16, u64>);

impl Latency {
    /// Counts a time.
    pub fn add(&mut self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        *self.0.entry(bucket(ns)).or_default() += 1;
    }

    /// Returns the number of times.
    pub fn count(&self) -> u64 {
        self.0.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Returns the time, s, that this fraction of the times does not exceed (0 to 1, nearest rank),
    /// within 3 %; none if there are no times.
    pub fn quantile(&self, fraction: f64) -> Option<f64> {
        let count = self.count();
        let rank = (fraction.clamp(0.0, 1.0) * count as f64).ceil().max(1.0);
        let mut below = 0_u64;
        let reached = |(_, n): &(&u16, &u64)| {
            below = below.saturating_add(**n);
            below as f64 >= rank
        };
        let (bucket, _) = self.0.iter().find(reached)?;
        Some(middle_ns(*bucket) / 1e9)
    }

    /// Returns the times counted since an earlier state of the same counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |bucket| earlier.0.get(bucket).copied().unwrap_or(0);
        let left = self.0.iter();
        let left = left.map(|(bucket, n)| (*bucket, n.saturating_sub(before(bucket))));
        Self(left.filter(|(_, n)| *n > 0).collect())
    }
}

fn bucket(ns: u64) -> u16 {
    let Some(doublings) = ns.checked_ilog2().and_then(|log| log.checked_sub(BITS)) else {
        return ns as u16;
    };
    let inside = (ns >> doublings) % PER_DOUBLING;
    let bucket = u64::from(doublings + 1) * PER_DOUBLING + inside;
    u16::try_from(bucket).map_or(LAST, |bucket| bucket.min(LAST))
}

/// Returns the middle of a bucket. The reader must accept any number.
fn middle_ns(bucket: u16) -> f64 {
    let bucket = u64::from(bucket.min(LAST));
    if bucket < PER_DOUBLING {
        return bucket as f64;
    }
    let width = 1_u64 << (bucket / PER_DOUBLING - 1);
    ((PER_DOUBLING + bucket % PER_DOUBLING) * width) as f64 + width as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_the_times_near_its_middle() {
        let mut ns = 1_u64;
        while ns < 1 << 42 {
            for ns in [ns, ns + ns / 3, ns + ns / 2, 2 * ns - 1] {
                let middle = middle_ns(bucket(ns));
                let wrong = (middle / ns as f64 - 1.0).abs();
                assert!(wrong <= 1.0 / 32.0, "{ns} ns is in the bucket of {middle}");
            }
            ns *= 2;
        }
        assert_eq!((bucket(0), bucket(15), bucket(16)), (0, 15, 16));
        assert_eq!(
            (bucket(u64::MAX), middle_ns(u16::MAX)),
            (LAST, middle_ns(LAST))
        );
    }

    #[test]
    fn quantiles_are_of_nearest_rank() {
        let mut all = Latency::default();
        assert_eq!(all.quantile(0.5), None);
        // 1 to 100 ms.
        for ms in 1..=100 {
            all.add(Duration::from_millis(ms));
        }
        for (fraction, ms) in [
            (0.0, 1.0),
            (0.5, 50.0),
            (0.95, 95.0),
            (0.99, 99.0),
            (1.0, 100.0),
        ] {
            let found = 1e3 * all.quantile(fraction).expect("there are times");
            assert!(
                (found / ms - 1.0).abs() <= 1.0 / 32.0,
                "{fraction}: {found} ms"
            );
        }
    }

    #[test]
    fn what_came_since_is_the_difference() {
        let mut before = Latency::default();
        before.add(Duration::from_secs(1));
        let mut after = before.clone();
        after.add(Duration::from_millis(1));
        after.add(Duration::from_millis(1));
        let since = after.since(&before);
        assert_eq!((since.count(), after.count()), (2, 3));
        assert!(since.quantile(1.0).expect("two times") < 0.0011);
        // Counts that ran backwards, and the largest possible count.
        assert_eq!(before.since(&after).count(), 0);
        let most: Latency =
            serde_json::from_str(r#"{"65535": 18446744073709551615, "3": 2}"#).expect("buckets");
        assert_eq!(most.count(), u64::MAX);
        assert!(most.quantile(0.5).is_some());
    }
}
