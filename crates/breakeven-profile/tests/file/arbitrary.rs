//! Any profile that a file can hold.

use std::collections::{BTreeMap, BTreeSet};

use breakeven_profile::profile::{
    Activity, Bandwidth, BreakEven, Clock, Copies, CountedEnergy, Counter, Cpu, Energy,
    Environment, Evidence, Executions, Failure, Gpu, Launches, Operation, Peak, Profile,
    RecorderCost, Run, Stack, Stream, Timeline, TimelineEvent,
};
use breakeven_profile::stats::Moments;
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

#[path = "arbitrary/load.rs"]
mod load;

use load::load;

/// A profile that a file can hold: no key twice, no empty name, finite numbers.
pub(super) fn profile() -> impl Strategy<Value = Profile> {
    let header = (of(text()), of(text()), any::<bool>(), any::<bool>());
    let nesting = (
        vec(stack(), 0..4),
        of(timeline()),
        vec(activity(), 0..3),
        vec(load(), 0..3),
    );
    let measured = (vec(operation(), 0..5), nesting);
    (header, environment(), evidence(), measured).prop_map(
        |(header, environment, evidence, (mut operations, nesting))| {
            let mut keys = BTreeSet::new();
            operations.retain(|operation| keys.insert(operation.key()));
            let (created, generator, interrupted, benchmark) = header;
            Profile {
                created,
                generator,
                interrupted,
                benchmark,
                environment,
                evidence,
                operations,
                stacks: nesting.0,
                timeline: nesting.1,
                activity: nesting.2,
                load: nesting.3,
            }
        },
    )
}

fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

fn name() -> impl Strategy<Value = String> {
    "(?s).{1,6}"
}

fn number() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO
}

/// The time of a run: whole or with a fraction, from the least to the greatest.
fn time() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NORMAL, POSITIVE, SUBNORMAL, ZERO};
    const GREATEST: f64 = (1_u64 << 63) as f64;
    prop_oneof![
        3 => (0..=1_u64 << 63).prop_map(|ns| ns as f64),
        3 => 0.0..1e9,
        1 => 0.0..=GREATEST,
        1 => (POSITIVE | NORMAL | SUBNORMAL | ZERO).prop_map(|ns| ns.min(GREATEST)),
        2 => select(vec![0.0, -0.0, 0.61, 812_000.25, GREATEST]),
    ]
}

/// The time of a call path or of a single call: whole, and exact as a float.
fn whole_time() -> impl Strategy<Value = u64> {
    0..1_u64 << 53
}

