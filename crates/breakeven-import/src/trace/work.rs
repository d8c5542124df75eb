//! What the devices of a trace did: kernels, copies, streams, and unions of their times.

use std::collections::BTreeMap;

use breakeven_profile::profile::{Activity, Copies, Stream};

use crate::note::Notes;

/// Streams of a device that are kept apart.
const STREAMS: usize = 256;

/// What a device was busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A kernel that computes.
    Compute,
    /// A kernel of a communication library.
    Communication,
    /// A copy or a fill: its direction, and its bytes where they are known.
    Copy(&'static str, Option<u64>),
}

/// A fill of memory, as a direction.
pub(crate) const FILL: &str = "fill";

impl Work {
    /// A kernel of that name. NCCL and RCCL name theirs `nccl…`.
    pub(crate) fn kernel(name: &str) -> Self {
        match name.contains("nccl") || name.contains("rccl") {
            true => Self::Communication,
            false => Self::Compute,
        }
    }

    /// A copy whose direction is in its name, in the words of any of the tracers.
    pub(crate) fn copy(name: &str, bytes: Option<u64>) -> Self {
        let letters: String = name.chars().filter(char::is_ascii_alphabetic).collect();
        let letters = letters.to_ascii_lowercase();
        let directions = [
            (["hosttodevice", "htod"], "host to device"),
            (["devicetohost", "dtoh"], "device to host"),
            (["devicetodevice", "dtod"], "device to device"),
            (["peertopeer", "ptop"], "peer to peer"),
            (["hosttohost", "htoh"], "host to host"),
        ];
        let is_named =
            |(words, _): &([&str; 2], &str)| words.iter().any(|word| letters.contains(word));
        let direction = directions.into_iter().find(is_named);
        Self::Copy(direction.map_or("copy", |(_, direction)| direction), bytes)
    }
}

/// One device while its activities come in.
#[derive(Debug, Default)]
pub(super) struct DeviceWork {
    ends: Option<(i64, i64)>,
    all: Spans,
    compute: Spans,
    communication: Spans,
    either_kernel: Spans,
    copy: Spans,
    compute_or_copy: Spans,
    kernels: u64,
    copies: BTreeMap<&'static str, Copies>,
    streams: BTreeMap<u64, (Spans, Stream)>,
    other_streams: u64,
}

impl DeviceWork {
    pub(super) fn add(&mut self, work: Work, stream: Option<u64>, start: i64, end: i64) {
        let (first, last) = self.ends.unwrap_or((start, end));
        self.ends = Some((first.min(start), last.max(end)));
        self.all.add(start, end);
        match work {
            Work::Compute => {
                self.compute.add(start, end);
                self.either_kernel.add(start, end);
                self.compute_or_copy.add(start, end);
            }
            Work::Communication => {
                self.communication.add(start, end);
                self.either_kernel.add(start, end);
            }
            Work::Copy(direction, bytes) => {
                self.copy.add(start, end);
                self.compute_or_copy.add(start, end);
                self.copied(direction, bytes, end.abs_diff(start));
            }
        }
        let is_kernel = !matches!(work, Work::Copy(..));
        self.kernels += u64::from(is_kernel);
        let Some(stream) = stream else { return };
        if self.streams.len() >= STREAMS && !self.streams.contains_key(&stream) {
            self.other_streams += 1;
            return;
        }
        let apart = APART / (self.streams.len() + 1);
        let (spans, sums) = self.streams.entry(stream).or_insert_with(|| {
            let sums = Stream {
                stream: stream.to_string(),
                ..Stream::default()
            };
            (Spans::new(apart), sums)
        });
        spans.add(start, end);
        sums.kernels += u64::from(is_kernel);
        sums.copies += u64::from(!is_kernel);
    }

    fn copied(&mut self, direction: &'static str, bytes: Option<u64>, ns: u64) {
        let copies = self.copies.entry(direction).or_insert_with(|| Copies {
            direction: direction.to_owned(),
            bytes: Some(0),
            ..Copies::default()
        });
        copies.count += 1;
        copies.total_ns = copies.total_ns.saturating_add(ns);
        // One copy of unknown size, and the sum is unknown.
        copies.bytes = (copies.bytes.zip(bytes)).map(|(sum, more)| sum.saturating_add(more));
    }

