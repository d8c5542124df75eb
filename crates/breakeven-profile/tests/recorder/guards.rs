//! Guards on one thread: nesting, recursion, panics, wrong order, figures.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use breakeven_profile::profile::Executions;
use breakeven_profile::recorder::Guard;
use breakeven_profile::{get_profiler, scope};
use serde_json::json;

use super::{only, shared, snapshot, spin, stack};

#[test]
fn nested_calls_have_paths_and_self_time() {
    let _shared = shared();
    for _ in 0..3 {
        let _outer = scope!("nested outer");
        spin(50);
        for _ in 0..2 {
            let _inner = scope!("nested inner");
            spin(100);
        }
    }
    let profile = snapshot();
    let outer = &only(&profile, "nested outer").runs[0];
    let inner = &only(&profile, "nested inner").runs[0];
    assert_eq!((outer.calls(), inner.calls()), (3, 6));
    assert_eq!((outer.nested_calls, inner.nested_calls), (Some(6), Some(0)));
    let total: f64 = outer.samples_ns.iter().sum();
    let inside: f64 = inner.samples_ns.iter().sum();
    // Each sample is rounded down by itself.
    let own = outer.self_ns.unwrap();
    assert!(
        (own - (total - inside)).abs() < 20.0,
        "{own}: {total} - {inside}"
    );
    assert!((inner.self_ns.unwrap() - inside).abs() < 20.0);

    let (calls, path_total, path_own) = stack(&profile, &["nested outer"]);
    assert_eq!((calls, path_own as f64), (3, own));
    assert!((path_total as f64 - total).abs() < 20.0);
    assert_eq!(stack(&profile, &["nested outer", "nested inner"]).0, 6);
}

fn fall(depth: u64) {
    let _s = scope!("direct recursion");
    spin(20);
    if depth > 1 {
        fall(depth - 1);
    }
}

#[test]
fn recursion_makes_one_path_and_one_total() {
    let _shared = shared();
    fall(50);
    let profile = snapshot();
    let run = &only(&profile, "direct recursion").runs[0];
    assert_eq!(run.calls(), 50);
    let (calls, total, own) = stack(&profile, &["direct recursion"]);
    let outermost = run.samples_ns.iter().copied().max_by(f64::total_cmp);
    assert_eq!((calls, Some(total as f64)), (50, outermost));
    // All of it is its own time, but for the rounding of each call.
    assert!(own <= total && total - own < 100, "{own} of {total}");
    assert_eq!(run.nested_calls, Some(50 * 49 / 2));
}

fn ping(depth: u64) {
    let _s = scope!("mutual ping", size = depth);
    if depth > 0 {
        pong(depth - 1);
    }
}

fn pong(depth: u64) {
    let _s = scope!("mutual pong", size = depth);
    spin(5);
    if depth > 0 {
        ping(depth - 1);
    }
}

#[test]
fn mutual_recursion_over_sizes_makes_two_paths() {
    let _shared = shared();
    ping(40);
    let profile = snapshot();
    let named = |name: &str| {
        profile
            .operations
            .iter()
            .filter(|of| of.name == name)
            .count()
    };
    assert_eq!((named("mutual ping"), named("mutual pong")), (21, 20));
    let (calls, total, own) = stack(&profile, &["mutual ping"]);
    assert_eq!(calls, 21);
    let (inner_calls, inner_total, inner_own) = stack(&profile, &["mutual ping", "mutual pong"]);
    assert_eq!(inner_calls, 20);
    // The outermost calls are the totals, and all self time is the outermost call.
    assert!(inner_total < total);
    assert!(
        (own + inner_own).abs_diff(total) < 200,
        "{own} + {inner_own}: {total}"
    );
}

#[test]
fn a_panic_ends_the_calls_it_passes() {
    let _shared = shared();
    let caught = catch_unwind(|| {
        let _outer = scope!("panic outer");
        let _inner = scope!("panic inner");
        panic!("on purpose");
    });
    assert!(caught.is_err());
    drop(scope!("after a panic"));
    let profile = snapshot();
    assert_eq!(stack(&profile, &["panic outer", "panic inner"]).0, 1);
    assert_eq!(stack(&profile, &["after a panic"]).0, 1);
}

