//! What an extension of another language drives by hand: kept sites, discarded guards,
//! calls in parts.

use std::thread;
use std::time::Duration;

use breakeven_profile::recorder::{AsyncCall, Guard, Site};

use super::{only, shared, snapshot, spin, stack};

#[test]
fn a_site_that_is_kept_is_the_operation_of_that_name() {
    let _shared = shared();
    let kept = Site::named("by hand: kept", Some("cuda:0"), Some(7));
    drop(Guard::enter(kept));
    drop(Guard::enter_named("by hand: kept", Some("cuda:0"), Some(7)));
    let profile = snapshot();
    let operation = only(&profile, "by hand: kept");
    assert_eq!((&*operation.device, operation.size), ("cuda:0", Some(7)));
    assert_eq!(operation.runs[0].calls(), 2);
}

#[test]
fn a_discarded_guard_is_not_recorded_and_nothing_is_inside_it() {
    let _shared = shared();
    let outer = Guard::enter(Site::named("by hand: outer", None, None));
    Guard::enter(Site::named("by hand: discarded", None, None)).discard();
    drop(Guard::enter(Site::named("by hand: after", None, None)));
    drop(outer);
    let profile = snapshot();
    let names = || profile.operations.iter().map(|each| &*each.name);
    assert!(!names().any(|name| name == "by hand: discarded"));
    assert_eq!(stack(&profile, &["by hand: outer", "by hand: after"]).0, 1);
}

#[test]
fn a_call_in_parts_moves_between_threads_and_waits() {
    let _shared = shared();
    let mut call = AsyncCall::enter(Site::named("by hand: parts", None, None));
    call.bytes(64_u64);
    call.part(|| spin(200));
    thread::sleep(Duration::from_millis(5));
    let call = thread::scope(|scope| {
        let second = scope.spawn(|| {
            call.part(|| spin(200));
            call
        });
        second.join().expect("it spins")
    });
    call.finish();
    let profile = snapshot();
    let operation = only(&profile, "by hand: parts");
    let run = &operation.runs[0];
    assert_eq!((run.calls(), operation.bytes), (1, Some(64)));
    let (total, own) = (run.total_ns(), run.self_ns.expect("it is recorded"));
    assert!(
        total >= 5.4e6 && own >= 4e5 && own < total - 4e6,
        "{own} of {total}"
    );
}