    pub(super) fn into_activity(mut self, device: &str, notes: &mut Notes) -> Activity {
        let (first, last) = self.ends.unwrap_or_default();
        notes.left_out(
            self.other_streams,
            "activity(s)",
            format!("{device} has more than {STREAMS} streams; those beyond are not distinguished"),
        );
        let (compute, communication) = (self.compute.ns(), self.communication.ns());
        let (copy, busy) = (self.copy.ns(), self.all.ns());
        // What both cover is counted twice by the sum and once by the union.
        let both = |one: u64, other: u64, either: &mut Spans| {
            one.saturating_add(other).saturating_sub(either.ns())
        };
        let activity = Activity {
            device: device.to_owned(),
            span_ns: last.abs_diff(first),
            busy_ns: busy,
            compute_ns: compute,
            communication_ns: communication,
            communication_overlap_ns: both(compute, communication, &mut self.either_kernel),
            copy_ns: copy,
            copy_overlap_ns: both(compute, copy, &mut self.compute_or_copy),
            kernels: self.kernels,
            launches: None,
            copies: self.copies.into_values().collect(),
            streams: (self.streams.values_mut())
                .map(|(spans, sums)| Stream {
                    busy_ns: spans.ns(),
                    ..sums.clone()
                })
                .collect(),
        };
        let streams = self.streams.values().map(|(spans, _)| spans);
        let uncertain = streams.chain([&self.all]).map(Spans::uncertain_ns);
        if let Some(ns @ 1..) = uncertain.max() {
            let why = format!(
                "up to {} may be missing, since too much is out of order; sort the trace by time",
                breakeven_profile::unit::time(ns as f64)
            );
            notes.lacks(format!("exact busy time of {device}"), &why);
        }
        if self.kernels == 0 {
            let why = "the trace has only its copies and fills; trace kernels too";
            notes.lacks(format!("kernel on {device}"), why);
        }
        activity
    }
}

/// Intervals that wait before they are sorted into the others.
const WAITING: usize = 1 << 10;

/// Intervals that the unions of a device and of its first stream keep apart; the second
/// stream keeps a half, the third a third, and so on.
const APART: usize = 1 << 19;

/// A union of intervals. It keeps at most so many apart; of more, those with the smallest
/// gaps between them are joined, and the gaps summed up. What comes later and lies in such a
/// gap is lost, so from then on the length is known within that sum.
#[derive(Debug)]
struct Spans {
    /// Beginning and end of each interval; those before `sorted` are in order, and neither
    /// overlap nor touch.
    apart: Vec<Apart>,
    sorted: usize,
    most: usize,
    gaps_ns: u64,
    /// Whether anything may have been in a gap.
    late: bool,
}

/// An interval, and whether it has gaps inside.
#[derive(Debug, Clone, Copy)]
struct Apart {
    start: i64,
    end: i64,
    has_gaps: bool,
}

impl Default for Spans {
    fn default() -> Self {
        Self::new(APART)
    }
}

impl Spans {
    fn new(most: usize) -> Self {
        Self {
            apart: Vec::new(),
            sorted: 0,
            most: most.max(8),
            gaps_ns: 0,
            late: false,
        }
    }

    fn add(&mut self, start: i64, end: i64) {
        if end <= start {
            return;
        }
        self.apart.push(Apart {
            start,
            end,
            has_gaps: false,
        });
        let waiting = self.apart.len() - self.sorted;
        if waiting >= WAITING.max(self.sorted).min(self.most / 4 + 1) {
            self.sort();
        }
    }

    /// Sorts all, and joins what overlaps.
    fn sort(&mut self) {
        self.apart.sort_by_key(|one| one.start);
        let late = &mut self.late;
        self.apart.dedup_by(|next, one| {
            if next.start > one.end {
                return false;
            }
            *late |= next.start < one.end && (one.has_gaps || next.has_gaps);
            one.end = one.end.max(next.end);
            one.has_gaps |= next.has_gaps;
            true
        });
        if self.apart.len() > self.most {
            self.join();
        }
        self.sorted = self.apart.len();
    }

    /// Joins over the smallest gaps until half as many as may be are apart. Traces are mostly
    /// in order, so the latest quarter stays as it is.
    fn join(&mut self) {
        let gap = |pair: &[Apart]| pair[1].start.abs_diff(pair[0].end);
        let earlier = &self.apart[..self.apart.len() * 3 / 4];
        let mut gaps: Vec<u64> = earlier.windows(2).map(gap).collect();
        let joined = (self.apart.len() - self.most / 2).min(gaps.len());
        if joined == 0 {
            return;
        }
        let (_, widest, _) = gaps.select_nth_unstable(joined - 1);
        let (widest, mut left, sum) = (*widest, joined, &mut self.gaps_ns);
        self.apart.dedup_by(|next, one| {
            let gap = next.start.abs_diff(one.end);
            if gap > widest || left == 0 {
                return false;
            }
            left -= 1;
            *sum = sum.saturating_add(gap);
            (one.end, one.has_gaps) = (next.end, true);
            true
        });
    }

