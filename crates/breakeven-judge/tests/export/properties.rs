//! Any profile at all: no exporter panics, and what it writes can be read.

use breakeven_judge::export::ExportError;
use breakeven_profile::profile::Profile;
use proptest::prelude::*;

use super::arbitrary;
use super::{ALL, chrome, folded, speedscope};

/// Times so short that calls meet, overlap and begin together.
fn crowded(mut profile: Profile) -> Profile {
    for event in profile.timeline.iter_mut().flat_map(|one| &mut one.events) {
        event.start_ns %= 40;
        event.duration_ns %= 30;
        event.thread %= 2;
    }
    profile
}

fn without_stacks(mut profile: Profile) -> Profile {
    profile.stacks.clear();
    profile
}

fn any_profile() -> impl Strategy<Value = Profile> {
    let profile = arbitrary::profile();
    prop_oneof![
        arbitrary::profile(),
        arbitrary::profile().prop_map(crowded),
        profile.prop_map(|profile| without_stacks(crowded(profile))),
    ]
}

/// A run's time as a line has it.
#[expect(clippy::cast_sign_loss, reason = "a time is not negative")]
fn whole(ns: f64) -> u128 {
    ns.round() as u128
}

proptest! {
    #[test]
    fn whatever_is_exported_can_be_read(profile in any_profile()) {
        for (name, write) in ALL {
            let mut out = Vec::new();
            match write(&profile, &mut out) {
                Err(ExportError::Empty | ExportError::TooLong) => continue,
                Err(error) => return Err(TestCaseError::fail(format!("{name}: {error}"))),
                Ok(()) => {}
            }
            let text = String::from_utf8(out).unwrap();
            match name {
                "chrome" => drop(chrome::checked(&text)),
                "speedscope" => drop(speedscope::checked(&text)),
                "collapsed" => drop(folded::checked(&text)),
                _ => drop(folded::elements(&text, "title")),
            }
        }
    }

    #[test]
    fn weights_add_up_to_the_own_times(profile in any_profile()) {
        let weights = |profile: &Profile| {
            let mut out = Vec::new();
            ALL[2].1(profile, &mut out).ok()?;
            let lines = folded::checked(std::str::from_utf8(&out).unwrap());
            Some(lines.iter().map(|(_, ns)| *ns).sum::<u64>())
        };
        let stacks: u128 = profile.stacks.iter().map(|stack| u128::from(stack.self_ns)).sum();
        if stacks > 0 && stacks <= u128::from(u64::MAX) {
            prop_assert_eq!(weights(&profile).map(u128::from), Some(stacks));
        }
        // What speedscope shows as busy, thread by thread.
        let profile = without_stacks(crowded(profile));
        let mut out = Vec::new();
        let timeline = profile.timeline.as_ref().is_some_and(|one| !one.events.is_empty());
        if timeline && ALL[1].1(&profile, &mut out).is_ok() {
            let found = speedscope::checked(std::str::from_utf8(&out).unwrap());
            let busy: u64 = found.busy_ns.iter().sum();
            prop_assert_eq!(weights(&profile).unwrap_or(0), busy);
        }
        // And of operations alone: parts and rest are the whole.
        let profile = Profile { timeline: None, ..profile };
        let runs = profile.operations.iter().flat_map(|operation| &operation.runs);
        let exact = runs.clone().all(|run| run.moments.is_none());
        let times = runs.map(|run| match run.self_ns {
            Some(own) => whole(own),
            None => whole(run.samples_ns.iter().sum()),
        });
        let total: u128 = times.sum();
        if exact && total > 0 && total <= u128::from(u64::MAX) {
            prop_assert_eq!(weights(&profile).map(u128::from), Some(total));
        }
    }
}