#[test]
fn guards_dropped_in_the_wrong_order_spoil_no_path() {
    let _shared = shared();
    let before = get_profiler(true).losses().misnested;
    let outer = scope!("wrong order outer");
    let inner = scope!("wrong order inner");
    drop(outer);
    drop(scope!("wrong order between"));
    drop(inner);
    drop(scope!("wrong order after"));
    let profile = snapshot();
    assert_eq!(stack(&profile, &["wrong order outer"]).0, 1);
    assert_eq!(
        stack(&profile, &["wrong order outer", "wrong order inner"]).0,
        1
    );
    assert_eq!(stack(&profile, &["wrong order between"]).0, 1);
    assert_eq!(stack(&profile, &["wrong order after"]).0, 1);
    assert_eq!(get_profiler(true).losses().misnested - before, 2);
}

#[test]
fn a_forgotten_guard_ends_with_the_one_around_it() {
    let _shared = shared();
    {
        let _outer = scope!("forget outer");
        mem::forget(scope!("forget inner"));
        drop(scope!("forget inside"));
    }
    drop(scope!("forget after"));
    let profile = snapshot();
    assert_eq!(stack(&profile, &["forget outer"]).0, 1);
    assert_eq!(
        stack(&profile, &["forget outer", "forget inner", "forget inside"]).0,
        1
    );
    assert_eq!(stack(&profile, &["forget after"]).0, 1);
    assert!(
        profile
            .operations
            .iter()
            .all(|of| of.name != "forget inner")
    );
}

#[test]
fn any_order_of_drops_leaves_the_thread_outside_all_calls() {
    let _shared = shared();
    // All orders of dropping four guards, two of them recursive, some forgotten.
    for code in 0..4_usize.pow(4) {
        let mut guards: Vec<_> = (0..4)
            .map(|depth| {
                Some(if depth % 2 == 0 {
                    scope!("any order a")
                } else {
                    scope!("any order b")
                })
            })
            .collect();
        for turn in 0..4 {
            let which = code / 4_usize.pow(turn) % 4;
            drop(guards[which].take());
        }
        guards.into_iter().flatten().for_each(mem::forget);
        {
            // Whatever is open ends here at the latest.
            let _around = scope!("any order around");
        }
    }
    std::thread::spawn(|| drop(scope!("any order elsewhere")))
        .join()
        .unwrap();
    let profile = snapshot();
    assert_eq!(stack(&profile, &["any order elsewhere"]).0, 1);
    assert!(
        profile.stacks.iter().all(|of| of.frames.len() <= 4),
        "{:?}",
        profile.stacks
    );
}

#[test]
fn fields_with_a_meaning_and_others() {
    let _shared = shared();
    for (bytes, use_of_gpu) in [(100, 0.2), (201, 0.4)] {
        let name = String::from("of a string");
        let call = scope!(
            "fields",
            device = "cuda:0",
            size = 64_u32,
            bytes = bytes,
            items = 3,
            flops = 7_u64,
            memory_bytes = 10 * bytes,
            gpu_use = use_of_gpu,
            r#type = "tile",
            name = &name,
            deep = true,
            ratio = 0.5,
            delta = -4,
        );
        call.attribute("after", bytes);
    }
    let profile = snapshot();
    let operation = only(&profile, "fields");
    assert_eq!(
        (operation.device.as_str(), operation.size),
        ("cuda:0", Some(64))
    );
    assert_eq!(
        (operation.bytes, operation.items, operation.flops),
        (Some(151), Some(3), Some(7))
    );
    assert_eq!(operation.memory_bytes, Some(2010));
    assert!((operation.gpu_use.unwrap() - 0.3).abs() < 1e-12);
    let attributes = json!({
        "type": "tile", "name": "of a string", "deep": true, "ratio": 0.5, "delta": -4, "after": 201
    });
    assert_eq!(json!(operation.attributes), attributes);
}

#[test]
fn device_and_size_keep_operations_apart() {
    let _shared = shared();
    for size in [1_u64, 2] {
        for device in ["cpu", "cuda:0"] {
            drop(scope!("kept apart", size = size, device = device));
        }
        drop(scope!(
            "kept apart",
            device = format!("cuda:{size}"),
            size = size
        ));
    }
    let profile = snapshot();
    let mut keys: Vec<_> = profile
        .operations
        .iter()
        .filter(|of| of.name == "kept apart")
        .collect();
    keys.sort_by_key(|of| of.key());
    let keys: Vec<_> = keys.iter().map(|of| of.key().to_string()).collect();
    assert_eq!(
        keys,
        [
            "kept apart on cpu, size 1",
            "kept apart on cpu, size 2",
            "kept apart on cuda:0, size 1",
            "kept apart on cuda:0, size 2",
            "kept apart on cuda:1, size 1",
            "kept apart on cuda:2, size 2",
        ]
    );
}

