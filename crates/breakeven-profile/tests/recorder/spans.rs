//! The layer for `tracing`.

use std::thread;

use breakeven_profile::recorder::TracingLayer;
use breakeven_profile::scope;
use serde_json::json;
use tracing::subscriber::with_default;
use tracing::{Level, Span, field, span};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;

use super::{only, shared, snapshot, spin, stack};

fn recorded<R>(run: impl FnOnce() -> R) -> R {
    with_default(registry().with(TracingLayer::new()), run)
}

#[test]
fn fields_of_a_span_are_fields_of_the_operation() {
    let _shared = shared();
    recorded(|| {
        let span = span!(
            Level::INFO,
            "span with fields",
            device = "cuda:0",
            size = 64,
            bytes = 100_u64,
            gpu_use = 0.5,
            codec = "png",
            level = -2,
            shown = ?Some(1),
            later = field::Empty,
        );
        span.record("later", true);
        span.in_scope(|| drop(scope!("inside a span")));
    });
    let profile = snapshot();
    let operation = only(&profile, "span with fields");
    assert_eq!(
        operation.key().to_string(),
        "span with fields on cuda:0, size 64"
    );
    assert_eq!((operation.bytes, operation.gpu_use), (Some(100), Some(0.5)));
    let attributes = json!({"codec": "png", "level": -2, "shown": "Some(1)", "later": true});
    assert_eq!(json!(operation.attributes), attributes);
    assert_eq!(stack(&profile, &["span with fields", "inside a span"]).0, 1);
}

#[test]
fn a_span_entered_again_waited_between() {
    let _shared = shared();
    recorded(|| {
        let span = span!(Level::INFO, "entered twice");
        span.in_scope(|| spin(100));
        spin(200);
        let moved = span.clone();
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        thread::spawn(move || {
            tracing::dispatcher::with_default(&dispatch, || moved.in_scope(|| spin(100)));
        })
        .join()
        .unwrap();
        drop(span);
    });
    let profile = snapshot();
    let run = &only(&profile, "entered twice").runs[0];
    assert_eq!(run.calls(), 1);
    assert!(run.phases_ns["polled"][0] >= 200_000.0);
    assert!(run.phases_ns["waiting"][0] >= 200_000.0);
}

#[test]
fn nested_spans_make_a_path() {
    let _shared = shared();
    recorded(|| {
        for _ in 0..3 {
            let _outer = span!(Level::INFO, "outer span").entered();
            let _inner = span!(Level::INFO, "inner span").entered();
        }
        // Never entered: no call.
        drop(span!(Level::INFO, "span not entered"));
    });
    let profile = snapshot();
    assert_eq!(stack(&profile, &["outer span"]).0, 3);
    assert_eq!(stack(&profile, &["outer span", "inner span"]).0, 3);
    assert!(only(&profile, "inner span").runs[0].phases_ns.is_empty());
    assert!(
        profile
            .operations
            .iter()
            .all(|of| of.name != "span not entered")
    );
}

#[test]
fn spans_left_in_the_wrong_order_spoil_no_path() {
    let _shared = shared();
    recorded(|| {
        let outer = span!(Level::INFO, "outer span, wrong order").entered();
        let inner = span!(Level::INFO, "inner span, wrong order").entered();
        let outer: Span = outer.exit();
        let inner: Span = inner.exit();
        drop((outer, inner));
    });
    drop(scope!("after spans in the wrong order"));
    let profile = snapshot();
    assert_eq!(stack(&profile, &["after spans in the wrong order"]).0, 1);
    assert_eq!(only(&profile, "inner span, wrong order").runs[0].calls(), 1);
}

#[test]
fn a_field_recorded_again_has_its_last_value() {
    let _shared = shared();
    recorded(|| {
        let span = span!(Level::INFO, "recorded again", bytes = 0);
        span.in_scope(|| ());
        for _ in 0..200 {
            span.record("bytes", 7);
        }
        span.record("bytes", 100);
    });
    assert_eq!(only(&snapshot(), "recorded again").bytes, Some(100));
}

/// One whose `Debug` panics, and records in the span that it is in before that.
struct Panics;

impl std::fmt::Debug for Panics {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Span::current().record("seen", true);
        panic!("as it does");
    }
}

#[test]
fn a_panic_while_a_field_is_recorded_is_the_caller_s() {
    let _shared = shared();
    recorded(|| {
        let span = span!(
            Level::INFO,
            "panics in between",
            seen = field::Empty,
            shown = field::Empty
        );
        let recording = span.in_scope(|| {
            std::panic::catch_unwind(|| {
                Span::current().record("shown", field::debug(&Panics));
            })
        });
        assert!(recording.is_err());
        span.record("shown", field::debug(&Some(2)));
    });
    let profile = snapshot();
    let operation = only(&profile, "panics in between");
    let attributes = json!({"seen": true, "shown": "Some(2)"});
    assert_eq!(json!(operation.attributes), attributes);
}

#[test]
fn two_layers_on_one_subscriber_do_not_panic() {
    let _shared = shared();
    let layers = registry()
        .with(TracingLayer::new())
        .with(TracingLayer::new());
    with_default(layers, || {
        span!(Level::INFO, "under two layers").in_scope(|| spin(10));
    });
    let profile = snapshot();
    assert_eq!(only(&profile, "under two layers").runs[0].calls(), 1);
}

#[test]
fn a_span_closed_elsewhere_is_a_call_where_it_was_entered() {
    let _shared = shared();
    recorded(|| {
        let outer = span!(Level::INFO, "left before the inner one").entered();
        let inner = span!(Level::INFO, "closed outside");
        inner.in_scope(|| spin(100));
        drop(outer);
        drop(inner);
    });
    let profile = snapshot();
    let (calls, total, _) = stack(&profile, &["left before the inner one", "closed outside"]);
    assert!(calls == 1 && total >= 100_000, "{calls} {total}");
}