    /// Length of the union, ns: the least that it can be.
    fn ns(&mut self) -> u64 {
        self.sort();
        let sum = self.apart.iter().fold(0_u64, |sum, one| {
            sum.saturating_add(one.end.abs_diff(one.start))
        });
        sum.saturating_sub(self.gaps_ns)
    }

    /// How much more the length may be, ns.
    fn uncertain_ns(&self) -> u64 {
        if self.late { self.gaps_ns } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_report_directions_and_communication() {
        let direction = |name| match Work::copy(name, None) {
            Work::Copy(direction, _) => direction,
            _ => "",
        };
        assert_eq!(
            direction("Memcpy HtoD (Pinned -> Device)"),
            "host to device"
        );
        assert_eq!(direction("MEMORY_COPY_DEVICE_TO_HOST"), "device to host");
        assert_eq!(direction("[CUDA memcpy Peer-to-Peer]"), "peer to peer");
        assert_eq!(direction("CopyArray"), "copy");
        let kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)";
        assert_eq!(Work::kernel(kernel), Work::Communication);
        assert_eq!(Work::kernel("gemm"), Work::Compute);
    }

    /// Compute 0–100 and 150–200, a copy 50–170, communication 180–260; idle 260–300.
    #[test]
    fn times_by_hand() {
        let mut device = DeviceWork::default();
        device.add(Work::Compute, Some(7), 0, 100);
        device.add(Work::Copy("host to device", Some(1_000)), Some(9), 50, 170);
        device.add(Work::Compute, Some(7), 150, 200);
        device.add(Work::Communication, Some(11), 180, 260);
        device.add(Work::Compute, Some(7), 300, 310);
        let activity = device.into_activity("cuda:0", &mut Notes::default());
        assert_eq!(
            (activity.span_ns, activity.busy_ns, activity.idle_ns()),
            (310, 270, 40)
        );
        assert_eq!((activity.compute_ns, activity.communication_ns), (160, 80));
        assert_eq!((activity.copy_ns, activity.copy_overlap_ns), (120, 70));
        assert_eq!(activity.communication_overlap_ns, 20);
        assert_eq!((activity.kernels, activity.streams.len()), (4, 3));
        assert_eq!(activity.streams[0].busy_ns, 160);
        assert_eq!(activity.copies[0].bytes_per_s(), Some(1_000.0 / 120e-9));
    }

    fn union(most: usize, spans: &[(i64, i64)]) -> Spans {
        let mut union = Spans::new(most);
        for &(start, end) in spans {
            union.add(start, end);
        }
        union
    }

    #[test]
    fn overlaps_count_once_in_any_order() {
        let spans = [
            (10, 20),
            (0, 5),
            (15, 30),
            (5, 6),
            (40, 40),
            (4, 11),
            (-9, -8),
        ];
        assert_eq!(union(100, &spans).ns(), 31);
        assert_eq!(union(100, &[(0, 9), (2, 3), (9, 12)]).ns(), 12);
        assert_eq!(union(100, &[(2, 3), (5, 6), (0, 9)]).ns(), 9);
    }

    /// 10 000 intervals of 4, one every 10.
    fn every_ten(order: impl Fn(i64) -> i64) -> Vec<(i64, i64)> {
        let starts = (0..10_000).map(|n| order(n) * 10);
        starts.map(|start| (start, start + 4)).collect()
    }

    #[test]
    fn memory_is_bounded_and_what_is_sorted_stays_exact() {
        let orders: [fn(i64) -> i64; 3] = [|n| n, |n| 9_999 - n, |n| (n + 5_000) % 10_000];
        for order in orders {
            let mut union = union(64, &every_ten(order));
            assert_eq!((union.ns(), union.uncertain_ns()), (40_000, 0));
            assert!(union.apart.len() <= 64);
        }
    }

    #[test]
    fn what_comes_between_joined_ones_is_known_within_their_gaps() {
        // Scrambled: 7 919 is prime.
        let scrambled = every_ten(|n| (n * 7_919) % 10_000);
        let mut exact = union(20_000, &scrambled);
        assert_eq!((exact.ns(), exact.uncertain_ns()), (40_000, 0));
        let mut bounded = union(64, &scrambled);
        let (least, uncertain) = (bounded.ns(), bounded.uncertain_ns());
        assert!(
            least < 40_000 && least + uncertain >= 40_000,
            "{least} {uncertain}"
        );
        assert!(bounded.apart.len() <= 64);
    }
}