#[test]
fn names_of_run_time_are_operations_too() {
    let _shared = shared();
    let profiler = get_profiler(true);
    for round in 0..3 {
        for index in 0..200 {
            drop(profiler.profile(&format!("run time {index}")));
        }
        assert_eq!(profiler.measure("run time closure", || round), round);
    }
    drop(profiler.profile(""));
    let profile = snapshot();
    for index in 0..200 {
        assert_eq!(
            only(&profile, &format!("run time {index}")).runs[0].calls(),
            3
        );
    }
    assert_eq!(only(&profile, "run time closure").runs[0].calls(), 3);
    assert_eq!(only(&profile, "(unnamed)").runs[0].calls(), 1);
}

#[test]
fn a_closure_that_panics_is_recorded() {
    let _shared = shared();
    let call = || get_profiler(true).measure("panicking closure", || panic!("on purpose"));
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    assert_eq!(only(&snapshot(), "panicking closure").runs[0].calls(), 1);
}

#[test]
fn count_and_sum_are_exact_over_a_million_calls() {
    let _shared = shared();
    const CALLS: u64 = 1_000_000;
    {
        let _around = scope!("a million");
        for _ in 0..CALLS {
            let _s = scope!("one of a million");
        }
    }
    let profile = snapshot();
    let run = &only(&profile, "one of a million").runs[0];
    assert_eq!(run.samples_ns.len(), 1024);
    let moments = run.moments.expect("not all samples are kept");
    assert_eq!((moments.count(), run.calls()), (CALLS, CALLS));
    let (calls, total, _) = stack(&profile, &["a million", "one of a million"]);
    assert_eq!(calls, CALLS);
    // The stack's total is the exact integer sum, that of the moments is decimal.
    assert!((moments.total() / total as f64 - 1.0).abs() < 1e-6);
    // What is around it has its whole time less that sum for itself.
    let (_, outer, own) = stack(&profile, &["a million"]);
    assert!(own.abs_diff(outer - total) <= 2);
    let (min, max) = (moments.min().unwrap(), moments.max().unwrap());
    assert!(run.samples_ns.iter().all(|ns| (min..=max).contains(ns)));
    assert_eq!(
        only(&profile, "a million").runs[0].nested_calls,
        Some(CALLS)
    );
}

#[test]
fn a_guard_dropped_after_the_one_around_it_keeps_its_time() {
    let _shared = shared();
    let outer = scope!("dropped first");
    let inner = scope!("dropped second");
    spin(100);
    drop(outer);
    drop(inner);
    let profile = snapshot();
    let (calls, total, own) = stack(&profile, &["dropped first", "dropped second"]);
    assert_eq!(calls, 1);
    assert!(total >= 100_000 && own <= total, "{own} of {total}");
}

#[test]
fn figures_beyond_64_bits_in_sum_do_not_wrap() {
    let _shared = shared();
    for _ in 0..3 {
        drop(scope!("many flops", flops = u64::MAX / 2));
    }
    assert_eq!(only(&snapshot(), "many flops").flops, Some(u64::MAX / 2));
}

#[test]
fn a_constant_of_the_program_may_be_called_site() {
    const SITE: u64 = 5;
    let _shared = shared();
    drop(scope!("a constant called SITE", bytes = SITE));
    let profile = snapshot();
    assert_eq!(only(&profile, "a constant called SITE").bytes, Some(SITE));
}

#[test]
fn what_is_recorded_of_an_execution_is_in_the_profile() {
    let _shared = shared();
    let executions = Executions {
        decided: Some("model".to_owned()),
        strategy: Some("hybrid:60/40".to_owned()),
        tasks: Some(1000),
        gpu_tasks: Some(600),
        device_tasks: [("cpu", 400), ("card", 350), ("card#2", 250)]
            .map(|(device, tasks)| (device.to_owned(), tasks))
            .into(),
        predicted_ns: Some(2.5e6),
        recalled: Some(7),
        device_error: Some("out of memory: 3 GB".to_owned()),
        ..Executions::default()
    };
    let call = Guard::enter_named("executed", None, None);
    call.executions(Executions::default());
    call.executions(executions.clone());
    Guard::enter_named("executed:span", None, None).within_execution();
    drop(call);
    // A program's own attributes and names mean nothing.
    drop(scope!("resize:span", strategy = "nearest"));
    let profile = snapshot();
    assert_eq!(only(&profile, "executed").executions, Some(executions));
    assert!(only(&profile, "executed:span").within_execution);
    let own = only(&profile, "resize:span");
    assert!(own.executions.is_none() && !own.within_execution);
}
