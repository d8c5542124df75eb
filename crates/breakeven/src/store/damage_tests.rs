//! Whatever is in the file: no panic, and no impossible cost.

use std::fs;

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::{prop_assert, proptest};

use super::tests::{GPU, observe, open, place};
use crate::plan::{Cost, RanOn};
use crate::store::Costs;

/// Returns whether all lookups give possible costs.
fn is_sound(costs: &Costs) -> bool {
    let sound = |cost: Cost| {
        let (parts, all) = (
            [cost.fixed_ns, cost.per_task_ns, cost.transfer_ns],
            cost.predict_ns(u64::MAX),
        );
        let is_sound = |part: f64| part.is_finite() && part >= 0.0;
        parts.into_iter().chain([all]).all(is_sound)
            && cost.transfer_ns <= cost.per_task_ns
            // At most three months on 65 536 workers, of tasks of the observed size.
            && cost.predict_ns(cost.most) * cost.scale < 1e21
            // None if it follows from another size's.
            && ((1..=cost.most).contains(&cost.fewest) || cost.most == 0)
    };
    costs.operations().iter().all(|operation| {
        (0..usize::BITS).all(|bit| {
            let known = costs.lookup(operation, 1 << bit, &[GPU], 3);
            let mut each = [known.cpu, known.gpu(0).cost].into_iter().flatten();
            each.all(sound)
                && known.cpu_absence.since_ns >= 0.0
                && known.gpu(0).absence.since_ns >= 0.0
                && known.gpu(0).fits.is_none_or(|fits| fits > 0)
        })
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..300)) {
        let (_directory, path) = place();
        fs::write(&path, &bytes).expect("a file");
        let (costs, warning) = open(&path);
        prop_assert!(warning.is_some() && costs.operations().is_empty());
    }

    #[test]
    fn a_file_that_was_tampered_with_gives_no_absurd_cost(
        edits in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        numbers in vec(any::<u64>(), 12),
    ) {
        let (_directory, path) = place();
        let n = |index: usize| numbers[index] >> (numbers[index] % 64);
        let windows = format!(
            r#"{{"observed":{},"observations":[{{"at_us":{},"writer":1,"number":2,"tasks":{},"ns":{},"workers":{},"transfer_ns":{}}},{{"at_us":5,"writer":1,"number":2,"tasks":{},"ns":{},"workers":8}}]}}"#,
            n(0), n(1) % (1 << 50), n(2), n(3), n(4) % (1 << 32), n(5), n(6), n(7)
        );
        let text = format!(
            r#"{{"format":"breakeven-costs","version":1,"machines":[{{"cpu":"EPYC","cores":8,"operations":[{{"operation":"blur","size_class":{},"spent_ns":{},"since_cpu_ns":{},"cpu":{windows},"gpus":[{{"device":"{GPU}","since_ns":{},"fits":{{"at_us":3,"runs":{},"tasks":{}}},"alone":{windows},"both":{windows}}}]}}]}}]}}"#,
            n(8) % 70, n(9), n(10), n(11), n(0), n(1)
        );
        fs::write(&path, &text).expect("a file");
        let (costs, warning) = open(&path);
        prop_assert!(warning.is_none(), "{warning:?}");
        prop_assert!(is_sound(&costs), "{text}");
        // And with some of its bytes changed: not JSON, or sound all the same.
        let mut bytes = text.into_bytes();
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        fs::write(&path, &bytes).expect("a file");
        let (costs, _) = open(&path);
        prop_assert!(is_sound(&costs));
        observe(&costs, "blur", RanOn::Cpu, 10, 10);
        let _ = costs.save();
        prop_assert!(is_sound(&costs));
    }
}
