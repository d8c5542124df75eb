//! What the devices of a trace did: kernels, copies, streams, and unions of their times.

use std::collections::BTreeMap;

use breakeven_profile::profile::{Activity, Copies, Stream};

use crate::note::Notes;

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
pub(super) struct DeviceWork(Vec<Done>);

/// An activity.
#[derive(Debug, Clone, Copy)]
struct Done {
    start: i64,
    end: i64,
    work: Work,
    stream: Option<u64>,
}

impl Done {
    fn is_kernel(&self) -> bool {
        matches!(self.work, Work::Compute | Work::Communication)
    }
}

impl DeviceWork {
    pub(super) fn add(&mut self, work: Work, stream: Option<u64>, start: i64, end: i64) {
        self.0.push(Done {
            start,
            end,
            work,
            stream,
        });
    }

    pub(super) fn into_activity(self, device: &str, notes: &mut Notes) -> Activity {
        let mut all = self.0;
        all.sort_unstable_by_key(|one| one.start);
        let union = |is: fn(&Done) -> bool| union_ns(all.iter().filter(|one| is(one)));
        let compute = union(|one| one.work == Work::Compute);
        let communication = union(|one| one.work == Work::Communication);
        let copy = union(|one| !one.is_kernel());
        // What both cover is counted twice by the sum and once by the union.
        let both =
            |one: u64, other: u64, either: u64| one.saturating_add(other).saturating_sub(either);
        let mut copies: BTreeMap<&str, Copies> = BTreeMap::new();
        let mut streams: BTreeMap<u64, Vec<Done>> = BTreeMap::new();
        for one in &all {
            if let Work::Copy(direction, bytes) = one.work {
                let copies = copies.entry(direction).or_insert_with(|| Copies {
                    direction: direction.to_owned(),
                    bytes: Some(0),
                    ..Copies::default()
                });
                copies.count += 1;
                copies.total_ns = copies.total_ns.saturating_add(one.end.abs_diff(one.start));
                // One copy of unknown size, and the sum is unknown.
                let sum = copies.bytes.zip(bytes);
                copies.bytes = sum.map(|(sum, more)| sum.saturating_add(more));
            }
            if let Some(stream) = one.stream {
                streams.entry(stream).or_default().push(*one);
            }
        }
        let streams = streams.into_iter().map(|(stream, all)| Stream {
            stream: stream.to_string(),
            busy_ns: union_ns(&all),
            kernels: kernels(&all),
            copies: all.len() as u64 - kernels(&all),
        });
        let first = all.first().map_or(0, |one| one.start);
        let last = all.iter().map(|one| one.end).max().unwrap_or(0);
        let activity = Activity {
            device: device.to_owned(),
            span_ns: last.abs_diff(first),
            busy_ns: union(|_| true),
            compute_ns: compute,
            communication_ns: communication,
            communication_overlap_ns: both(compute, communication, union(Done::is_kernel)),
            copy_ns: copy,
            copy_overlap_ns: both(compute, copy, union(|one| one.work != Work::Communication)),
            kernels: kernels(&all),
            launches: None,
            copies: copies.into_values().collect(),
            streams: streams.collect(),
        };
        if activity.kernels == 0 {
            let why = "the trace has only its copies and fills; trace kernels too";
            notes.lacks(format!("kernel on {device}"), why);
        }
        activity
    }
}

fn kernels(all: &[Done]) -> u64 {
    all.iter().filter(|one| one.is_kernel()).count() as u64
}

/// How long any of them was, which come in the order of their beginnings, ns.
fn union_ns<'d>(all: impl IntoIterator<Item = &'d Done>) -> u64 {
    let (mut sum, mut until) = (0_u64, i64::MIN);
    for one in all {
        let start = one.start.max(until);
        if one.end > start {
            sum = sum.saturating_add(one.end.abs_diff(start));
            until = one.end;
        }
    }
    sum
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

    #[test]
    fn overlaps_count_once_in_any_order() {
        let union = |spans: &[(i64, i64)]| {
            let mut device = DeviceWork::default();
            for &(start, end) in spans {
                device.add(Work::Compute, None, start, end);
            }
            device
                .into_activity("cuda:0", &mut Notes::default())
                .busy_ns
        };
        let spans = [
            (10, 20),
            (0, 5),
            (15, 30),
            (5, 6),
            (40, 40),
            (4, 11),
            (-9, -8),
        ];
        assert_eq!(union(&spans), 31);
        assert_eq!(union(&[(0, 9), (2, 3), (9, 12)]), 12);
        assert_eq!(union(&[(2, 3), (5, 6), (0, 9)]), 9);
    }
}