fn times() -> impl Strategy<Value = Vec<f64>> {
    vec(time(), 0..6)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // A whole number is written, and comes back, without a fraction.
        number()
            .prop_filter("whole", |value| value.fract() != 0.0 || value.abs() >= 1e19)
            .prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(text(), inner, 0..3).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn run() -> impl Strategy<Value = Run> {
    // Of the samples and of calls that were not kept.
    let dropped = vec(0.0..1e15_f64, 0..6);
    let phases = btree_map(text(), times(), 0..3);
    let counts = (of(any::<u64>()), of(any::<u64>()));
    let single = (of(time()), of(time()), counts, of(energy()));
    let by_name = (phases, btree_map(text(), number(), 0..3));
    (times(), of(dropped), single, times(), by_name).prop_map(
        |(samples_ns, dropped, (first_call_ns, self_ns, counts, energy), warmup_ns, by_name)| {
            let all = dropped.map(|dropped| [&samples_ns[..], &dropped].concat());
            Run {
                energy,
                samples_ns,
                moments: all.map(|all| Moments::of(&all).unwrap()),
                first_call_ns,
                warmup_ns,
                phases_ns: by_name.0,
                counters: by_name.1,
                self_ns,
                nested_calls: counts.0,
                memory_bytes: counts.1,
            }
        },
    )
}

fn energy() -> impl Strategy<Value = Energy> {
    let texts = (text(), text(), of(text()));
    let counter = (texts, 0.0..=f64::MAX, of(0.0..=f64::MAX)).prop_map(
        |((of, how, covers), joules, idle_watts)| CountedEnergy {
            of,
            how,
            covers,
            joules,
            idle_watts,
        },
    );
    (1..=u64::MAX, time(), of(time()), vec(counter, 0..3)).prop_map(
        |(calls, over_ns, idle_over_ns, counters)| Energy {
            calls,
            over_ns,
            idle_over_ns,
            counters,
        },
    )
}

fn activity() -> impl Strategy<Value = Activity> {
    let stream = (name(), whole_time(), any::<u64>(), any::<u64>()).prop_map(
        |(stream, busy_ns, kernels, copies)| Stream {
            stream,
            busy_ns,
            kernels,
            copies,
        },
    );
    let copies = (name(), any::<u64>(), whole_time(), of(any::<u64>())).prop_map(
        |(direction, count, total_ns, bytes)| Copies {
            direction,
            count,
            total_ns,
            bytes,
        },
    );
    let counts = (any::<u64>(), any::<u64>(), any::<u64>());
    let launches = (counts, whole_time(), time(), time(), whole_time()).prop_map(
        |((kernels, calls, shorter), call_total_ns, call_median_ns, delay_median_ns, max)| {
            Launches {
                kernels,
                calls,
                call_total_ns,
                call_median_ns,
                delay_median_ns,
                delay_max_ns: max,
                shorter,
            }
        },
    );
    let times = (vec(whole_time(), 7), any::<u64>());
    (
        name(),
        times,
        of(launches),
        vec(copies, 0..3),
        vec(stream, 0..3),
    )
        .prop_map(
            |(device, (times, kernels), launches, copies, streams)| Activity {
                device,
                span_ns: times[0],
                busy_ns: times[1],
                compute_ns: times[2],
                communication_ns: times[3],
                communication_overlap_ns: times[4],
                copy_ns: times[5],
                copy_overlap_ns: times[6],
                kernels,
                launches,
                copies,
                streams,
            },
        )
}

fn stack() -> impl Strategy<Value = Stack> {
    (vec(text(), 0..4), any::<u64>(), whole_time(), whole_time()).prop_map(
        |(frames, calls, total_ns, self_ns)| Stack {
            frames,
            calls,
            total_ns,
            self_ns,
        },
    )
}

fn timeline() -> impl Strategy<Value = Timeline> {
    let attributes = btree_map(text(), value(), 0..2);
    let place = (any::<u64>(), whole_time(), whole_time());
    let event = (name(), of(text()), place, attributes).prop_map(
        |(name, device, (thread, start_ns, duration_ns), attributes)| TimelineEvent {
            name,
            device,
            thread,
            start_ns,
            duration_ns,
            attributes,
        },
    );
    (any::<u64>(), vec(text(), 0..3), vec(event, 0..4)).prop_map(|(dropped, threads, events)| {
        Timeline {
            dropped,
            threads,
            events,
        }
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    let key = (name(), text(), of(any::<u64>()));
    let counts = [
        of(any::<u64>()),
        of(any::<u64>()),
        of(any::<u64>()),
        of(any::<u64>()),
    ];
    let failure = (text(), text()).prop_map(|(kind, message)| Failure { kind, message });
    let attributes = btree_map(text(), value(), 0..3);
    let executions =
        (text(), of(any::<u64>()), of(number())).prop_map(|(why, tasks, predicted_ns)| {
            Executions {
                why: Some(why),
                tasks,
                predicted_ns,
                ..Executions::default()
            }
        });
    let rest = (
        attributes,
        of(failure),
        vec(run(), 0..4),
        of(0.0..=1.0),
        (of(executions), any::<bool>()),
    );
    (key, of(text()), counts, rest).prop_map(
        |((name, device, size), workload, [items, bytes, flops, memory_bytes], rest)| Operation {
            name,
            device,
            size,
            workload,
            items,
            bytes,
            flops,
            memory_bytes,
            gpu_use: rest.3,
            attributes: rest.0,
            executions: rest.4.0,
            within_execution: rest.4.1,
            failure: rest.1,
            counters: described(&rest.2),
            runs: rest.2,
            figures: Value::Null,
        },
    )
}

/// Every counter of the runs, described.
fn described(runs: &[Run]) -> BTreeMap<String, Counter> {
    let names = runs.iter().flat_map(|run| run.counters.keys());
    let describe = |name: &String| {
        let counter = Counter {
            unit: name.chars().rev().collect(),
            higher_is_better: name.len() % 2 == 1,
        };
        (name.clone(), counter)
    };
    names.map(describe).collect()
}

fn environment() -> impl Strategy<Value = Environment> {
    let cores = (of(any::<u64>()), of(any::<u64>()), of(number()));
    let cpu = (
        of(text()),
        cores,
        vec(text(), 0..3),
        of(any::<u64>()),
        of(any::<u64>()),
    )
        .prop_map(
            |(model, cores, simd, memory_bytes, usable_memory_bytes)| Cpu {
                model,
                logical_cores: cores.0,
                physical_cores: cores.1,
                usable_cores: cores.2,
                simd,
                memory_bytes,
                usable_memory_bytes,
            },
        );
    let recorder = (number(), number()).prop_map(|(guard_ns, inside_ns)| RecorderCost {
        guard_ns,
        inside_ns,
    });
    let clock = (text(), number(), number()).prop_map(|(source, read_ns, resolution_ns)| Clock {
        source,
        read_ns,
        resolution_ns,
    });
    let texts = [of(text()), of(text()), of(text()), of(text()), of(text())];
    let clocks = (of(clock), of(recorder));
    (texts, of(cpu), vec(gpu(), 0..3), clocks).prop_map(
        |([os, arch, revision, build_profile, host], cpu, gpus, (clock, recorder))| Environment {
            os,
            arch,
            cpu,
            gpus,
            clock,
            recorder,
            revision,
            build_profile,
            host,
        },
    )
}

fn gpu() -> impl Strategy<Value = Gpu> {
    let texts = [(); 6].map(|()| of(text()));
    (text(), texts, of(any::<u64>())).prop_map(
        |(id, [name, kind, backend, driver, pci, kernel_clock], memory_bytes)| Gpu {
            id,
            name,
            kind,
            backend,
            memory_bytes,
            driver,
            pci,
            kernel_clock,
        },
    )
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let rates = [
        of(number()),
        of(number()),
        of(number()),
        of(number()),
        of(number()),
    ];
    let shared = [of(number()), of(number()), of(number())];
    let peak = (text(), rates, shared, vec((any::<u64>(), number()), 0..3)).prop_map(
        |(device, [memory, flops, launch, upload, download], shared, points)| Peak {
            device,
            memory_bytes_per_s: memory,
            memory: points
                .into_iter()
                .map(|(working_set_bytes, bytes_per_s)| Bandwidth {
                    working_set_bytes,
                    bytes_per_s,
                })
                .collect(),
            flops_per_s: flops,
            launch_ns: launch,
            upload_bytes_per_s: upload,
            download_bytes_per_s: download,
            shared_accesses_per_s: shared[0],
            shared_atomics_per_s: shared[1],
            access_ns: shared[2],
        },
    );
    let sizes = (of(number()), of([number(), number()]), of(number()));
    let found = ([text(), text(), text()], sizes).prop_map(|([operation, device, over], sizes)| {
        BreakEven {
            operation,
            device,
            over,
            size: sizes.0,
            interval: sizes.1,
            tested_to: sizes.2,
        }
    });
    (vec(peak, 0..3), vec(found, 0..3))
        .prop_map(|(peaks, break_even)| Evidence { peaks, break_even })
}
